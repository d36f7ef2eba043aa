"""What releases do where they differ from the documents: observed rules of several areas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pulsar_conformance.conformance.checks.manager import is_mistake
from pulsar_conformance.conformance.core.expect import POINTS, SHARE, Expect
from pulsar_conformance.conformance.draws import growth, managers, shedding, splits, usages
from pulsar_conformance.conformance.facts import shedding as facts
from pulsar_conformance.conformance.facts.growth import crowded, exceeds
from pulsar_conformance.conformance.operations.balancing.shed_select import SHED
from pulsar_conformance.conformance.operations.bundles.bundles_split import SPLIT
from pulsar_conformance.conformance.operations.bundles.bundles_split_candidates import (
    SPLIT_CANDIDATES,
)
from pulsar_conformance.conformance.operations.cluster.manager_choose import CHOOSE
from pulsar_conformance.conformance.operations.load_data.usage_max import USAGE
from pulsar_conformance.conformance.views import (
    Chooses,
    Choosing,
    Chosen,
    Measured,
    Parts,
    Plain,
    Unloading,
)
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.cluster import Broker
from pulsar_conformance.reference.managers import DEFAULT
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.ranges import hash_of, hex_of, namespace_of
from pulsar_conformance.reference.shedding import Cycle
from pulsar_conformance.reference.splitting import TOPICS
from pulsar_conformance.reference.threshold import BELOW_AVERAGE, Levels
from pulsar_conformance.reference.usage import UNWEIGHTED, weights

FEWEST_TOPICS = FEWEST_BROKERS = 2
"""So many it takes for a bundle to be split."""


@SPLIT_CANDIDATES.check("SPLIT-24", draws=growth.growths())
def nothing_is_split_with_one_broker(case: Growth, answer: Chosen, expect: Expect) -> None:
    """With one broker nothing is split."""
    if expect.reached(len(case.case["brokers"]) < FEWEST_BROKERS):
        expect.nothing(answer.split, "one broker is up")


@SPLIT_CANDIDATES.check("SPLIT-25", draws=growth.growths())
def few_topics_stay_together(case: Growth, answer: Chosen, expect: Expect) -> None:
    """A bundle with fewer than two topics stays whole."""
    few = [bundle for bundle, stats in case.stats.items() if stats.topics < FEWEST_TOPICS]
    expect.reached(bool(few))
    wrong = [bundle for bundle in answer.split if bundle in few]
    expect.nothing(wrong, "these have fewer than two topics")


@SPLIT_CANDIDATES.check("SPLIT-26", draws=growth.growths())
def the_others_over_a_limit_are_split(case: Growth, answer: Chosen, expect: Expect) -> None:
    """A bundle with two topics over a limit is split, where its namespace has room."""
    expect.given(case.enabled, "the leader splits by itself")
    expect.given(len(case.case["brokers"]) >= FEWEST_BROKERS, "two brokers are up")
    full = crowded(case)
    for bundle, stats in case.stats.items():
        able = stats.topics >= FEWEST_TOPICS and namespace_of(bundle) not in full
        over = [name for name in case.limits if exceeds(case, bundle, name)]
        if expect.reached(able and bool(over)):
            allowed = f"{bundle} is split: it exceeds {', '.join(over)}"
            expect.that(bundle in answer.split, allowed, ", ".join(answer.split) or "nothing split")


@SPLIT.check("SPLIT-27", draws=splits.topic_splits())
def topic_halves_meet_half_way(case: Plain, answer: Parts, expect: Expect) -> None:
    """The boundary lies half-way between the middle two hashes, rounded down."""
    expect.given(answer.refused is None, "the request was not refused")
    whole = case["algorithm"] == TOPICS and case["bundle"] == splits.WHOLE
    hashes = sorted(map(hash_of, case["topics"]))
    expect.given(whole and len(hashes) >= FEWEST_TOPICS, "topics of a whole namespace are parted")
    below, above = hashes[len(hashes) // 2 - 1], hashes[len(hashes) // 2]
    middle = below + (above - below) // 2
    expect.reached()
    cuts = [part.lower for part in answer.ranges[1:]]
    expect.that(cuts == [middle], f"parts divided at {hex_of(middle)}", answer)


def leaves_heap_out(
    asked: bool, weighed: bool, case: Plain, answer: Measured, expect: Expect
) -> None:
    """The usage is the largest of the resources but for heap memory."""
    expect.given(case["weighted"] is asked, f"the {'weighted' if asked else 'plain'} usage")
    weight = weights(case.settings) if weighed else UNWEIGHTED
    used = Broker.read("broker", case["broker"]).percent
    most = _largest(used, weight, (name for name in used if name != "memory"))
    expect.reached()
    close = abs(answer.percent - most) <= POINTS
    expect.that(close, f"{plain(most, 4)} %", f"{plain(answer.percent, 4)} %")


def _largest(
    used: Mapping[str, Fraction], weight: Mapping[str, Fraction], names: Iterable[str]
) -> Fraction:
    return max(used[name] * weight[name] for name in names)


for rule, asked, weighed in (
    ("USAGE-08", False, False),
    ("USAGE-09", True, True),
    ("USAGE-10", False, True),
):
    USAGE.check(rule, draws=usages.brokers(weighted=weighed and asked))(
        partial(leaves_heap_out, asked, weighed)
    )


@SHED.check("THRESHOLD-11", draws=shedding.cycles(shedding.threshold))
def sheds_the_excess_over_the_limit(case: Cycle, answer: Unloading, expect: Expect) -> None:
    """A broker above the limit gives up its excess over the limit and five points, no more."""
    expect.given(facts.strategy_is(case, "ThresholdShedder"), "ThresholdShedder sheds")
    expect.given(not any(one.history for one in case.brokers.values()), "there is no history")
    levels = Levels(case)
    for broker in case.brokers.values():
        movable = facts.carried(case, case.movable(broker))
        share = levels.usage[broker.name] - levels.limit + BELOW_AVERAGE
        need = share / 100 * case.traffic_of(broker)
        over = facts.over(levels, broker) and facts.loaded(case, broker)
        if expect.reached(bool(over) and movable >= need):
            of = f"traffic shed by {broker.name}"
            expect.at_least(facts.shed(answer, broker), need, of, case.written)
            before = facts.carried(case, facts.own(answer, broker)[:-1])
            allowed = f"no more once {case.written(need)} are shed by {broker.name}"
            expect.that(before < need * (1 + SHARE) or not need, allowed, answer)


@CHOOSE.check("MANAGER-12", draws=managers.mistaken())
def a_mistake_in_broker_conf_is_passed_over(
    case: Choosing, answer: Chooses, expect: Expect
) -> None:
    """With nothing dynamic, the simple manager runs where broker.conf names none."""
    if _mistaken(case, expect):
        expect.that(answer.manager == DEFAULT, f"{DEFAULT}: '{case.conf}' is no manager", answer)


@CHOOSE.check("MANAGER-13", draws=managers.mistaken())
def a_mistake_in_broker_conf_is_refused(case: Choosing, answer: Chooses, expect: Expect) -> None:
    """With nothing dynamic, no manager runs where broker.conf names none."""
    if _mistaken(case, expect):
        refused = answer.refused is not None
        expect.that(refused, f"a refusal: '{case.conf}' is no manager", answer)


def _mistaken(case: Choosing, expect: Expect) -> bool:
    wrong = case.dynamic is None and case.conf is not None and is_mistake(case.conf)
    return expect.reached(wrong)
