"""Answers of releases where they differ from the documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from pulsar_conformance.reference import answers
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import ZERO, Fraction, plain
from pulsar_conformance.reference.ranges import COUNTED, FULL_UPPER, hash_of, hex_of
from pulsar_conformance.reference.released import (
    managers,
    policies,
    reports,
    shedding,
    splitting,
)
from pulsar_conformance.reference.released.assignment import (
    FAILURE_DOMAINS_ENABLED,
    ReleasedAssignment,
    emptiest_domains,
    fewest,
    group_of,
    members,
)
from pulsar_conformance.reference.released.growth import SplitterTask
from pulsar_conformance.reference.released.loads import Leader, as_percent
from pulsar_conformance.reference.released.placement import CHOICE, ReleasedPlacement
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.released.strategy import CycleMemory
from pulsar_conformance.reference.sequences import CycleSequence
from pulsar_conformance.reference.shedding import STRATEGY, Cycle
from pulsar_conformance.reference.splitting import Split
from pulsar_conformance.reference.usage import nic_speed

SLASHES_IN_TOPIC = 2
"""Number of slashes in a topic's name after `persistent://` or another domain."""
NO_CANDIDATES = "division by the number of candidates, 0"
EMPTIEST = "LoadManagerShared.filterDomainsNotHavingLeastNumberAntiAffinityNamespaces"


