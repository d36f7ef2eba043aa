"""Answers of a release where it differs from its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pulsar_conformance.reference import bundles
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.context import Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.ranges import FULL_UPPER, hash_of, hex_of
from pulsar_conformance.reference.released.assignment import (
    DOMAINS,
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
from pulsar_conformance.reference.settings import Value
from pulsar_conformance.reference.shedding import STRATEGY

PARTS_OF_TOPIC = 2
"""Slashes in the name of a topic after its domain."""
NO_CANDIDATES = "division by the number of candidates, 0"
EMPTIEST = "LoadManagerShared.filterDomainsNotHavingLeastNumberAntiAffinityNamespaces"


def maximum(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The usage that a release's strategies compare."""
    one = {"brokers": {"broker": case["broker"]}, "bundles": {}}
    known = Leader(one, context.settings(case), release)
    if case["weighted"] and release.ways["shedders"] == "overload":
        return Derivation({"unsupported": f"'{release.title}': there are no weights"}, tuple)
    weighted = case["weighted"] or release.ways["overload-usage"] == "weighted"
    share, resource = known.usage("broker", weighted)

    def explain() -> Iterator[Step]:
        for name, percent in known.percents("broker").items():
            weighed = f" x {plain(Fraction(known.weight(name)))}" if weighted else ""
            yield Step(name, f"{plain(Fraction(percent))} %{weighed}")
        if release.ways["heap-memory"] != "counted":
            yield Step("but for", f"heap memory ({release.place('heap-memory')})")
        yield Step("maximum", f"{plain(as_percent(share))} % of {resource if share else 'nothing'}")

    return Derivation({"percent": share * 100, "resource": resource if share else None}, explain)


def speed_of(reported: Fraction | None, release: ReleasedWays | None) -> Fraction | None:
    """Convert the reported speed of a network card as a release does."""
    binary = release is not None and release.ways["reported-speed"] == "binary"
    return reported * 1000 / 1024 if binary and reported is not None else reported


def _failed(why: str) -> tuple[Step]:
    return (Step("failed", why),)


def old_topic(case: Case, release: ReleasedWays | None) -> Derivation | None:
    """Return the failure for a topic with a cluster in its name; None if there is none."""
    if release is None or release.ways["old-names"] != "refused":
        return None
    for topic in case["topics"]:
        _, _, name = topic.partition("://")
        if name.count("/") > PARTS_OF_TOPIC:
            why = f"{topic} is not tenant/namespace/topic ({release.place('old-names')})"
            return Derivation({"failed": why}, partial(_failed, why))
    return None


def nowhere(context: Context, case: Case) -> Derivation | None:
    """Return the failure for topics without a bundle in a release; None if all have one."""
    release, counted = context.release, bundles.COUNTED[context.readings["partitions"]]
    if release is None or release.ways["top-hash"] == "last":
        return None
    lost = [topic for topic in case["topics"] if hash_of(counted(topic)[0]) == FULL_UPPER]
    if not lost:
        return None
    why = f"no bundle begins at {hex_of(FULL_UPPER)} ({release.place('top-hash')})"
    return Derivation({"failed": why}, lambda: (Step(topic, why) for topic in lost))


def defaults(context: Context, release: ReleasedWays) -> Mapping[str, Value]:
    """The defaults of the settings that a release has."""
    without = STRATEGY if release.ways["shedders"] == "overload" else None
    return {name: value for name, value in context.defaults.items() if name != without}


def split_candidates(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The bundles that a release's leader splits, and those whose parts it unloads."""
    task = SplitterTask(Leader(case, context.settings(case), release))
    decided = {"split": list(task.split), "unload": list(task.unload)}
    return Derivation(decided, task.steps)


def select(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The choice of a release's placement strategy; equal candidates take turns."""
    known = Leader(case, context.settings(case), release)
    placing = ReleasedPlacement(known, tuple(case["candidates"]))
    if placing.strategy not in CHOICE:
        why = f"the model does not foresee {placing.strategy} under '{release.title}'"
        return Derivation({"unsupported": why}, lambda: (Step("refused", why),))
    if placing.fails:
        return Derivation({"failed": NO_CANDIDATES}, placing.steps)
    best = placing.best
    nth = context.turn(case) if len(best) > 1 else 0
    return Derivation({"broker": best[nth % len(best)] if best else None}, placing.steps)


def broker(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The broker that a release's load manager assigns; equal candidates take turns."""
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
    """The candidates that a release's filter leaves."""
    spread = Spread.of(case, "candidates")
    served = {name: case["owned"].get(name, ()) for name in case["candidates"]}
    group = group_of(spread.groups, spread.namespace)
    count = {
        name: members(spread.groups, spread.namespace, owned) for name, owned in served.items()
    }
    home = spread.home if context.settings(case).given.get(DOMAINS, True) else {}
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
