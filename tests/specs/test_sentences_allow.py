"""Pairs of implementations: a sentence allows the first and forbids the second."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import MappingProxyType

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.reference import Model, Readings, Settings
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.threshold import Levels
from sampling import one_in

PROFILE = "documented-3.0"
SPECS = specs.load()
DRAWN = 25
NONE = MappingProxyType({})


@cache
def trials_of(rule, profile):
    defaults = SPECS.defaults(profile)
    examples = [
        Trial(tuple(Question(*one) for one in example.questions))
        for example in fixtures.examples()
        if rule in example.rules
    ]
    drawn = [one for part in checks()[rule].parts for one in draw(part, DRAWN, f"pairs/{rule}")]
    return [one for one in (*examples, *drawn) if trial_flaw(one, defaults) is None]


def breaks(answer, rules, judged=NONE, profile=PROFILE):
    """Return those of the rules that `answer`, a function of an operation and a case, breaks."""
    readings = Readings.of(profile, judged)
    evaluator = RuleEvaluator(SPECS.defaults(profile), readings)
    found = set()
    for name in rules:
        rule = SPECS.rules[name]
        if profile not in rule.profiles or not rule.applies(readings.choices):
            continue
        for trial in trials_of(name, profile):
            answers = [answer(operation, case) for operation, case in trial.questions]
            if evaluator.judge(name, trial, answers).violated:
                found.add(name)
                break
    return found


def model(profile=PROFILE, **readings):
    """Return the model; names of readings have underscores instead of hyphens."""
    chosen = {name.replace("_", "-"): value for name, value in readings.items()}
    return Model(profile, chosen).answer


def shedding(decide, **readings):
    """Return an implementation that sheds by `decide`, and otherwise answers like the model."""
    whole = Model(PROFILE, {name.replace("_", "-"): value for name, value in readings.items()})

    def answer(operation, case):
        if operation != "shed.select":
            return whole.answer(operation, case)
        cycle = Cycle(case, Settings(case["settings"], whole.defaults), whole.readings)
        pairs = decide(cycle) if cycle.enabled else []
        return {"unload": [{"broker": one, "bundle": bundle} for one, bundle in pairs]}

    return answer


def area(*names):
    return [rule for rule in checks() if rule.partition("-")[0] in names]


def everything(cycle):
    return [(name, one) for name, broker in cycle.brokers.items() for one in broker.bundles]


def cheapest(cycle):
    """Unload the bundle with the fewest messages of each overloaded broker."""
    for name, broker in cycle.brokers.items():
        movable = sorted(cycle.movable(broker), key=lambda one: cycle.rates(one).messages)
        if max(broker.percent.values()) > 85 and len(broker.bundles) > 1 and movable:
            yield name, movable[0]


def least_first(cycle):
    """Unload enough under ThresholdShedder, the bundles with the least traffic first."""
    levels = Levels(cycle)
    for name, broker in cycle.brokers.items():
        carried = 0
        for bundle in reversed(cycle.movable(broker)) if levels.is_over(broker) else ():
            if carried < levels.need_of(broker):
                yield name, bundle
                carried += cycle.traffic(bundle)


def changed(change, operation="report.read"):
    """Return the model with a change of its answers to one operation."""
    whole = model()

    def answer(asked, case):
        told = whole(asked, case)
        return change(case, told) if asked == operation else told

    return answer


def idle_names_memory(case, told):
    return {**told, "resource": "memory"} if told["percent"] == 0 else told


def always_memory(_case, told):
    return {**told, "resource": "memory"}


def empty_is_modular(case, told):
    return {"manager": "modular", "broker": {}} if not case["report"] else told


def without_cpu(_case, told):
    if "broker" not in told:
        return told
    return {**told, "broker": {name: one for name, one in told["broker"].items() if name != "cpu"}}


def in_three(case, told):
    """Divide a range into three."""
    if case["algorithm"] != "range_equally_divide" or "bundles" not in told:
        return told
    lower, upper = (int(end, 16) for end in case["bundle"].split("_"))
    ends = [lower, lower + (upper - lower) // 3, upper - (upper - lower) // 3, upper]
    return {"bundles": [f"0x{a:08x}_0x{b:08x}" for a, b in pairwise(ends)]}


def in_a_new_domain(_case, told):
    return {**told, "domains": ["nowhere"]}


def by_a_stranger(_case, told):
    return {**told, "broker": "nobody"}


SHED = ("SHED", "OVERLOAD", "THRESHOLD", "UNIFORM")

PAIRS = {
    "broker.conf enables the modular manager in 2.4": (
        (model("documented-2.4"), area("MANAGER"), NONE, "documented-2.4"),
        (model("documented-2.4", absent_manager="default"), "MANAGER-01"),
    ),
    "one bundle by messages": (
        (model(overload_amount="one"), area(*SHED), {"overload-amount": "one"}, PROFILE),
        (shedding(cheapest), "OVERLOAD-06"),
    ),
    "the lower boundary ten points below": (
        (
            model(lower_boundary="average-minus-10"),
            area("THRESHOLD"),
            {"lower-boundary": "average-minus-10"},
            PROFILE,
        ),
        (shedding(lambda _cycle: []), "THRESHOLD-09"),
    ),
    "the lower boundary as it is printed": (
        (
            model(lower_boundary="printed-sum"),
            area("THRESHOLD"),
            {"lower-boundary": "printed-sum"},
            PROFILE,
        ),
        (shedding(everything), "THRESHOLD-10"),
    ),
    "both bundles for an idle broker": (
        (model(lower_boundary_amount="enough"), area("THRESHOLD"), NONE, PROFILE),
        (shedding(lambda _cycle: []), "THRESHOLD-09"),
    ),
    "shed again after exactly thirty minutes": (
        (model(grace_edge="free"), area(*SHED), {"grace-edge": "free"}, PROFILE),
        (shedding(everything), "SHED-04"),
    ),
    "what bundles carry in the long term": (
        (model(shed_window="long-term"), area(*SHED), {"shed-window": "long-term"}, PROFILE),
        (shedding(lambda cycle: list(cheapest(cycle))), "SHED-07"),
    ),
    "a share of what the bundles carry": (
        (model(broker_rates="bundles"), area(*SHED), {"broker-rates": "bundles"}, PROFILE),
        (shedding(cheapest), "OVERLOAD-02"),
    ),
    "a multiplier of the difference": (
        (
            model(uniform_multiplier="difference"),
            area("UNIFORM"),
            {"uniform-multiplier": "difference"},
            PROFILE,
        ),
        (shedding(everything), "UNIFORM-02"),
    ),
    "any order under ThresholdShedder": (
        (shedding(least_first), [f"THRESHOLD-0{n}" for n in (1, 2, 3, 4, 5, 6)], NONE, PROFILE),
        (shedding(everything), "THRESHOLD-04"),
    ),
    "an empty report": (
        (changed(empty_is_modular), area("REPORT"), NONE, PROFILE),
        (changed(without_cpu), "REPORT-03"),
    ),
    "a resource at 0 % everywhere": (
        (changed(idle_names_memory, "usage.max"), area("USAGE"), NONE, PROFILE),
        (changed(always_memory, "usage.max"), "USAGE-03"),
    ),
    "several positions where the page knows none": (
        (model("documented-2.10", split_ways="several"), ["SPLIT-13"], NONE, "documented-2.10"),
        (changed(in_three, "bundles.split"), "SPLIT-13"),
    ),
    "domains that the case does not have": (
        (
            changed(in_a_new_domain, "place.anti_affinity"),
            ["ANSWER-01"],
            NONE,
            "unwritten-3.0",
        ),
        (changed(by_a_stranger, "place.anti_affinity"), "ANSWER-01"),
    ),
}
"""For each sentence, an allowed implementation with rules, and a forbidden one with its rule."""


@pytest.mark.parametrize("name", one_in(3, PAIRS))
def test_what_the_sentence_allows_passes(name):
    (answer, rules, readings, profile), _ = PAIRS[name]
    assert breaks(answer, rules, readings, profile) == set()


@pytest.mark.parametrize("name", PAIRS)
def test_what_it_forbids_is_found(name):
    (_, _, readings, profile), (answer, rule) = PAIRS[name]
    strict = NONE if rule in ("SHED-07", "OVERLOAD-02") else readings
    if rule in ("MANAGER-01",):
        strict = NONE
    assert breaks(answer, [rule], strict, profile) == {rule}


def test_what_is_released_may_go_to_another_broker():
    elsewhere = model(unload_destination="other", split_destination="other")
    assert breaks(elsewhere, ["OWN-14"]) == set()


def test_a_simple_load_manager_is_not_judged_by_what_only_the_modular_one_has(monkeypatch):
    implementation = Implementation("reference", PROFILE, {})
    modular = [rule for rule in SPECS.rules.values() if rule.managers == ("modular",)]
    assert len(modular) > 20
    assert [
        one.id for one in modular if one.operations and implementation.why_not_offered(one)
    ] == []
    monkeypatch.setattr(implementation, "hello", replace(implementation.hello, manager="simple"))
    assert [one.id for one in modular if not implementation.why_not_offered(one)] == []
    assert implementation.why_not_offered(SPECS.rules["SHED-01"]) is None
    assert implementation.why_not_offered(SPECS.rules["REPORT-02"]) is None


def test_the_order_that_is_declared_is_held_to():
    ordered = {"threshold-order": "traffic"}
    assert breaks(shedding(least_first), ["THRESHOLD-12"], ordered) == {"THRESHOLD-12"}
    assert breaks(model(), ["THRESHOLD-12"], ordered) == set()


def test_an_overloaded_broker_may_give_up_its_dearest_bundle_first():
    """Under every strategy, it may shed the bundle with the most messages, whatever its bytes."""
    dearest = {"threshold-order": "traffic", "overload-scope": "all", "overload-amount": "one"}
    by_model = model(**{name.replace("-", "_"): value for name, value in dearest.items()})
    assert breaks(by_model, ["THRESHOLD-12"], dearest) == set()
    assert breaks(shedding(least_first), ["THRESHOLD-12"], dearest) == {"THRESHOLD-12"}


@pytest.mark.parametrize("rule", ["OVERLOAD-03", "THRESHOLD-04", "UNIFORM-04"])
def test_giving_up_everything_fails(rule):
    assert SPECS.rules[rule].level == "must"
    assert breaks(shedding(everything), [rule]) == {rule}
    assert breaks(model(), [rule]) == set()


def test_a_history_that_counts_nothing_is_ignored():
    def remembers(cycle):
        """Decide by the highest usage that was ever seen."""
        levels = Levels(cycle)
        for name, broker in cycle.brokers.items():
            most = max((*broker.history, levels.present[name]))
            movable = cycle.movable(broker)
            if most > levels.limit and movable:
                yield name, movable[0]

    assert breaks(shedding(remembers), ["THRESHOLD-14"]) == {"THRESHOLD-14"}
    assert breaks(model(), ["THRESHOLD-14"]) == set()


def test_a_broker_over_the_limit_gives_up_its_only_bundle():
    def two_or_none(cycle):
        several = {name for name, broker in cycle.brokers.items() if len(broker.bundles) > 1}
        unload = Model(PROFILE).answer("shed.select", cycle.case)["unload"]
        return [(one["broker"], one["bundle"]) for one in unload if one["broker"] in several]

    assert breaks(shedding(two_or_none), ["THRESHOLD-01"]) == {"THRESHOLD-01"}


STRICT = {
    "bundles.create": {"bundles": None, "settings": {"defaultNumberOfNamespaceBundles": 0}},
    "usage.nic": {
        "settings": {"loadBalancerOverrideBrokerNicSpeedGbps": -1},
        "nics": [{"reportedGbps": 10}],
    },
}


@pytest.mark.parametrize("operation", STRICT)
def test_what_has_no_answer_is_not_legal(operation):
    [setting] = STRICT[operation]["settings"]
    why = trial_flaw(Trial.of(operation, STRICT[operation]), SPECS.defaults(PROFILE))
    assert why.startswith(f"case.settings.{setting}: ")