def maximum(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the usage that its strategies compare."""
    one = {"brokers": {"broker": case["broker"]}, "bundles": {}}
    known = Leader(one, context.settings(case), release)
    if case["weighted"] and release.ways["shedders"] == "overload":
        return Derivation({"unsupported": f"'{release.title}': there are no weights"}, tuple)
    weighted = case["weighted"] or release.ways["overload-usage"] == "weighted"
    share, resource = known.usage("broker", weighted)

    def explain() -> Iterator[Step]:
        for name, percent in known.percents("broker").items():
            weighted_percents_of = f" x {plain(Fraction(known.weight(name)))}" if weighted else ""
            yield Step(name, f"{plain(Fraction(percent))} %{weighted_percents_of}")
        if place := release.method_without_heap(weighted):
            yield Step("except", f"heap memory ({place})")
        yield Step("maximum", f"{plain(as_percent(share))} % of {resource if share else 'nothing'}")

    return Derivation({"percent": share * 100, "resource": resource if share else None}, explain)


def nic(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the speed of a network interface in Gbit/s, 0 if it is unknown."""
    reported = answers.load_data.reported_speed(case)
    if reported is not None and release.ways["reported-speed"] == "binary":
        reported = reported * 1000 / 1024
    speed = nic_speed(context.settings(case), reported)
    return answers.load_data.speed_answer(reported, ZERO if speed is None else speed)


def _failure_steps(why: str) -> tuple[Step]:
    return (Step("failed", why),)


def locate(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: each topic's bundle.

    A release fails for a V1 topic name, and for a topic outside all bundles.
    """
    failed = _answer_to_v1_topic(case, release) or _topics_without_bundle(context, case, release)
    return failed or answers.bundles.locate(context, case)


def _answer_to_v1_topic(case: Case, release: ReleasedWays) -> Derivation | None:
    if release.ways["old-names"] != "refused":
        return None
    for topic in case["topics"]:
        _, _, name = topic.partition("://")
        if name.count("/") > SLASHES_IN_TOPIC:
            why = f"{topic} is not tenant/namespace/topic (TopicName.get)"
            return Derivation({"failed": why}, partial(_failure_steps, why))
    return None


def _topics_without_bundle(
    context: Context, case: Case, release: ReleasedWays
) -> Derivation | None:
    if release.ways["top-hash"] == "last":
        return None
    counted = COUNTED[context.readings["partitions"]]
    lost = [topic for topic in case["topics"] if hash_of(counted(topic)[0]) == FULL_UPPER]
    if not lost:
        return None
    why = f"no bundle begins at {hex_of(FULL_UPPER)} ({release.place('top-hash')})"
    return Derivation({"failed": why}, lambda: (Step(topic, why) for topic in lost))


def defaults(context: Context, _case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the defaults of its settings."""
    without = STRATEGY if release.ways["shedders"] == "overload" else None
    known = {name: value for name, value in context.defaults.items() if name != without}
    return answers.managers.defaults_answer(known)


def split(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the parts of a bundle, or why the request fails."""
    asked = Split.of(case["bundle"], case["topics"], case["positions"])
    traffic = splitting.traffic_of(case["topics"], case.get("topicLoads", {}))
    given = case["algorithm"], case["by"], context.settings(case)
    return splitting.split_answer(asked, traffic, *given, release)


def split_candidates(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the bundles that its leader splits, and the bundles whose parts it
    unloads.

    A release that refuses names with a cluster fails for such a namespace.
    """
    old = next((one for one in case["namespaceBundles"] if one.count("/") > 1), None)
    if old is not None and release.ways["old-names"] == "refused":
        why = f"{old} is not tenant/namespace ({release.place('old-names')})"
        return Derivation({"failed": why}, partial(_failure_steps, why))
    task = SplitterTask(Leader(case, context.settings(case), release))
    decided = {"split": list(task.split), "unload": list(task.unload)}
    return Derivation(decided, task.steps)


def select(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the broker that its placement strategy chooses.

    Equally good brokers take turns.
    """
    known = Leader(case, context.settings(case), release)
    placing = ReleasedPlacement(known, tuple(case["candidates"]))
    if placing.strategy not in CHOICE:
        why = f"the model of '{release.title}' does not include {placing.strategy}"
        return Derivation({"unsupported": why}, lambda: (Step("refused", why),))
    if placing.fails:
        return Derivation({"failed": NO_CANDIDATES}, placing.steps)
    best = placing.best
    nth = context.turn(case) if len(best) > 1 else 0
    return Derivation({"broker": best[nth % len(best)] if best else None}, placing.steps, best)


def broker(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the broker that its load manager assigns.

    Equally good brokers take turns.
    """
    assigning = ReleasedAssignment(case, context.settings(case), release)
    declined = assigning.declined
    if declined is not None:
        return declined
    if assigning.first.fails:
        return Derivation({"failed": NO_CANDIDATES}, assigning.steps)
    best = assigning.best
    nth = context.turn(case) if len(best) > 1 else 0
    return Derivation({"broker": best[nth % len(best)] if best else None}, assigning.steps)


def anti_affinity(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the candidates that remain after its anti-affinity filter."""
    spread = Spread.of(case, "candidates")
    served = {name: case["owned"].get(name, ()) for name in case["candidates"]}
    group = group_of(spread.groups, spread.namespace)
    count = {
        name: members(spread.groups, spread.namespace, owned) for name, owned in served.items()
    }
    home = spread.home if context.settings(case).given.get(FAILURE_DOMAINS_ENABLED, True) else {}
    among = emptiest_domains(case["candidates"], count, home)
    best = list(fewest(among, count))
    domains = dict.fromkeys(home[name] for name in among if name in home)

    def explain() -> Iterator[Step]:
        yield Step("group", group or "none: any candidate")
        for domain in dict.fromkeys(map(home.get, served)) if group is not None and home else ():
            total = sum(number for name, number in count.items() if home.get(name) == domain)
            stays = ", among the fewest" if any(home.get(one) == domain for one in among) else ""
            yield Step(domain or "in no domain", f"{total} on its candidates{stays} ({EMPTIEST})")
        for name in among if group is not None else ():
            stays = "a candidate" if name in best else "left out"
            yield Step(name, f"{count[name]} of the group: {stays}").within()
        whom = " or ".join(best) or "nowhere"
        yield Step("decision", f"{whom} ({release.place('group-brokers')})")

    decided = {"broker": best[0] if best else None, "domains": list(domains), "candidates": best}
    return Derivation(decided, explain)


def shed(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the unloads of one cycle."""
    return shedding.select(Cycle(case, context.settings(case), context.readings), release)


def cycles(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return a release's answer: the unloads of consecutive cycles.

    The strategy keeps its state from one cycle to the next.
    """
    row, memory = CycleSequence(case, context.settings(case), context.readings), CycleMemory()
    return answers.shedding.decide_in_turn(
        row,
        lambda unloads: shedding.select(
            row.after_unloads(unloads), release, memory, row.minutes(0, len(unloads))
        ),
    )


RELEASE_ANSWERS: Mapping[Answer, Callable[[Context, Case, ReleasedWays], Derivation]] = {
    answers.managers.defaults: defaults,
    answers.bundles.locate: locate,
    answers.bundles.split: split,
    answers.bundles.split_candidates: split_candidates,
    answers.load_data.maximum: maximum,
    answers.load_data.nic: nic,
    answers.shedding.select: shed,
    answers.shedding.cycles: cycles,
    answers.placement.select: select,
    answers.placement.anti_affinity: anti_affinity,
    answers.placement.broker: broker,
    answers.managers.choose: lambda _context, case, release: managers.choose(
        case["conf"], case["dynamic"], release
    ),
    answers.load_data.read: lambda _context, case, release: reports.read(case, release),
}
"""The function that answers for a release, by the function for documents that it replaces."""


def answer_of_release(
    operation: str, context: Context, case: Case, release: ReleasedWays
) -> Derivation:
    """Return a release's answer; where the release follows the documents, the documented answer."""
    documented = answers.ANSWERS[operation]
    if operation == "report.due":
        return reports.due(context, case, release)
    if operation == policies.CHANGE:
        return policies.changed(context, case, release)
    if documented in RELEASE_ANSWERS:
        return RELEASE_ANSWERS[documented](context, case, release)
    return documented(context, case)
