"""What Allure shows of a verdict: where it belongs, what it rests on, what was found."""

from __future__ import annotations

import json
from pathlib import Path

import allure
import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.telling import sources_of
from pulsar_conformance.conformance.verdict import Verdict
from pulsar_conformance.specs import Rule

EPICS = {
    "BUNDLE": "Bundles",
    "SPLIT": "Bundles",
    "USAGE": "Load data",
    "DATA": "Load data",
    "SHED": "Shedding",
    "OVERLOAD": "Shedding",
    "THRESHOLD": "Shedding",
    "UNIFORM": "Shedding",
    "REPORT": "Load data",
    "CONFIG": "Configuration",
    "MANAGER": "Load managers",
    "ANSWER": "Answers",
    "PLACE": "Placement",
    "ANTI": "Placement",
}
"""The larger part of load balancing that an area belongs to."""

FEATURES = {
    "BUNDLE": "Namespaces and ranges",
    "SPLIT": "Splitting bundles",
    "USAGE": "Resource usage",
    "DATA": "Samples and averages",
    "SHED": "Every strategy",
    "OVERLOAD": "OverloadShedder",
    "THRESHOLD": "ThresholdShedder",
    "UNIFORM": "UniformLoadShedder",
    "REPORT": "Load reports and the monitor",
    "CONFIG": "Documented defaults",
    "MANAGER": "Choice of the manager",
    "ANSWER": "Taken for granted",
    "PLACE": "Least long-term message rate",
    "ANTI": "Anti-affinity groups",
}

SEVERITIES = {"must": "critical", "should": "normal", "may": "minor", "advice": "trivial"}


def mark(item: pytest.Item, rule: Rule) -> None:
    """Epic and feature by area, severity by level, links to the rule and its documents."""
    labels = {
        "epic": EPICS.get(rule.area, rule.area.title()),
        "feature": f"{rule.area}: {FEATURES.get(rule.area, rule.area.lower())}",
        "story": rule.title,
        "severity": SEVERITIES[rule.level],
    }
    for name, value in labels.items():
        item.add_marker(pytest.mark.allure_label(value, label_type=name))
    file = f"specs/rules/{Path(rule.file).name}"
    links = {file: f"{rule.id} in {file}"}
    for source in rule.sources:
        document = specs.load().documents[source.document]
        if document.copy_of is None:
            links.setdefault(document.url, f"{document.title}, Pulsar {document.version}")
    for url, name in links.items():
        item.add_marker(pytest.mark.allure_link(url, link_type="link", name=name))


def attach(plan: Plan, rule: Rule, verdict: Verdict, name: str, text: str) -> None:
    """Title and parameters; the case, the derivation and the failure text where there are any."""
    allure.dynamic.title(f"{rule.id} {rule.title}")
    allure.dynamic.parameter("implementation", verdict.implementation)
    allure.dynamic.parameter("profile", verdict.profile)
    counts = f"{verdict.drawn} drawn, {verdict.examples} examples, {verdict.saved} saved"
    allure.dynamic.description(
        f"{rule.statement}\n\n{'; '.join(sources_of(rule, verdict.profile))}\n\n"
        f"**{verdict.verdict.replace('_', ' ')}** by {name}: {verdict.reached} cases reached the "
        f"rule, of {counts}. {verdict.why}"
    )
    if verdict.warns:
        allure.dynamic.tag("warning")
    failure = verdict.failure
    if failure is None:
        return
    _text(text, "failure")
    _text("\n".join(failure.derivation), "derivation")
    file = plan.root / failure.case_file
    if file.suffix == ".json" and file.exists():
        case = json.dumps(json.loads(file.read_text("utf-8")), indent=1, ensure_ascii=False)
        allure.attach(case, "case", allure.attachment_type.JSON)


def _text(text: str, name: str) -> None:
    allure.attach(text, name, allure.attachment_type.TEXT)
