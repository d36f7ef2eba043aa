"""The page, written beside the tables of an audit."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pulsar_conformance.conformance.history.audit.plan import AuditPlan
from pulsar_conformance.conformance.history.page import series

PAGE = "audit.html"
PACKAGE = "pulsar_conformance.conformance.history.page"


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


def rendered(data: dict[str, Any], lines: list[str], refresh: int = 0) -> str:
    """The page as text, with everything that it needs in it."""
    loader = PackageLoader(PACKAGE, "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html.jinja").render(
        report="\n".join(lines),
        refresh=refresh,
        data=Markup(_as_script(data)),
        **{name: Markup(_asset(file)) for name, file in ASSETS.items()},
    )


ASSETS = {
    "chart_script": "uPlot.iife.min.js",
    "chart_style": "uPlot.min.css",
    "script": "page.js",
    "style": "page.css",
}


def _asset(name: str) -> str:
    return files(PACKAGE).joinpath("assets", name).read_text("utf-8")


def _as_script(data: dict[str, Any]) -> str:
    """JSON that no name in it can end early as a part of a page."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
