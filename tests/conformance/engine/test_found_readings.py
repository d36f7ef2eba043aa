"""A run finds undeclared readings from the answers that it judges."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.cases.deviations import Deviation
from pulsar_conformance.conformance.catalogue import aims_by_reading
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    before_asking,
    documented_alternatives,
    documented_readings,
    find_readings,
    resolve_readings,
)
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Model
from sampling import one_in

PROFILES = ("documented-3.0", "documented-2.10", "documented-2.4")
EXAMPLES = 5
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl"


class Speaking(ReferenceConnection):
    """The model under the readings `follows`; it declares the readings `says`."""

    def __init__(self, profile, follows, says):
        super().__init__("speaking", profile, follows)
        self.hello = replace(self.hello, name="speaking", readings=says)


class Wavering(Speaking):
    """Follows `value` of a reading for cases that contain `word`, and the default for others."""

    def __init__(self, profile, name, value, word):
        super().__init__(profile, {}, {})
        self._other = Model(profile, {name: value})
        self._word = word

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        for place, case in enumerate(batch):
            if self._word in json.dumps(case):
                answers[place] = self._other.answer(operation, case)
        return answers


class WithoutHeap(Speaking):
    """Ignores heap memory, as releases of Pulsar do."""

    def exchange(self, operation, batch):
        return super().exchange(operation, list(map(without_heap, batch)))


def without_heap(case):
    if "brokers" not in case:
        return case
    kept = {
        name: {key: value for key, value in broker.items() if key != "memory"}
        for name, broker in case["brokers"].items()
    }
    return {**case, "brokers": kept}


class Fixed(Speaking):
    """Offers one shedding strategy, and uses a fixed threshold instead of the configured one."""

    def __init__(self, profile, strategy, setting, value):
        super().__init__(profile, {}, {})
        self.hello = replace(self.hello, operations=("shed.select",), strategies=(strategy,))
        self._threshold = {setting: value}

    def exchange(self, operation, batch):
        settings = [{**case["settings"], **self._threshold} for case in batch]
        fixed = [{**case, "settings": one} for case, one in zip(batch, settings, strict=True)]
        return super().exchange(operation, fixed)


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Return a function that returns the run and the verdicts on the rules about a reading."""

    def judge(connection, profile, reading, pinned=()):
        monkeypatch.setattr(implementations, "connect", lambda *_: connection)
        about = {aim.operation for aim in aims_by_reading()[reading]}
        rules = [rule for rule in specs.load().rules_of(profile) if about & set(rule.operations)]
        chosen = [rule.id for rule in rules if rule.untestable is None]
        plan = Plan.make(["reference"], [profile], pinned, chosen, examples=EXAMPLES, root=tmp_path)
        run = Run(plan, "reference", profile)
        return run, [run.verdict(rule) for rule in run.rules]

    return judge


def others():
    """Yield every documented alternative other than the profile's default."""
    for profile in PROFILES:
        usual = specs.load().default_readings(profile)
        for name in documented_readings(profile):
            for value in documented_alternatives(profile)[name]:
                if value != usual[name]:
                    yield profile, name, value


def wider(name):
    """True if a reading has an alternative that allows all that its other alternatives allow."""
    return any(one.open for one in specs.load().readings[name].alternatives)


UNTOLD = {"expensive-measure": "only who follows overload-amount=one is asked for it"}
"""Readings that answers under the default readings cannot show, each with the reason."""


def judges_shedding(profile, name):
    """False if only rules of OVERLOAD could show the reading, and the profile has none of them."""
    areas = {rule.area for rule in specs.load().rules_of(profile)}
    return name not in ("shed-window", "broker-rates") or "OVERLOAD" in areas


def failed(verdicts):
    return [one.rule for one in verdicts if one.verdict in ("fail", "error")]


@pytest.mark.parametrize(("profile", "name", "value"), one_in(8, others()))
def test_an_alternative_that_nobody_declared_is_found_and_demanded(profile, name, value, judged):
    run, verdicts = judged(Speaking(profile, {name: value}, {}), profile, name)
    assert failed(verdicts) == []
    if wider(name) or name in UNTOLD or not judges_shedding(profile, name):
        assert run.readings.how[name] == "undecided"
        assert value in run.readings.domains[name]
    else:
        assert (run.readings.chosen[name], run.readings.how[name]) == (value, "found")
    usual = specs.load().default_readings(profile)
    kept = [one for one in documented_readings(profile) if one != name]
    assert [one for one in kept if run.readings.chosen[one] != usual[one]] == []


TOGETHER = (
    {
        "overload-amount": "one", "broker-rates": "bundles",
        "uniform-trigger": "either", "uniform-multiplier": "difference",
    },
    {
        "shed-window": "long-term", "threshold-target": "percent", "threshold-released": "usage",
        "uniform-multiplier": "difference", "uniform-difference": "messages",
    },
)  # fmt: skip
"""Alternatives that are followed together; some determine whether others have an effect."""


