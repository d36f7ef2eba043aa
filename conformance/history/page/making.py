"""The page, written beside the tables of an audit."""

from __future__ import annotations

from pathlib import Path

from pulsar_conformance.conformance.history.audit.plan import AuditPlan
from pulsar_conformance.conformance.history.page import series
from pulsar_conformance.conformance.history.page.rendering import rendered

PAGE = "audit.html"


def write(
    tables: series.Tables, plan: AuditPlan, output: str, lines: list[str], refresh: int = 0
) -> Path | None:
    """Writes the page, and says where it is; None where the tables are on no disk of this machine.

    `lines` are the report as the command prints it; every `refresh` seconds a browser reads the
    page again, if that is not 0. It is never seen half-written.
    """
    folder = Path(output)
    if not folder.is_dir():
        return None
    data = {"clusters": series.drawn(tables, plan), "verdicts": series.verdicts(tables)}
    page = folder / PAGE
    whole = folder / f".{PAGE}"
    whole.write_text(rendered(data, lines, refresh), "utf-8")
    whole.replace(page)
    return page
