"""Verdicts as Allure results: labels, the rule, and the failure."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import takewhile
from typing import Any

import allure
import pytest
from allure_commons.model2 import StatusDetails
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.common.events import Failure, Verdict
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.report import place_of_example
from pulsar_conformance.specs import Rule
from pulsar_conformance.specs.text import counted

EPICS = {
    "BUNDLE": "Bundles",
    "SPLIT": "Bundles",
    "USAGE": "Load data",
    "DATA": "Load data",
    "SHED": "Shedding",
    "OVERLOAD": "Shedding",
    "THRESHOLD": "Shedding",
    "UNIFORM": "Shedding",
    "AVERAGE": "Shedding",
    "TRANSFER": "Shedding",
    "REPORT": "Load data",
    "CONFIG": "Configuration",
    "MANAGER": "Load managers",
    "ANSWER": "Answers",
    "PLACE": "Placement",
    "ANTI": "Placement",
    "ISOLATION": "Placement",
    "PLANNED": "Placement",
    "OWN": "Ownership",
    "CHANNEL": "Ownership",
}
"""The Allure epic of each area of rules: the part of load balancing to which the area belongs."""

FEATURES = {
    "BUNDLE": "Namespaces and ranges",
    "SPLIT": "Splitting bundles",
    "USAGE": "Resource usage",
    "DATA": "Samples and averages",
    "SHED": "Every strategy",
    "OVERLOAD": "OverloadShedder",
    "THRESHOLD": "ThresholdShedder",
    "UNIFORM": "UniformLoadShedder",
    "AVERAGE": "AvgShedder",
    "TRANSFER": "TransferShedder",
    "REPORT": "Load reports and the monitor",
    "CONFIG": "Documented defaults",
    "MANAGER": "Choice of the manager",
    "ANSWER": "Taken for granted",
    "PLACE": "Least long-term message rate",
    "ANTI": "Anti-affinity groups",
    "ISOLATION": "Isolation policies",
    "PLANNED": "Planned destinations",
    "OWN": "Owners, crashes and unloading",
    "CHANNEL": "States of bundles in the channel",
}

SEVERITIES = {"must": "critical", "should": "normal", "may": "minor", "advice": "trivial"}


TAGGED = (
    *("known_deviation", "unexpected_pass", "unexercised", "undecided", "not_applicable"),
    "error",
)
"""Verdicts that become tags for filtering, because Allure has no status for them."""


class _UnquotedValue:
    """A parameter value that Allure prints without quotation marks."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def label_result(item: pytest.Item, rule: Rule, profile: str) -> None:
    """Label an Allure result with epic, feature, severity and suite, and link its documents."""
    labels = {
        "epic": EPICS.get(rule.area, rule.area.title()),
        "feature": f"{rule.area}: {FEATURES.get(rule.area, rule.area.lower())}",
        "story": f"{rule.id} {rule.title}",
        "severity": SEVERITIES[rule.level],
        "suite": profile,
        "subSuite": rule.area,
    }
    for name, value in labels.items():
        item.add_marker(pytest.mark.allure_label(value, label_type=name))
    links = {}
    for source in specs.load().sources_in(profile, rule):
        document = specs.load().documents[source.document]
        if document.copy_of is None:
            page = f"{document.title}, Pulsar {document.version}"
            title = f"{source.section}: {page}" if source.section else page
            links[document.link(source.section)] = title
    for address, title in links.items():
        item.add_marker(pytest.mark.allure_link(address, link_type="link", name=title))


