"""The guide to the kit for JUnit 5 agrees with the examples on which the kit judges a class."""

import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reference import Model, overload, threshold
from pulsar_conformance.reports import archive

GUIDE = (Path(__file__).parents[2] / "reports/site/guides/gate-a-plug-in.md").read_text("utf-8")
SINCE_40 = ("documented-4.0", "documented-4.2")
SHARE = "maxUnloadPercentage"
AMOUNTS = {
    "OverloadShedder": (("documented-3.0", *SINCE_40, "documented-5.0"), (0, 10)),
    "ThresholdShedder": (("documented-3.0", *SINCE_40), (0, 10)),
    "UniformLoadShedder": ((*SINCE_40, "documented-5.0"), (0.05, 1)),
}
"""For each strategy, the profiles whose examples test the amount to shed, and wrong amounts."""


def named():
    """Return the readings in the guide's table, for each strategy."""
    found, strategy = {}, ""
    for judged_as, reading in re.findall(
        r"^\| (?:`(\w+)` )?\| `([\w=-]+)` \|", GUIDE, re.MULTILINE
    ):
        strategy = judged_as or strategy
        found.setdefault(strategy, {}).update([reading.split("=")])
    return found


READINGS = named()


@cache
def judged(strategy, profile):
    """Return the examples of shedding by a strategy that hold in a profile."""
    return [
        example
        for example in examples()
        if example.allowed is not None
        and all(
            operation == "shed.select" and str(case.get("strategy")).endswith(strategy)
            for operation, case in example.questions
        )
        and archive.holds_example(example, profile)
    ]


def asked(strategy, profile, readings):
    """Return the examples by which the kit's `shedding` judges a class as a strategy."""
    return [
        example
        for example in judged(strategy, profile)
        if example.readings.items() <= readings.items()
    ]


def has_history(example):
    return "usageHistory" in repr(example.questions)


def found_by(strategy, profile, readings, amount):
    """Return the examples that fail for a class with the guide's readings and another amount."""
    found = []
    for example in asked(strategy, profile, readings):
        model = Model(profile, {**READINGS[strategy], **example.readings})
        more = {SHARE: amount} if strategy == "UniformLoadShedder" else {}
        answers = [
            dict(model.answer(operation, {**case, "settings": {**case["settings"], **more}}))
            for operation, case in example.questions
        ]
        if answers not in [[*allowed] for allowed in example.allowed] and not has_history(example):
            found.append(example.id)
    return found


def test_the_guide_names_readings_of_each_strategy():
    assert {name: len(readings) for name, readings in READINGS.items()} == {
        "OverloadShedder": 2,
        "ThresholdShedder": 4,
        "UniformLoadShedder": 3,
    }
    for strategy, readings in READINGS.items():
        for profile in AMOUNTS[strategy][0]:
            specs.load().check_open(profile, readings)


@pytest.mark.parametrize("strategy", AMOUNTS)
def test_a_wrong_amount_is_found_with_these_readings_and_with_no_fewer(strategy, monkeypatch):
    profiles, amounts = AMOUNTS[strategy]
    for profile in profiles:
        assert judged(strategy, profile)
    for amount in amounts:
        monkeypatch.setattr(overload, "MARGIN", Fraction(amount))
        monkeypatch.setattr(threshold, "BELOW_AVERAGE", Fraction(amount))
        for profile in profiles:
            assert found_by(strategy, profile, READINGS[strategy], amount)
    for profile in profiles:
        for left_out in READINGS[strategy]:
            fewer = {name: one for name, one in READINGS[strategy].items() if name != left_out}
            exact = []
            for amount in amounts:
                monkeypatch.setattr(overload, "MARGIN", Fraction(amount))
                monkeypatch.setattr(threshold, "BELOW_AVERAGE", Fraction(amount))
                exact.append(found_by(strategy, profile, fewer, amount))
            assert not all(exact), (profile, left_out)


def test_the_command_for_a_threshold_shedder_has_the_readings_of_the_table():
    [command] = re.findall(
        r"^pulsar-conformance run .*as=ThresholdShedder,.*--reading.*", GUIDE, re.M
    )
    given = dict(re.findall(r"--reading ([\w-]+)=([\w-]+)", command))
    assert given == READINGS["ThresholdShedder"]
    specs.load().check_open("documented-4.2", given)


def test_no_amount_is_asked_where_the_guide_says_so():
    with pytest.raises(specs.UnknownName, match="threshold-order"):
        specs.load().check_open("documented-5.0", READINGS["ThresholdShedder"])
    for amount in AMOUNTS["UniformLoadShedder"][1]:
        uniform = "UniformLoadShedder", "documented-3.0", READINGS["UniformLoadShedder"]
        assert found_by(*uniform, amount) == []


def test_only_examples_of_thresholdshedder_have_earlier_cycles():
    for strategy in AMOUNTS:
        found = [
            one for one in asked(strategy, "documented-4.2", READINGS[strategy]) if has_history(one)
        ]
        assert bool(found) == (strategy == "ThresholdShedder")


@pytest.mark.parametrize("strategy", AMOUNTS)
def test_the_guide_lists_the_rules_that_no_example_of_the_kit_can_fail(strategy):
    profile, area = "documented-4.2", {"OVERLOAD", "THRESHOLD", "UNIFORM"}
    decided = {
        rule
        for example in examples()
        if all(
            operation == "shed.select" and str(case.get("strategy")).endswith(strategy)
            for operation, case in example.questions
        )
        and archive.holds_example(example, profile)
        and not has_history(example)
        and (example.required_answers or archive.refuted_answers(example, [profile]))
        for rule in example.rules
    }
    area = {"SHED", next(one for one in area if strategy.upper().startswith(one))}
    left = [
        rule.id
        for rule in specs.load().rules_of(profile)
        if rule.id.partition("-")[0] in area
        and {"shed.select", "shed.cycles"} & set(rule.operations)
        and rule.untestable is None
        and rule.id not in decided
    ]
    assert f"| `{strategy}` | {', '.join(sorted(left))} |" in GUIDE


def test_the_guide_counts_the_examples_of_its_test():
    [with_readings, without] = re.findall(
        r"there are (\d+) with the three readings above, and (\d+) without", GUIDE
    )[0]
    [snippet] = re.findall(r"^```java\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)
    [profile] = re.findall(r'\.by\("([\w.-]+)"\)', snippet)
    readings = dict(re.findall(r'\.reading\("([\w-]+)", "([\w-]+)"\)', snippet))
    assert len(asked("OverloadShedder", profile, readings)) == int(with_readings)
    assert len(asked("OverloadShedder", profile, {})) == int(without)
