"""Renders the page: its data, the chart library and the script become part of one HTML file."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

PACKAGE = "pulsar_conformance.audit.page"


def render_page(
    data: dict[str, Any], lines: list[str], refresh: int = 0, title: str = "Audit"
) -> str:
    """Return the page with this data as a single HTML file.

    `lines` are the report as the command prints it. Unless `refresh` is 0, browsers reload the page
    every `refresh` seconds.
    """
    loader = PackageLoader(PACKAGE, "assets")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html.jinja").render(
        report="\n".join(lines),
        refresh=refresh,
        title=title,
        data=Markup(_script_safe_json(data)),
        **{name: Markup(_read_asset(file)) for name, file in ASSETS.items()},
    )


ASSETS = {
    "chart_script": "uPlot.iife.min.js",
    "chart_style": "uPlot.min.css",
    "script": "page.js",
    "style": "page.css",
}


def _read_asset(name: str) -> str:
    return files(PACKAGE).joinpath("assets", name).read_text("utf-8")


def _script_safe_json(data: dict[str, Any]) -> str:
    """Return the data as JSON that is safe inside a script element, even if names contain
    markup.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
