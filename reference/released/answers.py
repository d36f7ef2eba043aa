"""Answers of a release where it differs from its documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import bundles, managers, splitting
from pulsar_conformance.reference.anti_affinity import Spread
from pulsar_conformance.reference.context import Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import Fraction, plain
from pulsar_conformance.reference.ranges import FULL_UPPER, hash_of, hex_of
from pulsar_conformance.reference.released.assignment import (
    DOMAINS,
    ReleasedAssignment,
    emptiest_domains,
    fewest,
)
from pulsar_conformance.reference.released.growth import FEWEST, SplitterTask
from pulsar_conformance.reference.released.loads import Leader, as_percent
from pulsar_conformance.reference.released.placement import ReleasedPlacement
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.settings import Value
from pulsar_conformance.reference.shedding import STRATEGY

DEFAULT = "defaultNamespaceBundleSplitAlgorithm"
SUPPORTED = "supportedNamespaceBundleSplitAlgorithms"
"""The setting with the algorithms that an administrator may request."""

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


def parts(
    split: splitting.Split, algorithm: str, release: ReleasedWays | None
) -> Derivation | None:
    """Return the parts as a release cuts them; None if it does as documented."""
    if release is None:
        return None
    if algorithm == splitting.TOPICS:
        return _halves(split, release)
    if algorithm == splitting.POSITIONS:
        return _at_positions(split, release)
    return None


def algorithm_of(context: Context, case: Case, release: ReleasedWays) -> str:
    """Return the algorithm that a release uses. Errors: `Refused` if it rejects the request."""
    if release.ways["split-algorithms"] == "range":
        return splitting.RANGE
    _refuse_unsupported(context, case, release)
    settings, asked = context.settings(case), case["algorithm"]
    by_default = asked is None and settings.given.get(DEFAULT) == splitting.POSITIONS
    by_itself = asked == splitting.POSITIONS and case["by"] != "admin"
    if by_default or by_itself:
        way = release.ways["default-positions"]
        if way == "range":
            return splitting.RANGE
        if way == "followed" and case["by"] == "admin" and case["positions"]:
            return splitting.POSITIONS
    return splitting.algorithm_of(asked, case["by"], settings, context.readings)


def _refuse_unsupported(context: Context, case: Case, release: ReleasedWays) -> None:
    """Errors: `Refused` if the release does not support the requested algorithm."""
    way, asked = release.ways["unsupported-algorithm"], case["algorithm"]
    supported = context.settings(case).given.get(SUPPORTED)
    if way == "followed" or case["by"] != "admin" or asked is None or supported is None:
        return
    if asked not in str(supported).split(","):
        after = ", and the bundle is split all the same" if way.endswith("followed") else ""
        place = release.place("unsupported-algorithm")
        raise Refused(f"{SUPPORTED} does not name {asked}{after} ({place})")


def _at_positions(split: splitting.Split, release: ReleasedWays) -> Derivation | None:
    """Return why a bundle is not divided at positions; None if it is."""
    if len(split.hashes) < FEWEST and release.ways["positions-for"] == "topics":
        why = f"it has fewer than {FEWEST} topics ({release.place('positions-for')})"
        whole = {"bundles": [split.bundle.name]}
        return Derivation(whole, lambda: (Step("stays whole", why),))
    counted = Counter(split.positions)
    twice = [one for one in split.inside(split.positions) if counted[one] > 1]
    if not (twice and release.ways["position-twice"] == "unanswered"):
        return None
    place = release.place("position-twice")
    why = f"{', '.join(map(hex_of, twice))} given twice: the request is never answered ({place})"
    return Derivation({"failed": why}, lambda: (Step("unanswered", why),))


def _halves(split: splitting.Split, release: ReleasedWays) -> Derivation | None:
    """Return two parts by topics; None if they are as documented."""
    if release.ways["topic-halves"] != "rounded-down":
        return None
    positions, (below, above) = [], (0, 0)
    if len(split.hashes) > 1:
        middle = len(split.hashes) // 2
        below, above = split.hashes[middle - 1], split.hashes[middle]
        positions = split.inside([below + (above - below) // 2])
    parts = split.bundle.cut(positions)

    def explain() -> Iterator[Step]:
        between = f"half-way between {hex_of(below)} and {hex_of(above)}, rounded down"
        where = ", ".join(map(hex_of, positions)) or "nowhere"
        yield Step("middle", f"{between}: {where} ({release.place('topic-halves')})")
        for part in parts:
            yield Step("part", part.name)

    return Derivation({"bundles": [part.name for part in parts]}, explain)


def manager_of(conf: str | None, dynamic: str | None, release: ReleasedWays) -> Derivation:
    """Return the load manager of a release's broker. Errors: `Refused` if none starts."""
    known = dict(managers.MANAGERS)
    if release.ways["extensible-class"] == "elsewhere":
        del known[managers.EXTENSIBLE]
    if dynamic is not None and dynamic not in known and _refused(release, "bad-dynamic-manager"):
        place = release.place("bad-dynamic-manager")
        raise Refused(f"no dynamic setting takes '{dynamic}' ({place})")
    written = conf or ""
    kept = release.ways["class-blanks"] == "kept" and written.strip()
    name = dynamic if dynamic is not None else written.lstrip() if kept else written.strip()
    if name and name not in known and _refused(release, "bad-manager"):
        raise Refused(f"no broker starts with '{name}' ({release.place('bad-manager')})")
    way = "bad-manager" if name else "no-manager"
    manager = known.get(name, release.ways[way])

    def explain() -> Iterator[Step]:
        yield Step("dynamic", dynamic or "names none")
        yield Step("broker.conf", conf or "names none")
        if name and name not in known:
            yield Step("in use", f"'{name}', which there is not: the {manager} one")
        elif not name:
            yield Step("in use", f"the default one ({release.place(way)})")
        yield Step("manager", manager)

    return Derivation({"manager": manager}, explain)


def _refused(release: ReleasedWays, way: str) -> bool:
    return release.ways[way] == "refused"


def select(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The choice of a release's placement strategy; equal candidates take turns."""
    placing = ReleasedPlacement(Leader(case, context.settings(case), release))
    best = placing.best
    nth = context.turn(case) if len(best) > 1 else 0
    return Derivation({"broker": best[nth % len(best)] if best else None}, placing.steps)


def broker(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The broker that a release's load manager assigns; equal candidates take turns."""
    assigning = ReleasedAssignment(case, context.settings(case), release)
    best = assigning.placing.best
    nth = context.turn(case) if len(best) > 1 else 0
    return Derivation({"broker": best[nth % len(best)] if best else None}, assigning.steps)


def anti_affinity(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """The candidates that a release's filter leaves."""
    spread = Spread.of(case, "candidates")
    served = {name: case["owned"].get(name, ()) for name in case["candidates"]}
    group = spread.group
    count = {
        name: sum(group is not None and spread.groups.get(one) == group for one in owned)
        for name, owned in served.items()
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
