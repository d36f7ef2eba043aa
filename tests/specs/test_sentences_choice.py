"""If the documents leave a choice, an implementation may choose differently each time."""

from itertools import pairwise
from random import Random

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.cases.legality import example_allows, trial_flaw
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.ranges import hash_of
from pulsar_conformance.reference.shedding import PACKAGE, Cycle
from pulsar_conformance.reference.splitting import POSITIONS, RANGE, TOPICS
from pulsar_conformance.reference.threshold import SHEDDER_THRESHOLD as OVER_AVERAGE
from pulsar_conformance.reference.threshold import Levels
from test_sentences_allow import NONE, PROFILE, SPECS, breaks, changed, cheapest, model, shedding

ALIKE = ("SHED-05", "SHED-06", "OVERLOAD-11")
"""The rules that compare two answers."""

SHEDDING = tuple(f"THRESHOLD-0{n}" for n in range(1, 7))


def at_random(seed):
    """Return the model, except that under ThresholdShedder it sheds enough bundles at random."""
    chance, whole = Random(seed), model()

    def answer(operation, case):
        if operation != "shed.select":
            return whole(operation, case)
        settings = Settings(case["settings"], SPECS.defaults(PROFILE))
        cycle = Cycle(case, settings, Readings.of(PROFILE, {}))
        if not cycle.enabled or cycle.strategy != "ThresholdShedder":
            return whole(operation, case)
        levels, unload = Levels(cycle), []
        for name, broker in cycle.brokers.items():
            movable, carried = cycle.movable(broker), 0
            chance.shuffle(movable)
            for bundle in movable if levels.is_over(broker) else ():
                if carried < levels.need_of(broker):
                    unload.append({"broker": name, "bundle": bundle})
                    carried += cycle.traffic(bundle)
        return {"unload": unload or whole(operation, case)["unload"]}

    return answer


def always_by_threshold(case, told):
    """Ignore the setting of the strategy: only the strategy field of the case counts."""
    if case["strategy"] is not None:
        return told
    settings = {OVER_AVERAGE: 10, **case["settings"]}
    strategy = f"{PACKAGE}ThresholdShedder"
    return model()("shed.select", {**case, "strategy": strategy, "settings": settings})


def always_overload(case, told):
    """Use OverloadShedder if the case names no strategy."""
    if case["strategy"] is not None:
        return told
    return model()("shed.select", {**case, "strategy": f"{PACKAGE}OverloadShedder"})


def with_the_overloaded(case, _told):
    """Let overloaded brokers shed under every strategy."""
    return model(overload_scope="all")("shed.select", case)


def all_from_the_overloaded(cycle):
    """Unload all bundles of overloaded brokers, listed with the least traffic first."""
    for name, broker in cycle.brokers.items():
        if max(broker.percent.values()) > 85 and len(broker.bundles) > 1:
            yield from ((name, one) for one in cycle.movable(broker)[::-1])


def listed_backwards(_case, told):
    return {"unload": told["unload"][::-1]}


def parted_anywhere(chance):
    """Return a split between the middle two topics, at a random hash at each question."""

    def parted(case, told):
        default = case["settings"].get("defaultNamespaceBundleSplitAlgorithm", RANGE)
        if "bundles" not in told or (case["algorithm"] or default) != TOPICS:
            return told
        lower, upper = (int(end, 16) for end in case["bundle"].split("_"))
        hashes = sorted(map(hash_of, case["topics"]))
        below, above = hashes[len(hashes) // 2 - 1 :][:2]
        ends = (lower, chance.randint(below + 1, above), upper)
        return {"bundles": [f"0x{a:08x}_0x{b:08x}" for a, b in pairwise(ends)]}

    return parted


def always_by_range(case, _told):
    return model()("bundles.split", {**case, "algorithm": case["algorithm"] or RANGE})


def at_positions(case, _told):
    return model()("bundles.split", {**case, "algorithm": POSITIONS, "by": "admin"})


ALLOWED = {
    "any bundles": (at_random(1), (*SHEDDING, *ALIKE)),
    "in any order": (changed(listed_backwards, "shed.select"), ("OVERLOAD-03", "SHED-07")),
    "between two topics": (changed(parted_anywhere(Random(1)), "bundles.split"), ("SPLIT-17",)),
    "halves at a position": (changed(always_by_range, "bundles.split"), ("SPLIT-16",)),
}

FORBIDDEN = {
    "OVERLOAD-03": shedding(all_from_the_overloaded),
    "OVERLOAD-11": changed(with_the_overloaded, "shed.select"),
    "SHED-05": changed(always_overload, "shed.select"),
    "SHED-06": changed(always_by_threshold, "shed.select"),
    "SHED-07": shedding(cheapest),
    "SPLIT-16": changed(at_positions, "bundles.split"),
    "SPLIT-17": changed(always_by_range, "bundles.split"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_a_choice_that_is_left_open_passes(name):
    answer, rules = ALLOWED[name]
    assert breaks(answer, rules) == set()


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_what_is_no_choice_is_found(rule):
    assert breaks(FORBIDDEN[rule], [rule]) == {rule}


def asks_for_transfer(example):
    """True if a run under the profile asks the example's questions."""
    trial = Trial(tuple(Question(*one) for one in example.questions))
    judged = any(PROFILE in SPECS.rules[rule].profiles for rule in example.rules)
    legal = trial_flaw(trial, SPECS.defaults(PROFILE)) is None
    return judged and legal and example.holds_in(SPECS, PROFILE)


@pytest.mark.parametrize("seed", range(4))
def test_examples_worked_by_hand_leave_the_same_choice(seed):
    answer, met = at_random(seed), 0
    for example in fixtures.examples():
        shed = {operation for operation, _ in example.questions} == {"shed.select"}
        free = dict(example.readings) in (NONE, {"threshold-order": "any"})
        if shed and free and asks_for_transfer(example) and example.allowed is not None:
            met += 1
            answers = [answer(*one) for one in example.questions]
            assert example_allows(example, answers), (example.id, answers)
    assert met > 10


def test_examples_worked_by_hand_for_either_window_give_both():
    met = 0
    for example in fixtures.examples():
        if "shed-window" in example.readings or example.allowed is None:
            continue
        for operation, case in example.questions:
            if operation == "shed.select":
                met += bool(case["bundles"])
                for name, known in case["bundles"].items():
                    frames = known.get("shortTermData"), known.get("longTermData")
                    assert frames[0] == frames[1], (example.id, name)
    assert met > 30
