"""Ten one-line mistakes in a sample, each of which fails the rule that it breaks.

Consequences of a mistake are attributed to that rule, so that no rule of another area fails.
"""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from pulsar_conformance import adapters, specs
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine import ask
from pulsar_conformance.conformance.engine import run as running
from pulsar_conformance.conformance.engine.draw import trials_of_rule
from pulsar_conformance.conformance.engine.plan import Plan

SAMPLE = Path(adapters.__file__).parent / "samples" / "java" / "Main.java"
PROFILE = "documented-3.0"
AREAS = ("SHED-*", "OVERLOAD-*", "THRESHOLD-*", "UNIFORM-*", "USAGE-*")
EXAMPLES = 40

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="needs java 17")


class Mistake(NamedTuple):
    line: str
    planted: str
    rule: str
    readings: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Rules of other areas that the mistake breaks as well."""


MISTAKES = {
    "above_for_at_the_threshold": Mistake(
        "? usage >= threshold : usage > threshold;",
        "? usage > threshold : usage > threshold;",
        "OVERLOAD-01",
        ("overload-trigger=reaches",),
    ),
    "least_traffic_first": Mistake(
        ".reversed().thenComparing",
        ".thenComparing",
        "SHED-07",
        beside=("THRESHOLD-12", "OVERLOAD-03"),
    ),
    "no_margin": Mistake(
        "usage - threshold + OVERLOAD_MARGIN;", "usage - threshold;", "OVERLOAD-02"
    ),
    "no_grace": Mistake(
        ".filter(name -> !recentlyUnloaded(name))", ".filter(name -> true)", "SHED-04"
    ),
    "minimum_for_maximum": Mistake(
        "}).max(comparingDouble(Usage::percent))",
        "}).min(comparingDouble(Usage::percent))",
        "USAGE-01",
    ),
    "messages_for_bytes": Mistake(
        "? bytes(rates) : messages(rates);",
        "? messages(rates) : messages(rates);",
        "SHED-07",
        beside=("THRESHOLD-12", "THRESHOLD-03", "OVERLOAD-03", "THRESHOLD-04"),
    ),
    "sum_for_mean": Mistake(".sum() / values.size();", ".sum();", "THRESHOLD-01"),
    "no_weights_when_shedding": Mistake(
        "usage(broker, c::weight).percent", "usage(broker, UNWEIGHTED).percent", "THRESHOLD-06"
    ),
    "no_weights_when_measuring": Mistake(
        "? c::weight : UNWEIGHTED", "? UNWEIGHTED : UNWEIGHTED", "USAGE-02"
    ),
    "a_single_bundle_goes": Mistake(
        "if (broker.bundles().size() < 2) continue;",
        "if (broker.bundles().size() < 1) continue;",
        "OVERLOAD-07",
    ),
    "the_last_bundle_left_off": Mistake(
        "if (shed >= need) break;",
        "if (shed > 0 && shed + bundle.traffic >= need) break;",
        "OVERLOAD-02",
        beside=("THRESHOLD-03",),
    ),
}


@pytest.fixture(scope="module")
def drawn():
    """Return a function that draws a rule's cases only once, since they depend on no answer."""
    known = {}

    def once(rule, plan, implementation, _earlier):
        key = rule.id
        if key not in known:
            known[key] = list(trials_of_rule(rule, plan, implementation))
        return known[key]

    return once


def plant(mistake, folder):
    """Write a copy of the sample with the mistake."""
    text = SAMPLE.read_text("utf-8")
    assert text.count(mistake.line) == 1, f"the sample has no single {mistake.line}"
    file = folder / SAMPLE.name
    file.write_text(text.replace(mistake.line, mistake.planted), "utf-8")
    return f"exec:java -XX:TieredStopAtLevel=1 {file}"


def verdicts_of(adapter, readings, folder):
    plan = Plan.make([adapter], [PROFILE], readings, AREAS, examples=EXAMPLES, root=folder)
    run = running.Run(plan, adapter, PROFILE)
    rules = plan.rules_of(PROFILE)
    try:
        run.prepare()
        return {rule.id: run.verdict(rule) for rule in rules}
    finally:
        run.close()


SAMPLED = ("no_margin",)
"""Mistakes that the usual tests plant; `nox -s thorough` plants all mistakes."""


def planted():
    """Yield the name of each mistake, marked if only the thorough tests plant it."""
    for name in MISTAKES:
        yield pytest.param(name, marks=() if name in SAMPLED else pytest.mark.thorough)


@pytest.mark.parametrize("name", list(planted()))
def test_a_planted_mistake_is_found(name, tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(ask, "trials_of_rule", drawn)
    mistake = MISTAKES[name]
    found = verdicts_of(plant(mistake, tmp_path), mistake.readings, tmp_path)
    failed = [rule for rule, verdict in found.items() if verdict.verdict == "fail"]
    assert mistake.rule in failed
    area = specs.load().rules[mistake.rule].area
    elsewhere = (rule for rule in failed if specs.load().rules[rule].area != area)
    others = [rule for rule in elsewhere if rule not in mistake.beside]
    assert others == []
    assert [rule for rule, verdict in found.items() if verdict.verdict == "error"] == []
    small = load_saved(tmp_path / found[mistake.rule].failure.case_file).trial
    [(_, case)] = small.questions
    bundles = {b for broker in case.get("brokers", {}).values() for b in broker.get("bundles", ())}
    assert len(case.get("brokers", ())) <= 3
    assert len(bundles | set(case.get("bundles", ()))) <= 3


def test_the_sample_itself_has_no_mistake(tmp_path, drawn, monkeypatch):
    monkeypatch.setattr(ask, "trials_of_rule", drawn)
    found = verdicts_of(f"exec:java {SAMPLE}", (), tmp_path)
    assert {verdict.verdict for verdict in found.values()} == {"pass", "not_applicable"}