@pytest.mark.parametrize("follows", TOGETHER, ids=["uniform", "threshold"])
def test_alternatives_are_found_whichever_others_are_followed(follows, monkeypatch):
    profile = "documented-2.10"
    monkeypatch.setattr(implementations, "connect", lambda *_: Speaking(profile, follows, {}))
    found = resolve_readings(implementations.Implementation("reference", profile, {}), seed=3)
    assert {name: (found.chosen[name], found.how[name]) for name in follows} == {
        name: (value, "found") for name, value in follows.items()
    }


@pytest.mark.parametrize("value", one_in(2, ["exceeds", "reaches"]))
def test_a_trigger_is_found_of_those_who_do_not_count_heap_memory(value, judged):
    profile, name = "documented-3.0", "overload-trigger"
    run, _ = judged(WithoutHeap(profile, {name: value}, {}), profile, name)
    assert (run.readings.chosen[name], run.readings.how[name]) == (value, "found")


def kept_all(recently_unloaded, strategy="OverloadShedder"):
    """Return a case and an answer in which a broker at 95 % keeps two parts of a split bundle."""
    loads = {"msgRateIn": 900, "msgThroughputIn": 9e6, "numSamples": 10, "maxSamples": 10}
    parts = ("shop/eu/0x00000000_0x40000000", "shop/eu/0x40000000_0x80000000")
    busy = {"cpu": {"usage": 95, "limit": 100}, "msgRateIn": 1800, "msgThroughputIn": 18e6}
    case = {
        "strategy": f"{PACKAGE}.{strategy}",
        "settings": {},
        "brokers": {"b1": {**busy, "bundles": [*parts]}, "b2": {"bundles": []}},
        "bundles": {part: {"shortTermData": loads, "longTermData": loads} for part in parts},
        "recentlyUnloaded": recently_unloaded,
    }
    return Trial.of("shed.select", case), [{"unload": []}]


# Only if parts of a bundle that was unloaded 5 minutes ago have to stay may the broker keep all.
# That is no sign of the reading if it also keeps all where nothing was unloaded, since it breaks
# OVERLOAD-01 then.
@pytest.mark.parametrize("breaks", [False, True])
def test_a_broken_rule_is_no_sign_of_a_reading(breaks, monkeypatch):
    profile, parent = "documented-4.0", "shop/eu/0x00000000_0x80000000"
    monkeypatch.setattr(implementations, "connect", lambda *_: Speaking(profile, {}, {}))
    before = before_asking(implementations.Implementation("reference", profile, {}))
    answers = [kept_all({parent: 5}), *([kept_all({})] if breaks else [])]
    found = find_readings(before, {"grace-of": answers}, {})
    assert found.how["grace-of"] == ("undecided" if breaks else "found")
    assert found.domains["grace-of"] == (("bundle", "topic") if breaks else ("topic",))
    assert found.excludes("grace-of", "bundle") is not breaks
    assert not found.excludes("grace-of", "topic")


# Who keeps all bundles of an overloaded broker where nothing was unloaded keeps them for another
# reason than parts that must stay. Who does so with another strategy may have had this reason.
@pytest.mark.parametrize(
    ("strategy", "how"), [("OverloadShedder", "undecided"), ("ThresholdShedder", "found")]
)
def test_a_rule_that_is_broken_in_controls_decides_no_reading(strategy, how, monkeypatch):
    profile, parent = "documented-4.0", "shop/eu/0x00000000_0x80000000"
    monkeypatch.setattr(implementations, "connect", lambda *_: Speaking(profile, {}, {}))
    before = before_asking(implementations.Implementation("reference", profile, {}))
    answers, controls = [kept_all({parent: 5})], [kept_all({}, strategy)]
    found = find_readings(before, {"grace-of": answers}, {"grace-of": controls})
    assert found.how["grace-of"] == how


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("strategy", "setting", "value"),
    [
        ("OverloadShedder", "loadBalancerBrokerOverloadedThresholdPercentage", 85),
        ("OverloadShedder", "loadBalancerBrokerOverloadedThresholdPercentage", 95),
        ("ThresholdShedder", "loadBalancerBrokerThresholdShedderPercentage", 30),
    ],
)
def test_a_fixed_threshold_is_no_sign_of_a_reading(strategy, setting, value, seed, monkeypatch):
    """A fixed threshold, which keeps or sheds the wrong amount, is not mistaken for a reading.

    It keeps bundles that must go, as if parts of unloaded bundles were protected, or sheds too few,
    as if a single bundle were enough.
    """
    profile = "documented-3.0"
    monkeypatch.setattr(
        implementations, "connect", lambda *_: Fixed(profile, strategy, setting, value)
    )
    found = resolve_readings(implementations.Implementation("reference", profile, {}), seed)
    usual = specs.load().default_readings(profile)
    others = {name for name, how in found.how.items() if how == "found"} - {"lower-boundary"}
    assert {name for name in others if found.chosen[name] != usual[name]} == set()


