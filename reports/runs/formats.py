"""A report in other formats: a badge, a summary for a pull request, JUnit XML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from xml.etree import ElementTree

from jinja2 import Environment, PackageLoader, StrictUndefined
from pulsar_conformance import specs
from pulsar_conformance.reports.runs.making import BREAKING_VERDICTS, Report
from pulsar_conformance.reports.table import WORDS, broken_rules_text, word_of
from pulsar_conformance.specs.text import cut, printable

LABEL = "conformance"
COLOURS = {"good": "#2e7d32", "known": "#9a6700", "bad": "#c62828"}
"""Colors of a badge: every `must` is kept; some are known deviations; the run failed."""
PIXELS = 6.6
"""Average width of a letter in a badge, in pixels, rounded up."""
PADDING = 10
FAILURE_VERDICTS = ("error", "fail", "unexpected_pass", "unexercised")
"""Verdicts that are failures in JUnit XML."""
JUNIT_WORDS = {"not_applicable": "not applicable", "warning": "warning"}
"""Words for verdicts in JUnit XML that differ from those in tables."""
MAX_QUOTED_LENGTH = 120
"""Maximum number of characters of an answer that a message of JUnit XML quotes."""


def badge_text(report: Report) -> str:
    """Return the text of a badge: how many of the applicable rules are kept."""
    counts = report["summary"]
    applicable = sum(counts.values()) - counts.get("not_applicable", 0)
    known = counts.get("known_deviation", 0)
    listed = f", {known} known" if known else ""
    return f"{report['requirements']['profile']} {counts.get('pass', 0)}/{applicable}{listed}"


def badge_color(report: Report) -> str:
    """Return the color of a badge, which depends on the exit status of the run."""
    if report["conformant"]:
        return COLOURS["good"]
    bad = any(
        line["verdict"] in FAILURE_VERDICTS and word_of(line) != "warning"
        for line in report["verdicts"]
    )
    return COLOURS["bad" if bad else "known"]


def badge_json(report: Report) -> str:
    """Return the badge as JSON that a badge service can read."""
    badge = {
        "schemaVersion": 1,
        "label": LABEL,
        "message": badge_text(report),
        "color": badge_color(report),
    }
    return json.dumps(badge) + "\n"


def badge(report: Report) -> str:
    """Return the badge as an SVG image, which needs no badge service."""
    said = badge_text(report)
    left, right = (round(len(text) * PIXELS + PADDING) for text in (LABEL, said))
    return _rendered(
        "badge.svg.jinja",
        label=LABEL,
        message=said,
        left=left,
        right=right,
        colour=badge_color(report),
    )


def summary_markdown(report: Report) -> str:
    """Return a summary for a pull request: the numbers of verdicts, and each violated rule."""
    rules = specs.load().rules
    broken = [
        line
        for line in report["verdicts"]
        if line["verdict"] in (*BREAKING_VERDICTS, "unexpected_pass")
    ]
    titles = {name: rule.title for name, rule in rules.items()}
    words = {line["rule"]: word_of(line) for line in report["verdicts"]}
    return _rendered(
        "summary.md.jinja",
        report=report,
        result=broken_rules_text(report["implementation"]["name"], words),
        broken=broken,
        titles=titles,
        words=WORDS,
        word=word_of,
    )


def junit_xml(report: Report) -> str:
    """Return the report as JUnit XML, with one suite and a test case per rule."""
    verdicts = report["verdicts"]
    name = f"{report['implementation']['name']}, {report['requirements']['profile']}"
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(verdicts)))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    for line in verdicts:
        area = line["rule"].partition("-")[0]
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{name}.{area}", name=line["rule"]
        )
        if line["verdict"] == "error":
            counts["errors"] += 1
            ElementTree.SubElement(case, "error", message=line["why"])
        elif line["verdict"] in FAILURE_VERDICTS and word_of(line) != "warning":
            counts["failures"] += 1
            ElementTree.SubElement(
                case, "failure", message=_first(line["why"]) or _answers_text(line["failure"])
            ).text = _failure_text(line)
        elif line["verdict"] != "pass":
            counts["skipped"] += 1
            why = _first(line["why"]) or _answers_text(line["failure"])
            said = f"{JUNIT_WORDS.get(word_of(line), WORDS[word_of(line)])}: {why}"
            ElementTree.SubElement(case, "skipped", message=said.removesuffix(": "))
    suite.attrib.update({kind: str(count) for kind, count in counts.items()})
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    text = printable(ElementTree.tostring(root, encoding="unicode"))  # XML forbids some characters
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _answers_text(failure: Mapping[str, str] | None) -> str:
    """Return the allowed and the given answer of a failure, each cut to `MAX_QUOTED_LENGTH`; empty
    without a failure.
    """
    if failure is None:
        return ""
    allowed, answered = (
        cut(_first(failure[name]), MAX_QUOTED_LENGTH) for name in ("allowed", "answered")
    )
    return f"allowed {allowed}; answered {answered}"


def _failure_text(line: Report) -> str:
    failure = line["failure"]
    if failure is None:
        return str(line["why"])
    told = [*failure["derivation"], f"allowed   {failure['allowed']}"]
    return "\n".join([*told, f"answered  {failure['answered']}", f"again     {failure['again']}"])


def _first(text: str) -> str:
    return text.partition("\n")[0]


def _rendered(template: str, **given: object) -> str:
    environment = Environment(
        loader=PackageLoader("pulsar_conformance.reports.runs"),
        undefined=StrictUndefined,
        autoescape=template.endswith(".svg.jinja"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**given)
