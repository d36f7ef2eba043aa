"""The page, written next to the tables of an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pulsar_conformance.audit.page import series
from pulsar_conformance.audit.page.rendering import rendered
from pulsar_conformance.audit.pipeline.plan import AuditPlan

PAGE = "audit.html"


def page_content(tables: series.Tables, plan: AuditPlan, output: str) -> dict[str, Any] | None:
    """Return the data of the page, or None if the output is not local."""
    if not Path(output).is_dir():
        return None
    return {
        "clusters": series.drawn_clusters(tables, plan),
        "verdicts": series.verdict_rows(tables),
    }


def write_page(data: dict[str, Any], output: str, lines: list[str], refresh: int = 0) -> Path:
    """Write the page atomically, and return its path.

    `lines` are the report as the command prints it. Unless `refresh` is 0, browsers reload the page
    every `refresh` seconds.
    """
    folder = Path(output)
    page = folder / PAGE
    whole = folder / f".{PAGE}"
    whole.write_text(rendered(data, lines, refresh), "utf-8")
    whole.replace(page)
    return page
