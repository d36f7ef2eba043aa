"""The simulation loop: an implementation's decisions change its next question."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pulsar_conformance.audit.simulation.cluster.averages import FadingAverages
from pulsar_conformance.audit.simulation.cluster.leader import LeaderMemory, throughput_of
from pulsar_conformance.audit.simulation.cluster.state import (
    SimulatedCluster,
    halves_of,
    total_rates,
)
from pulsar_conformance.audit.simulation.course import (
    FAILOVER,
    SHEDDING,
    BundleMove,
    SimulatedCourse,
    SimulatedCycle,
)
from pulsar_conformance.audit.simulation.deciding import (
    ASKED,
    DESTINATION,
    ITSELF,
    LEAST_USED,
    OTHERS,
    REFERENCE,
    Decider,
    DecisionSetup,
)
from pulsar_conformance.audit.simulation.measures import is_quiet
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    Rates,
    SimulatedBundle,
    SimulatedWorld,
)
from pulsar_conformance.reference.answers.bundles import SPLIT_CANDIDATES
from pulsar_conformance.reference.answers.placement import PLACE
from pulsar_conformance.reference.answers.shedding import CYCLES, SHED
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.ranges import HashRange, namespace_of
from pulsar_conformance.reference.shedding import DELAY, HITS, LIFETIME
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.reference.uniform import AVERAGE_HIGH_HITS, AVERAGE_LOW_HITS
from pulsar_conformance.specs.text import counted

CLIENTS_OF_TOPIC = 2
MAX_FURTHER_CYCLES = 1000
"""Maximum number of cycles simulated after the last one to find later unloads."""

HITS_NEEDED = (HITS, AVERAGE_LOW_HITS, AVERAGE_HIGH_HITS)
"""Settings with the number of consecutive cycles after which a strategy unloads."""

SECONDS_KEPT = (DELAY, LIFETIME)
"""Settings whose sum is the time, in seconds, for which TransferShedder considers unloads."""

KEYS_WITHOUT_ANSWER = ("failed", "refused", "unsupported")
"""Keys that a reply has instead of an answer."""


class Simulation:
    """The state of a simulated world: owners of bundles, running brokers, leader."""

    def __init__(self, world: SimulatedWorld, deciding: DecisionSetup, connection: Decider) -> None:
        self.world, self.deciding, self.connection = world, deciding, connection
        self.settings = {**deciding.hidden, **world.settings, **deciding.settings}
        self.minutes = world.minutes_of_cycle(self.settings)
        self.averages = FadingAverages()
        known = (self.settings, deciding.defaults, self._minutes_at, self.averages)
        heap, twice = deciding.without_heap, deciding.smooths_twice
        self.leader = LeaderMemory(*known, without_heap=heap, smooths_twice=twice)
        brokers = ((one.name, one.up) for one in world.brokers)
        self.cluster = SimulatedCluster(brokers, world.bundles, world.shape)
        self.owner = self.cluster.owner
        self._broker = {one.name: one for one in world.brokers}
        self._asked: list[Json] = []
        self._in_turn = connection.in_turn() if deciding.remembers else None
        self._recorded = {(one.cycle, one.bundle): one.target for one in world.unloads}
        self._refused: list[str] = []
        self._kept, self._drawn = 0, set[str]()
        self._carried: tuple[Mapping[str, Rates], float] | None = None
        self._reported: tuple[Any, dict[str, Json]] | None = None
        way = world.ways.get(DESTINATION)
        self._returns = way != ASKED if way else deciding.returns
        for one in world.bundles:
            if not one.recorded:
                self.averages.establish(one.name, self.cluster.rates_of(one.name, 0))

    def run(self, cycles: int, variant: str) -> SimulatedCourse:
        """Simulate a number of cycles.

        Errors: `BadWorld` if the implementation gives no answer, `AdapterError`.
        """
        return self.finish([self.cycle(number) for number in range(cycles)], variant)

    def finish(self, cycles: Sequence[SimulatedCycle], variant: str) -> SimulatedCourse:
        """Return the course of these cycles, and in it whether the cluster has settled.

        In a static world, the cluster has settled if no further cycle unloads a bundle until
        everything that decisions depend on has converged. The further cycles are simulated to find
        out, so this simulation cannot be continued afterwards. Errors: those of `run`.
        """
        course = self.course(cycles, variant)
        if not course.world.is_static or not is_quiet(course):
            return course
        count = self.leader.cycles_until_converged() + self._remembered_cycles()
        if count > MAX_FURTHER_CYCLES:
            return course
        unload = self._next_unload(len(cycles), int(count))
        return replace(course, settled=unload is None, next_unload=unload)

    def course(self, cycles: Sequence[SimulatedCycle], variant: str) -> SimulatedCourse:
        """Return the course of these cycles, with the strategy and the settings that applied."""
        used = (self.world, variant, self.deciding.strategy, self.settings, self.minutes)
        return SimulatedCourse(*used, tuple(cycles), self.leader.question, self.leader.uncounted)

    def cycle(self, cycle: int) -> SimulatedCycle:
        """Simulate the cycle with this number; the first is 0. Errors: those of `run`."""
        self._refused, self._kept, self._drawn = [], 0, set()
        self.leader.question = {}  # So that averages are freed as soon as they are replaced.
        self.cluster.apply_events(self.world.events, cycle)
        rates = self.cluster.rates(cycle)
        brokers = self._reports(rates)
        left = self._release_bundles_of_absent_brokers()
        moves = self._place_bundles(cycle, left, brokers, FAILOVER)
        if moves:
            brokers = self._reports(rates)
        self.averages.sample(rates)
        splits: dict[str, tuple[str, ...]] = {}
        if self.world.topics_each_cycle:
            rates = dict(rates)
            splits = self._split(cycle, brokers, rates)
        if splits:
            brokers = self._reports(rates)
        moves += self._shed(cycle, brokers)
        carried = {name: throughput_of(said) for name, said in brokers.items()}
        return SimulatedCycle(
            cycle,
            {name: self.leader.usage(self._broker[name], carried[name]) for name in brokers},
            self._traffic(rates),
            sum(carried.values()),
            tuple(moves),
            splits,
            dict(self.owner),
            tuple(self._refused),
            self._kept,
            self.leader.weighted_usages(brokers) if moves else {},
            self.leader.decided,
            len(self._drawn),
        )

    def _remembered_cycles(self) -> int:
        """Return the number of cycles for which a cycle may affect decisions, apart from smoothed
        usage.
        """
        if not self.deciding.remembers:
            return 1
        known = {**self.deciding.defaults, **self.settings}
        hits, seconds = (
            [float(known.get(name) or 0) for name in names] for names in (HITS_NEEDED, SECONDS_KEPT)
        )
        return math.ceil(max(hits) + sum(seconds) / 60 / self.minutes) + 1

    def _next_unload(self, first: int, count: int) -> int | None:
        """Return the number of the first cycle with an unload among the `count` cycles from `first`
        on; None if they unload nothing.
        """
        if self.deciding.remembers and self._in_turn is None:
            same = {**self._asked[-1], "minutes": self.minutes}
            answers = self._ask_about_cycles([*self._asked, *[same] * count])
            unloads = (number for number, one in enumerate(answers) if one["unload"])
            return next((number for number in unloads if number >= first), None)
        further = range(first, first + count)
        return next((number for number in further if self.cycle(number).sheds), None)

    def _minutes_at(self, cycle: int) -> float:
        return self.world.minutes_at(cycle, self.minutes)

    def _release_bundles_of_absent_brokers(self) -> list[str]:
        """Remove the owner of each bundle whose broker is down or absent; return these bundles."""
        found = [name for name, owner in self.owner.items() if not self.cluster.up.get(owner or "")]
        for name in found:
            self.owner[name] = None
            if self.deciding.forgets:
                self.averages.pop(name, None)
        return found

    def _topics(self, name: str, cycle: int) -> int:
        return self.cluster.bundles[name].topics + cycle * self.world.topics_each_cycle

    def _traffic(self, rates: Mapping[str, Rates]) -> float:
        """Return the bytes per second of all bundles, computed once for the same `rates`."""
        if self._carried is None or self._carried[0] is not rates:
            self._carried = rates, sum(one[2] + one[3] for one in rates.values())
        return self._carried[1]

    def _reports(self, rates: Mapping[str, Rates]) -> dict[str, Json]:
        """Return each running broker's load report; the previous reports if nothing has changed."""
        owned, up = self.cluster.owned_bundles(), self.cluster.running()
        now = rates, owned, up
        if self._reported is not None:
            before, reports = self._reported
            if before[0] is rates and before[1:] == now[1:]:
                return reports
        brokers = {}
        for name in up:
            names = sorted(owned[name])
            sums = total_rates(rates[bundle] for bundle in names)
            used = self._broker[name].percents(throughput_of(sums))
            usages = {what: {"usage": usage, "limit": 100} for what, usage in used.items()}
            brokers[name] = {**usages, **sums, "bundles": names}
        self._reported = now, brokers
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
        case = self._shedding_question(cycle, brokers)
        passed = self._minutes_at(cycle) - self._minutes_at(cycle - 1) if cycle else self.minutes
        if self._in_turn is not None:
            answer = self._checked_answer(CYCLES, self._in_turn(case, passed))
        elif not self.deciding.remembers:
            answer = self._ask(SHED, case)
        else:
            now = {"minutes": passed, "brokers": brokers, "bundles": case["bundles"]}
            self._asked.append({**now, "recentlyUnloaded": {}})
            answer = self._ask_about_cycles(self._asked)[-1]
        self.leader.smooth_again(answer["unload"])
        return list(answer["unload"])

    def _ask_about_cycles(self, cycles: Sequence[Json]) -> list[Json]:
        """Return the answer about each of these cycles."""
        case = {"strategy": self.deciding.strategy, "settings": self.settings, "cycles": cycles}
        return list(self._ask(CYCLES, case)["cycles"])

    def _shedding_question(self, cycle: int, brokers: dict[str, Json]) -> Json:
        """Return a cycle's question about shedding. Errors: `BadWorld` if a usage is infinite."""
        if not self.leader.is_finite:
            problem = f"usage smoothed with this share is infinite after {counted(cycle, 'cycle')}"
            hint = f"give a share between 0 and 1, or at most --cycles {cycle}"
            raise BadWorld(f"{HISTORY_SHARE}={self.leader.history_share:g}: {problem}; {hint}")
        case = self.leader.shedding_question(cycle, self.deciding.strategy, brokers)
        self.leader.remember_usage(case)
        return case

    def _ask(self, operation: str, case: Json) -> Json:
        return self._checked_answer(operation, self.connection.ask(operation, [case])[0])

    def _checked_answer(self, operation: str, answer: Mapping[str, Any]) -> Json:
        reason = next((answer[how] for how in KEYS_WITHOUT_ANSWER if how in answer), None)
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
        """Assign bundles, one after another, to the brokers named or chosen for them."""
        assigned: dict[str, list[str]] = defaultdict(list)
        reserves = self.deciding.reserves or why != SHEDDING
        moves = []
        for bundle in bundles:
            source = self.owner[bundle]
            target = named.get(bundle) or self._choose_broker(bundle, brokers, assigned)
            if target is not None and target not in brokers:
                self._refused.append(f"{bundle} is placed on {target}, which is not running")
                target = None
            known = self._recorded if why == SHEDDING else self.world.assigned
            recorded = known.get((cycle, bundle))
            if recorded and self.leader.is_tie(target, recorded, self.owner):
                target = recorded
                self._drawn.discard(bundle)
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
            if (drawn := self.deciding.draw(case)) is not None:
                self._drawn.add(bundle)
                answer = {"broker": drawn} if self.connection.adapter == REFERENCE else answer
            if "broker" in answer or not self.deciding.remembers:
                found: str | None = self._checked_answer(PLACE, answer)["broker"]
                return found
        return min(among, key=lambda name: (self._expected_usage(name), name))

    def _expected_usage(self, name: str) -> float:
        """Return a broker's usage, computed from the averages of all bundles that it owns now."""
        names = (bundle for bundle, owner in self.owner.items() if owner == name)
        known = (self.leader.data[one]["shortTermData"] for one in names if one in self.leader.data)
        return self.leader.usage(self._broker[name], sum(map(throughput_of, known)))

    def _split(
        self, cycle: int, brokers: dict[str, Json], rates: dict[str, Rates]
    ) -> dict[str, tuple[str, ...]]:
        """Split the bundles chosen by the implementation into halves."""
        stats = {name: self._stats(name, cycle, rates) for name in self.cluster.bundles}
        seen = {
            name: {**said, "lastStats": {one: stats[one] for one in said["bundles"]}}
            for name, said in brokers.items()
        }
        case = {
            "settings": self.settings,
            "leader": True,
            "brokers": seen,
            "bundles": dict(self.leader.data),
            "namespaceBundles": dict(Counter(map(namespace_of, self.cluster.bundles))),
        }
        chosen = self._ask(SPLIT_CANDIDATES, case)["split"]
        unknown = [name for name in chosen if name not in self.cluster.bundles]
        self._refused += [f"{name} cannot be split: there is no such bundle" for name in unknown]
        known = [name for name in dict.fromkeys(chosen) if name in self.cluster.bundles]
        divisible = [name for name in known if HashRange.parse(name).width > 1]
        return {name: self._halve_bundle(name, cycle, rates) for name in divisible}

    def _stats(self, name: str, cycle: int, rates: Mapping[str, Rates]) -> Json:
        topics = self._topics(name, cycle)
        counts = {"topics": topics, "producerCount": topics // 2, "consumerCount": topics // 4}
        return {**dict(zip(RATE_FIELDS, rates[name], strict=True)), **counts}

    def _halve_bundle(self, name: str, cycle: int, rates: dict[str, Rates]) -> tuple[str, ...]:
        """Replace a bundle by two halves, which stay on its broker and share its traffic."""
        bundle, number = self.cluster.bundles[name], self.cluster.number[name]
        topics, parts = self._initial_topics_of_half(bundle, cycle), halves_of(name)
        carried = self._divide_rates(number, bundle.rates)
        now = dict(zip(parts, self._divide_rates(number, rates.pop(name)), strict=True))
        self.cluster.halve(
            name,
            [
                SimulatedBundle(part, bundle.owner, usual, topics)
                for part, usual in zip(parts, carried, strict=True)
            ],
        )
        self.averages.pop(name, None)
        self.leader.unloaded.pop(name, None)
        rates.update(now)
        self.averages.sample(now)
        return parts

    def _divide_rates(self, number: int, rates: Rates) -> tuple[Rates, Rates]:
        """Return the rates of two halves; rates of a single busy topic stay in the first half."""
        if number == self.world.hot:
            return rates, (0.0, 0.0, 0.0, 0.0)
        messages_in, messages_out, bytes_in, bytes_out = rates
        half = messages_in / 2, messages_out / 2, bytes_in / 2, bytes_out / 2
        return half, half

    def _initial_topics_of_half(self, bundle: SimulatedBundle, cycle: int) -> int:
        """Return the initial number of topics of a half: half of the bundle's topics in this cycle,
        less the topics that every bundle has gained since cycle 0.
        """
        grown = cycle * self.world.topics_each_cycle
        return (bundle.topics + grown) // 2 - grown
