"""The simulation loop, in which an implementation's decisions change the next question to it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from pulsar_conformance.audit.simulation.course import (
    FAILOVER,
    SHEDDING,
    BundleMove,
    SimulatedCourse,
    SimulatedCycle,
)
from pulsar_conformance.audit.simulation.leader import LeaderMemory, throughput_of
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    Rates,
    SimulatedBundle,
    SimulatedWorld,
    scaled_rates,
)
from pulsar_conformance.reference.answers.bundles import SPLIT_CANDIDATES
from pulsar_conformance.reference.answers.placement import PLACE
from pulsar_conformance.reference.answers.shedding import CYCLES, SHED
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.placement import PLACEMENT_STRATEGY
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import STRATEGY, TRANSFER_SHEDDER
from pulsar_conformance.reference.splitting import middle_by_size
from pulsar_conformance.specs import load

CLIENTS_OF_TOPIC = 2
ITSELF, OTHERS, LEAST_USED = "itself", "others", "least-used"
PLACING: Mapping[str, str] = {
    ITSELF: "the implementation chooses among all brokers; a bundle whose owner it chooses stays, "
    "or returns if the release chooses only after the unload",
    OTHERS: "the implementation chooses among the brokers other than the former owner",
    LEAST_USED: "the world chooses the least used broker, which may be the former owner",
}
"""Ways to choose the broker for an unloaded bundle, by the name that users give."""

DECLINED = ("failed", "refused", "unsupported")
"""Keys of replies that contain no answer."""

PLANNING = ("AvgShedder",)
REMEMBERING = (*PLANNING, TRANSFER_SHEDDER)
"""Strategies with a memory of earlier cycles; those in `PLANNING` also choose destinations."""

DESTINATION, ASKED = "destination", "asked"
"""Question and alternative of releases that place before they unload, and reserve no load."""

KEEPS_AVERAGES = "released-2.4"
"""The only release whose leader keeps the averages of a bundle that no broker reports."""


class Decider(Protocol):
    """An implementation that answers questions: a connection to it, or the model itself."""

    adapter: str

    def ask(self, operation: str, cases: Sequence[Json]) -> Sequence[Mapping[str, Any]]:
        """Return an answer for each case."""

    def in_turn(self) -> Callable[[Json, float], Json] | None:
        """Return a leader that decides one cycle after another; None if there is none."""


@dataclass(frozen=True)
class Deciding:
    """How an implementation is asked.

    If `remembers` is true, the strategy has a memory of its own. The implementation's leader is
    then asked cycle by cycle or, if it has none, `shed.cycles` is asked about all cycles so far.
    Such a strategy also plans where its unloads go, internally or by naming the next owner. It may
    decline to place other bundles, which then go to the least used broker.

    If `reserves`, a shed bundle counts at its new broker when the next bundle of the cycle is
    placed; otherwise the reports alone decide. If `returns`, a bundle is unloaded even if its
    broker gets it back. If `forgets`, an unreported bundle has no averages. If `without_heap`, heap
    memory is not load. `hidden` are values of undocumented settings that neither the world nor
    `settings` set.
    """

    strategy: str | None
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]
    placing: str = ITSELF
    remembers: bool = False
    reserves: bool = True
    returns: bool = False
    forgets: bool = False
    without_heap: bool = False
    hidden: Mapping[str, Any] = field(default_factory=dict)


def deciding_by(
    strategy: str,
    settings: Mapping[str, Any],
    placing: str,
    profile: str,
    released: str | None,
    operations: Collection[str],
) -> Deciding:
    """Return how to ask an implementation that offers these operations.

    `profile` gives the documented defaults, `released` those of undocumented settings.
    """
    known = load().profile(released) if released else None
    asks = known is not None and known.ways.get(DESTINATION) == ASKED
    placed = {PLACEMENT_STRATEGY: strategy} if strategy in PLANNING else {}
    return Deciding(
        strategy,
        {**settings, STRATEGY: strategy, **placed},
        load().defaults(profile),
        placing if PLACE in operations else LEAST_USED,
        strategy in REMEMBERING and CYCLES in operations,
        not asks,
        known is not None and not asks,
        known is not None and known.id != KEEPS_AVERAGES,
        known is not None and known.ways["heap-memory"] == "left-out",
        known.hidden if known else {},
    )


class Simulation:
    """The state of a simulated world: owners of bundles, running brokers, leader."""

    def __init__(self, world: SimulatedWorld, deciding: Deciding, connection: Decider) -> None:
        self.world, self.deciding, self.connection = world, deciding, connection
        self.settings = {**deciding.hidden, **world.settings, **deciding.settings}
        self.minutes = world.minutes_of_cycle(self.settings)
        self.leader = LeaderMemory(
            self.settings, deciding.defaults, self._minutes_at, deciding.without_heap
        )
        self.up = {one.name: one.up for one in world.brokers}
        self.bundles = {one.name: one for one in world.bundles}
        self.owner = {one.name: one.owner for one in world.bundles}
        self._broker = {one.name: one for one in world.brokers}
        self._number = {one.name: place for place, one in enumerate(world.bundles)}
        self._asked: list[Json] = []
        self._in_turn = connection.in_turn() if deciding.remembers else None
        self._recorded = {(one.cycle, one.bundle): one.target for one in world.unloads}
        self._refused: list[str] = []
        self._kept = 0
        way = world.ways.get(DESTINATION)
        self._returns = way != ASKED if way else deciding.returns
        for one in world.bundles:
            if not one.recorded:
                self.leader.establish(one.name, self._rates(one, 0))

    def run(self, cycles: int, variant: str) -> SimulatedCourse:
        """Simulate a number of cycles.

        Errors: `BadWorld` if the implementation gives no answer, `AdapterError`.
        """
        return self.course([self.cycle(number) for number in range(cycles)], variant)

    def course(self, cycles: Sequence[SimulatedCycle], variant: str) -> SimulatedCourse:
        """Return the course of these cycles, with the strategy and the settings that applied."""
        used = (self.world, variant, self.deciding.strategy, self.settings, self.minutes)
        return SimulatedCourse(*used, tuple(cycles), self.leader.question)

    def cycle(self, cycle: int) -> SimulatedCycle:
        """Simulate the cycle with this number; the first is 0. Errors: those of `run`."""
        self._refused, self._kept = [], 0
        self._apply_events(cycle)
        rates = {name: self._rates(one, cycle) for name, one in self.bundles.items()}
        brokers = self._reports(rates)
        left = self._release_bundles_of_absent_brokers()
        moves = self._place_bundles(cycle, left, brokers, FAILOVER)
        if moves:
            brokers = self._reports(rates)
        for name, now in rates.items():
            self.leader.sample(name, now)
        splits = self._split(cycle, brokers, rates) if self.world.topics_each_cycle else {}
        if splits:
            brokers = self._reports(rates)
        moves += self._shed(cycle, brokers)
        carried = {name: throughput_of(said) for name, said in brokers.items()}
        return SimulatedCycle(
            cycle,
            {name: self.leader.usage(self._broker[name], carried[name]) for name in brokers},
            sum(one[2] + one[3] for one in rates.values()),
            sum(carried.values()),
            tuple(moves),
            splits,
            dict(self.owner),
            tuple(self._refused),
            self._kept,
            self.leader.weighted_usages(brokers) if moves else {},
            self.leader.decided,
        )

    def _minutes_at(self, cycle: int) -> float:
        return self.world.minutes_at(cycle, self.minutes)

    def _rates(self, bundle: SimulatedBundle, cycle: int) -> Rates:
        if bundle.recorded:
            return bundle.recorded[min(cycle, len(bundle.recorded) - 1)]
        if self.world.shape is None:
            return bundle.rates
        return scaled_rates(bundle.rates, self.world.shape(self._number[bundle.name], cycle))

    def _apply_events(self, cycle: int) -> None:
        for event in self.world.events:
            if event.cycle == cycle:
                self.up[event.broker] = event.up

    def _release_bundles_of_absent_brokers(self) -> list[str]:
        """Remove the owner of each bundle whose broker is down or unknown; return these bundles."""
        found = [name for name, owner in self.owner.items() if not self.up.get(owner or "", False)]
        for name in found:
            self.owner[name] = None
            if self.deciding.forgets:
                self.leader.data.pop(name, None)
        return found

    def _topics(self, name: str, cycle: int) -> int:
        return self.bundles[name].topics + cycle * self.world.topics_each_cycle

    def _reports(self, rates: Mapping[str, Rates]) -> dict[str, Json]:
        """Return the load report of each running broker."""
        owned: dict[str, list[str]] = defaultdict(list)
        for name, owner in self.owner.items():
            owned[owner or ""].append(name)
        brokers = {}
        for broker in self.world.brokers:
            if self.up[broker.name]:
                names = sorted(owned[broker.name])
                columns = zip(*(rates[name] for name in names), strict=True)
                sums = [sum(column) for column in columns] or [0.0] * len(RATE_FIELDS)
                used = broker.percents(sums[2] + sums[3])
                brokers[broker.name] = {
                    **{what: {"usage": usage, "limit": 100} for what, usage in used.items()},
                    **dict(zip(RATE_FIELDS, sums, strict=True)),
                    "bundles": names,
                }
        return brokers

    def _shed(self, cycle: int, brokers: dict[str, Json]) -> list[BundleMove]:
        """Carry out the unloads of a cycle; return the moves of the bundles."""
        bundles, named = [], {}
        for one in self._unloads(cycle, brokers):
            broker, bundle = one["broker"], one["bundle"]
            if self.deciding.placing == ITSELF and "to" in one:
                named[bundle] = one["to"]
            if self.owner.get(bundle, "") != broker:
                owner = self.owner.get(bundle, "no broker")
                self._refused.append(f"{broker} unloads {bundle}, which {owner} owns")
            elif bundle not in bundles:
                bundles.append(bundle)
        moves = self._place_bundles(cycle, bundles, brokers, SHEDDING, named)
        if self.deciding.placing == ITSELF and not self._returns:
            moves, placed = [one for one in moves if one.target != one.source], len(moves)
            self._kept = placed - len(moves)
        for move in moves:
            self.leader.unloaded[move.bundle] = cycle
        return moves

    def _unloads(self, cycle: int, brokers: dict[str, Json]) -> list[dict[str, str]]:
        case = self.leader.shedding_question(cycle, self.deciding.strategy, brokers)
        passed = self._minutes_at(cycle) - self._minutes_at(cycle - 1) if cycle else self.minutes
        if self._in_turn is not None:
            answer = self._checked_answer(CYCLES, self._in_turn(case, passed))
        elif not self.deciding.remembers:
            answer = self._ask(SHED, case)
        else:
            now = {"minutes": passed, "brokers": brokers, "bundles": case["bundles"]}
            self._asked.append({**now, "recentlyUnloaded": {}})
            whole = {"strategy": self.deciding.strategy, "settings": self.settings}
            answer = self._ask(CYCLES, {**whole, "cycles": self._asked})["cycles"][-1]
        return list(answer["unload"])

    def _ask(self, operation: str, case: Json) -> Json:
        return self._checked_answer(operation, self.connection.ask(operation, [case])[0])

    def _checked_answer(self, operation: str, answer: Mapping[str, Any]) -> Json:
        reason = next((answer[how] for how in DECLINED if how in answer), None)
        if reason is not None:
            name = self.connection.adapter
            raise BadWorld(f"{name} does not answer {operation} in {self.world.name}: {reason}")
        return dict(answer)

    def _place_bundles(
        self,
        cycle: int,
        bundles: list[str],
        brokers: dict[str, Json],
        why: str,
        named: Mapping[str, str] = MappingProxyType({}),
    ) -> list[BundleMove]:
        """Assign bundles, one after another, to the brokers that are named or chosen for them."""
        assigned: dict[str, list[str]] = defaultdict(list)
        reserves = self.deciding.reserves or why != SHEDDING
        moves = []
        for bundle in bundles:
            source = self.owner[bundle]
            target = named.get(bundle) or self._choose_broker(bundle, brokers, assigned)
            if target is not None and target not in brokers:
                self._refused.append(f"{bundle} is placed on {target}, which is not up")
                target = None
            known = self._recorded if why == SHEDDING else self.world.assigned
            recorded = known.get((cycle, bundle))
            if recorded and self.leader.is_tie(target, recorded, self.owner):
                target = recorded
            if reserves and target is not None and target != source:
                assigned[target].append(bundle)
            self.owner[bundle] = target
            clients = self._topics(bundle, cycle) * CLIENTS_OF_TOPIC
            moves.append(BundleMove(cycle, bundle, source, target, why, clients))
        return moves

    def _choose_broker(
        self, bundle: str, brokers: dict[str, Json], assigned: Mapping[str, list[str]]
    ) -> str | None:
        placing, owner = self.deciding.placing, self.owner[bundle]
        others = [name for name in brokers if name != owner]
        among = others if placing == OTHERS and others else list(brokers)
        if not among:
            return None
        if placing != LEAST_USED:
            case = self.leader.placing_question(bundle, among, brokers, assigned)
            answer = self.connection.ask(PLACE, [case])[0]
            if "broker" in answer or not self.deciding.remembers:
                found: str | None = self._checked_answer(PLACE, answer)["broker"]
                return found
        return min(among, key=lambda name: (self._expected_usage(name), name))

    def _expected_usage(self, name: str) -> float:
        """Return a broker's usage by the averages of all bundles that it owns now."""
        names = (bundle for bundle, owner in self.owner.items() if owner == name)
        known = (self.leader.data[one]["shortTermData"] for one in names if one in self.leader.data)
        return self.leader.usage(self._broker[name], sum(map(throughput_of, known)))

    def _split(
        self, cycle: int, brokers: dict[str, Json], rates: dict[str, Rates]
    ) -> dict[str, tuple[str, ...]]:
        """Split the bundles that the implementation chooses; return the halves of each."""
        stats = {name: self._stats(name, cycle, rates) for name in self.bundles}
        seen = {
            name: {**said, "lastStats": {one: stats[one] for one in said["bundles"]}}
            for name, said in brokers.items()
        }
        case = {
            "settings": self.settings,
            "leader": True,
            "brokers": seen,
            "bundles": dict(self.leader.data),
            "namespaceBundles": dict(Counter(map(namespace_of, self.bundles))),
        }
        chosen = self._ask(SPLIT_CANDIDATES, case)["split"]
        unknown = [name for name in chosen if name not in self.bundles]
        self._refused += [f"{name} is to be split, but there is no such bundle" for name in unknown]
        known = [name for name in dict.fromkeys(chosen) if name in self.bundles]
        divisible = [name for name in known if HashRange.parse(name).width > 1]
        return {name: self._halve_bundle(name, cycle, rates) for name in divisible}

    def _stats(self, name: str, cycle: int, rates: Mapping[str, Rates]) -> Json:
        topics = self._topics(name, cycle)
        counts = {"topics": topics, "producerCount": topics // 2, "consumerCount": topics // 4}
        return {**dict(zip(RATE_FIELDS, rates[name], strict=True)), **counts}

    def _halve_bundle(self, name: str, cycle: int, rates: dict[str, Rates]) -> tuple[str, ...]:
        """Replace a bundle by two halves, which stay on its broker and share its traffic."""
        whole, bundle, owner = HashRange.parse(name), self.bundles.pop(name), self.owner.pop(name)
        topics, number = self._topics_at_split(bundle, cycle), self._number.pop(name)
        carried = self._divide_rates(number, bundle.rates)
        now = self._divide_rates(number, rates.pop(name))
        self.leader.forget(name)
        halves = whole.cut([middle_by_size(whole)])
        parts = tuple(f"{namespace_of(name)}/{part.name}" for part in halves)
        for part, usual, present in zip(parts, carried, now, strict=True):
            self.bundles[part] = SimulatedBundle(part, owner, usual, topics)
            self.owner[part], rates[part] = owner, present
            self._number[part] = number
            self.leader.sample(part, present)
        return parts

    def _divide_rates(self, number: int, rates: Rates) -> tuple[Rates, Rates]:
        """Return the rates of two halves; those of a single busy topic stay in the first half."""
        if number == self.world.hot:
            return rates, (0.0, 0.0, 0.0, 0.0)
        messages_in, messages_out, bytes_in, bytes_out = rates
        half = messages_in / 2, messages_out / 2, bytes_in / 2, bytes_out / 2
        return half, half

    def _topics_at_split(self, bundle: SimulatedBundle, cycle: int) -> int:
        """Return the topics that a half must have in cycle 0 to have half of the bundle's now."""
        grown = cycle * self.world.topics_each_cycle
        return (bundle.topics + grown) // 2 - grown