@pytest.mark.parametrize("profile", PROFILES)
def test_every_alternative_is_tried(profile):
    named = {(name, value) for one, name, value in others() if one == profile}
    usual = specs.load().default_readings(profile)
    documented = documented_alternatives(profile)
    every = {(name, value) for name, values in documented.items() for value in values}
    assert named == {(name, value) for name, value in every if usual[name] != value}


def test_what_is_declared_is_held_to(judged):
    profile, name = "documented-3.0", "overload-trigger"
    connection = Speaking(profile, {name: "exceeds"}, {name: "reaches"})
    run, verdicts = judged(connection, profile, name)
    assert run.readings.how[name] == "declared"
    broken = {one.rule: one.failure for one in verdicts if one.verdict == "fail"}
    assert "OVERLOAD-01" in broken
    assert "overload-trigger=reaches (declared)" in broken["OVERLOAD-01"].readings
    assert broken["OVERLOAD-01"].passes_under == ("overload-trigger=exceeds",)
    assert not run.readings.excludes(
        name, "exceeds"
    )  # Answers do not change readings that are declared.


def test_what_is_pinned_is_held_to(judged):
    profile, name = "documented-3.0", "grace-edge"
    connection = Speaking(profile, {name: "free"}, {name: "free"})
    run, verdicts = judged(connection, profile, name, ["grace-edge=blocked"])
    assert run.readings.how[name] == "pinned"
    broken = {one.rule: one.failure for one in verdicts if one.verdict == "fail"}
    assert broken["SHED-04"].passes_under == ("grace-edge=free",)


MIXED = {
    "overload-trigger": ("reaches", '"loadBalancerBrokerOverloadedThresholdPercentage": 50'),
    "threshold-target": ("percent", '"broker-2": {"cpu"'),
    "shed-measure": ("message-rate", '"strategy": "OverloadShedder"'),
}
"""For each reading, a second alternative and the text that marks the cases answered by it."""


@pytest.mark.parametrize("name", MIXED)
def test_two_alternatives_mixed_fail_and_the_reading_is_named(name, judged):
    profile, (value, word) = "documented-3.0", MIXED[name]
    run, verdicts = judged(Wavering(profile, name, value, word), profile, name)
    assert run.readings.how[name] in ("mixed", "found"), "found on the cases that aim at it"
    failures = [one.failure for one in verdicts if one.verdict == "fail"]
    assert any(any(name in one for one in failure.readings) for failure in failures)
    assert all(Path(failure.case_file).suffix == ".json" for failure in failures)


def test_a_mixed_reading_is_shown_by_two_cases_and_says_how_to_pin_it(judged, tmp_path):
    profile, name, word = "documented-3.0", "overload-trigger", MIXED["overload-trigger"][1]
    run, _ = judged(Wavering(profile, name, "reaches", word), profile, name)
    assert run.readings.how[name] == "mixed"
    [note] = [one for one in run.notes if f"follows no single alternative of {name}: " in one]
    fits = re.findall(r"(\w+) fits its answer to (\.conformance/cases/shed\.\w+/\w+\.json)", note)
    shows = dict(fits)
    assert set(shows) == {"exceeds", "reaches"}
    assert word in json.dumps(json.loads((tmp_path / shows["reaches"]).read_text()))
    assert word not in json.dumps(json.loads((tmp_path / shows["exceeds"]).read_text()))
    assert "or a fault, perhaps a known deviation, changes its answers" in note
    assert note.endswith(f"; to judge it by one alternative, give {PIN}")
    run, _ = judged(Wavering(profile, name, "reaches", word), profile, name, [f"{name}=exceeds"])
    assert not any("mixed" in one for one in run.notes)


PIN = "--reading overload-trigger=exceeds or --reading overload-trigger=reaches"


def test_hello_names_every_reading_by_which_an_implementation_is_judged(monkeypatch, tmp_path):
    """A reading that a known deviation sets is pinned once `hello` names the implementation."""
    told = []

    def connect(_name, profile, readings, _limits):
        told.append(dict(readings))
        return Speaking(profile, readings, {})

    monkeypatch.setattr(implementations, "connect", connect)
    listed = {"overload-trigger": "reaches"}
    known = Deviation("OVERLOAD-01", "It is so.", "link", "speaking", readings=listed)
    plan = replace(
        Plan.make(["reference"], ["documented-3.0"], rules=["OVERLOAD-01"], examples=2),
        deviations=(known,),
        root=tmp_path,
    )
    run = Run(plan, "reference", "documented-3.0")
    assert run.readings.how["overload-trigger"] == "pinned"
    assert run.readings.chosen["overload-trigger"] == told[-1]["overload-trigger"] == "reaches"