def attach_verdict(
    item: pytest.Item, plan: Plan, rule: Rule, verdict: Verdict, name: str, text: str | None
) -> None:
    """Attach title, suite, parameters, the rule, and the failure with the model's derivation.

    `text` describes the failure, if there is one. Allure's history recognizes a test by its
    parameters, except those marked as excluded.
    """
    allure.dynamic.title(f"{rule.id} {rule.title} ({name}, {verdict.profile})")
    item.add_marker(pytest.mark.allure_label(name, label_type="parentSuite"))
    allure.dynamic.parameter("implementation", _UnquotedValue(name), excluded=True)
    allure.dynamic.parameter("adapter", _UnquotedValue(verdict.implementation))
    allure.dynamic.parameter("profile", _UnquotedValue(verdict.profile))
    allure.dynamic.description(_description(rule, verdict, name))
    if verdict.warns or verdict.verdict in TAGGED:
        allure.dynamic.tag(_verdict_text(verdict))
    allure.attach(entry_of(rule), f"rule {rule.id}", allure.attachment_type.YAML)
    failure = verdict.failure
    if failure is None:
        return
    for setting in failure.settings:
        called, _, value = setting.partition("=")
        allure.dynamic.parameter(called, _UnquotedValue(value), excluded=True)
    _text(text or "", "failure")
    _text("\n".join(failure.derivation), "derivation")
    case = json.dumps(saved_case(plan, failure), indent=1, ensure_ascii=False)
    allure.attach(case, "case", allure.attachment_type.JSON)


def set_message(item: pytest.Item, verdict: Verdict, name: str, text: str | None) -> None:
    """Set the message of the Allure result to the verdict, instead of the suite's exception."""
    listener = item.config.pluginmanager.get_plugin("allure_listener")
    if listener is None or verdict.verdict == "pass":
        return
    result = listener.allure_logger.get_test(None)
    message = message_of(verdict, name)
    result.statusDetails = StatusDetails(message=message, trace=text or verdict.why)


def message_of(verdict: Verdict, name: str) -> str:
    """Format the verdict; for a failure, add the allowed and the given answer."""
    broken = verdict.headline(name)
    if verdict.warns:
        lines = [f"warning only, since the rule is not a must: {broken}"]
    elif verdict.verdict == "fail":
        lines = [broken]
    else:
        lines = [f"{_verdict_text(verdict)}: {verdict.why}"]
    if verdict.failure:
        lines += [f"allowed: {verdict.failure.allowed}", f"answered: {verdict.failure.answered}"]
    return "\n".join(lines)


def entry_of(rule: Rule) -> str:
    """Return the text of a rule's entry in its YAML file."""
    file = files("pulsar_conformance.specs").joinpath(rule.file)
    lines = file.read_text("utf-8").splitlines()[rule.line - 1 :]
    deeper = " " * (len(lines[0]) - len(lines[0].lstrip()) + 1)
    rest = takewhile(lambda line: not line or line.startswith(deeper), lines[1:])
    return "\n".join([*lines[:1], *rest]).rstrip() + "\n"


def saved_case(plan: Plan, failure: Failure) -> Any:
    """Return the content of the failure's case file, or the worked example's questions."""
    file = plan.root / failure.case_file
    if file.is_file():
        return json.loads(file.read_text("utf-8"))
    shown = next(one for one in fixtures.examples() if failure.case_file == place_of_example(one))
    return [{"ask": operation, "case": case} for operation, case in shown.questions]


def _description(rule: Rule, verdict: Verdict, name: str) -> str:
    tried = ((verdict.drawn, "drawn case"), (verdict.examples, "worked example"))
    counts = [counted(*one) for one in (*tried, (verdict.saved, "saved case"))]
    reached = f"{verdict.reached} of {', '.join(counts)} reached the rule."
    paragraphs = [
        rule.statement,
        f"{'; '.join(specs.load().sources_of(rule, verdict.profile))}. Level: {rule.level}.",
        f"**{_verdict_text(verdict).capitalize()}** by {name}. {reached} {verdict.why}".rstrip(),
    ]
    if verdict.warns:  # Allure shows no message for tests that pass.
        paragraphs.append(message_of(verdict, name).replace("\n", "  \n"))
    if verdict.failure:
        paragraphs.append(f"Again: `{verdict.failure.again}`")
    return "\n\n".join(paragraphs)


def _verdict_text(verdict: Verdict) -> str:
    return "warning" if verdict.warns else verdict.verdict.replace("_", " ")


def _text(text: str, name: str) -> None:
    allure.attach(text, name, allure.attachment_type.TEXT)
