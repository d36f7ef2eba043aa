"""`shed.cycles`: which bundles do the brokers of a cluster give up in cycles in a row?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.expect import Violated
from pulsar_conformance.conformance.core.operation import Naming, Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import cycle_settled
from pulsar_conformance.conformance.operations.balancing.shed_select import SHED, history_share
from pulsar_conformance.conformance.operations.clusters import bundles_of
from pulsar_conformance.conformance.operations.examples import LEFT, RIGHT, broker, bundle_data
from pulsar_conformance.conformance.views import Unloading, Unloadings
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.rows import Row
from pulsar_conformance.reference.shedding import STRATEGY


def _legal(case: Json, settings: Settings) -> Problems:
    first, *later = case["cycles"]
    for place, cycle in enumerate(case["cycles"]):
        where = f"case.cycles[{place}]"
        alone = {**cycle, "strategy": case["strategy"]}
        for problem in SHED.legal(alone, settings):
            yield problem.replace("case", where, 1) if problem.startswith("case.") else problem
        for name, report in cycle["brokers"].items():
            if "usageHistory" in report:
                yield f"{where}.brokers.{name}: usageHistory is what the cycles before say"
        if cycle["brokers"].keys() != first["brokers"].keys():
            yield f"{where}.brokers: every cycle has the same brokers"
    if later and Row(case, settings, ANY).alone(0).strategy == "ThresholdShedder":
        yield from history_share(settings)


ANY = Readings({})
"""The strategy of a row depends on no reading."""


def _read(row: Row, answer: Json) -> Unloadings:
    """Each cycle as what was answered before left it. Errors: `Violated`."""
    found: list[Unloading] = []
    answered = answer["cycles"]
    if len(answered) != len(row):
        raise Violated(f"{len(row)} cycles, as asked", f"{len(answered)} cycles")
    for one in answered:
        cycle = row.after([[bundle for _, bundle in earlier.pairs] for earlier in found])
        pairs = tuple((each["broker"], each["bundle"]) for each in one["unload"])
        found.append(Unloading(cycle, pairs))
    return Unloadings(tuple(found))


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares the bundles of each broker in order, cycle by cycle."""
    same = len(allowed["cycles"]) == len(answer["cycles"])
    return same and all(map(SHED.matches, allowed["cycles"], answer["cycles"]))


def _named(case: Json, answer: Json) -> list[Naming]:
    unload = [one for cycle in answer["cycles"] for one in cycle["unload"]]
    cycles = case["cycles"]
    return [
        Naming([one["broker"] for one in unload], [b for one in cycles for b in one["brokers"]]),
        Naming([one["bundle"] for one in unload], {b for one in cycles for b in bundles_of(one)}),
    ]


def _same(_case: Json, answer: Json) -> object:
    return [sorted((x["broker"], x["bundle"]) for x in one["unload"]) for one in answer["cycles"]]


def _settled(row: Row, readings: Readings) -> bool:
    """The first cycle leaves one answer, and so does each later one whatever those before did.

    What a later cycle decides hangs on the mixture of usages where the strategy keeps any.
    """
    alone = [row.alone(place) for place in range(len(row))]
    mixed = len(alone) > 1 and alone[0].strategy == "ThresholdShedder"
    return not mixed and all(cycle_settled(one, readings) for one in alone)


def _example(*cpus: float) -> Json:
    return {
        "strategy": "OverloadShedder",
        "settings": {},
        "cycles": [
            {
                "minutes": 5.0 if place else 0.0,
                "brokers": {
                    "broker-1": broker(cpu, 4, [LEFT, RIGHT]),
                    "broker-2": broker(10.0, 0, []),
                },
                "bundles": bundle_data(),
                "recentlyUnloaded": {},
            }
            for place, cpu in enumerate(cpus)
        ],
    }


CYCLES = Operation(
    id="shed.cycles",
    view=Row,
    read=_read,
    matches=_matches,
    examples=(_example(95.0, 95.0), _example(50.0, 95.0)),
    legal=_legal,
    names=frozenset({"brokers", "bundles", "recentlyUnloaded"}),
    named=_named,
    same=_same,
    settled=_settled,
    in_rows=True,
    said_by_case={STRATEGY: "strategy"},
)
