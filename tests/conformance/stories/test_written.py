"""Rules about the records that brokers write, and stand-ins that keep or break them."""

from functools import cache

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings

PROFILE = "documented-3.0"
RULES = ("MANAGER-08", "REPORT-11", "REPORT-12", "DATA-11", "DATA-12")
EVALUATOR = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
EXAMPLES = 20


@cache
def answered(rule):
    """Return legal trials of a rule, each with the model's steps."""
    trials = draw(checks()[rule].draws, EXAMPLES, f"written/{rule}")
    legal = [one for one in trials if trial_flaw(one, EVALUATOR.defaults) is None]
    model = Model(PROFILE)
    return [(one, model.answer(*one.questions[0])["steps"]) for one in legal]


def broken(change):
    """Return the rules that the model breaks after a change of its steps."""
    found = set()
    for rule in RULES:
        for trial, steps in answered(rule):
            changed = [change(step) for step in steps]
            if EVALUATOR.judge(rule, trial, [{"steps": changed}]).violated:
                found.add(rule)
                break
    return found


def with_reports(change):
    def changed(step):
        reports = step.get("reports")
        return step if not reports else {**step, "reports": change(reports)}

    return changed


def each_report(change):
    return with_reports(lambda reports: {name: change(one) for name, one in reports.items()})


def with_written(change):
    def changed(step):
        return step if "written" not in step else {**step, "written": change(step["written"])}

    return changed


def node_of(name):
    return lambda step: {**step, "leaderNode": name} if step.get("leaderNode") else step


def without_the_first(reports):
    return dict(list(reports.items())[1:])


def every_fourth(one):
    return {**one, "minutes": [minute for minute in one["minutes"] if minute % 4 == 0]}


def last_says(**more):
    return lambda one: {**one, "last": {**one["last"], **more}}


def one_way_only(one):
    return {**one, "last": {**one["last"], "msgThroughputOut": 0}}


def every_other(written):
    return {**written, "minutes": written["minutes"][1::2] if written["minutes"][1:] else []}


def a_sample_each_time(written):
    bundles = {
        name: {**one, "numSamples": 1 + one["numSamples"] // 4}
        for name, one in written["bundles"].items()
    }
    return {**written, "bundles": bundles}


FORBIDDEN = {
    "another broker stands in the node": (node_of("broker-9"), {"MANAGER-08"}),
    "a broker that never reports": (with_reports(without_the_first), {"REPORT-11"}),
    "reports every fourth minute": (each_report(every_fourth), {"REPORT-11"}),
    "a rate that is not added up": (each_report(one_way_only), {"REPORT-12"}),
    "topics that are not counted": (each_report(last_says(numTopics=0)), {"REPORT-12"}),
    "more bundles than are named": (each_report(last_says(numBundles=99)), {"REPORT-12"}),
    "an idle CPU": (each_report(last_says(cpu={"usage": 0, "limit": 100})), {"REPORT-12"}),
    "every other writing": (with_written(every_other), {"DATA-12"}),
    "a sample in four": (with_written(a_sample_each_time), {"DATA-11"}),
}
"""Changes of every step, each with the rules that it breaks."""


def more_often(one):
    minutes = sorted({*one["minutes"], *(minute - 0.5 for minute in one["minutes"])})
    return {**one, "minutes": minutes}


def a_little_later(one):
    return {**one, "minutes": [minute + 0.9 for minute in one["minutes"]]}


def more_samples(written):
    bundles = {
        name: {**one, "numSamples": min(3 * one["numSamples"], one["maxSamples"])}
        for name, one in written["bundles"].items()
    }
    return {**written, "bundles": bundles}


def nothing_told(step):
    return {
        name: one for name, one in step.items() if name not in ("reports", "written", "leaderNode")
    }


def reporting(change):
    """Return a change of steps that alters the times of reports and adds the samples they need."""
    return lambda step: with_written(more_samples)(each_report(change)(step))


ALLOWED = {
    "nothing is seen of it": nothing_told,
    "reports twice as often": reporting(more_often),
    "a sample of each broker's report": with_written(more_samples),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_write_that_a_sentence_forbids_is_found(name):
    change, rules = FORBIDDEN[name]
    assert rules <= broken(change)


@pytest.mark.parametrize("name", ALLOWED)
def test_a_write_that_a_sentence_allows_passes(name):
    assert broken(ALLOWED[name]) == set()


def test_a_report_may_be_nearly_a_minute_late():
    assert "REPORT-11" not in broken(each_report(a_little_later))


def test_the_model_writes_as_documented():
    assert broken(lambda step: step) == set()
    for rule in RULES:
        words = {
            EVALUATOR.judge(rule, one, [{"steps": steps}]).word for one, steps in answered(rule)
        }
        assert "allowed" in words
