"""The page written next to an audit's tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.page import series
from pulsar_conformance.audit.page.rendering import render_page
from pulsar_conformance.audit.pipeline.plan import AuditPlan, tables_in_period
from pulsar_conformance.audit.pipeline.summary import RULES_AT_OTHER_TIMES
from pulsar_conformance.audit.verdicts import casefiles
from pulsar_conformance.audit.verdicts.arithmetic import arithmetic_lines
from pulsar_conformance.conformance.explain.focus import Focus

PAGE = "audit.html"

MAX_CASE_BYTES, MAX_TEXT_LENGTH = 200_000, 300_000
"""Maximum size in bytes of a case whose arithmetic is shown, and number of characters of arithmetic
after which no more is added to the page.
"""


def page_content(tables: series.Tables, plan: AuditPlan, output: str) -> dict[str, Any] | None:
    """Return the data for the page; None if the output is not on a local disk.

    All data are from the plan's period.
    """
    if not Path(output).is_dir():
        return None
    tables = tables_in_period(tables, plan)
    fleet = series.fleet_rows(tables)
    verdicts = series.verdict_rows(tables)
    return {
        "fleet": fleet,
        "amounts_by": plan.amounts_by,
        "clusters": series.drawn_clusters(tables, plan, fleet),
        "verdicts": verdicts,
        "cases": case_texts(Path(output) / casefiles.FOLDER),
        "without_case": sorted(RULES_AT_OTHER_TIMES),
    }


def case_texts(folder: Path) -> dict[str, str]:
    """Return the arithmetic of cases that are not too large, by the names of their files."""
    found, size = {}, 0
    for file in sorted(folder.glob("*.json")):
        if file.stat().st_size > MAX_CASE_BYTES or size > MAX_TEXT_LENGTH:
            continue
        lines = arithmetic_lines(json.loads(file.read_text("utf-8")), Focus())
        found[file.stem] = "\n".join(line.rstrip() for line in lines)
        size += len(found[file.stem])
    return found


def write_page(data: dict[str, Any], output: str, lines: list[str], refresh: int = 0) -> Path:
    """Write the page and return its path; readers always see a complete page, old or new.

    `lines` are the report as the command prints it. Unless `refresh` is 0, browsers reload the page
    every `refresh` seconds.
    """
    folder = Path(output)
    page = folder / PAGE
    whole = folder / f".{PAGE}"
    whole.write_text(render_page(data, lines, refresh), "utf-8")
    whole.replace(page)
    return page
