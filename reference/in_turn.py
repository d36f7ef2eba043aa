"""A leader that decides one shedding cycle after another, in constant time per cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.reference.answers.shedding import select
from pulsar_conformance.reference.context import Case, Context
from pulsar_conformance.reference.numbers import ZERO, Minutes, exact
from pulsar_conformance.reference.sequences import Past
from pulsar_conformance.reference.shedding import DELAY, LIFETIME, TRANSFER_SHEDDER, Cycle
from pulsar_conformance.reference.threshold import Levels
from pulsar_conformance.reference.transfer import MINUTE, hits_after
from pulsar_conformance.reference.uniform import AVERAGE_HIGH_HITS, AVERAGE_LOW_HITS


@dataclass
class CyclesInTurn:
    """A leader that follows the documents and remembers only what affects later cycles.

    Its answers equal those to a `shed.cycles` case that contains all cycles so far.
    """

    context: Context
    _earlier: list[Any] = field(default_factory=list)
    _unloaded: dict[str, Minutes] = field(default_factory=dict)
    """Minutes since each bundle's last unload."""

    def __call__(self, case: Case, minutes: float) -> dict[str, Any]:
        """Return the answer about a cycle that runs `minutes` minutes after the previous cycle.

        `case` is a `shed.select` case in which brokers report their earlier usage as
        `usageHistory`.
        """
        passed = exact(minutes)
        self._unloaded = {name: ago + passed for name, ago in self._unloaded.items()}
        self._earlier = [older_record(one, passed) for one in self._earlier]
        seen = {**case, "recentlyUnloaded": self._unloaded, "earlier": self._earlier}
        answer = dict(select(self.context, seen).answer)
        unloads = tuple(one["bundle"] for one in answer.get("unload", ()))
        self._unloaded |= dict.fromkeys(unloads, ZERO)
        cycle = Cycle(seen, self.context.settings(case), self.context.readings)
        keep = keep_transfers if cycle.strategy == TRANSFER_SHEDDER else _keep_usages
        self._earlier = keep(self._earlier, cycle, unloads)
        return answer


def older_record(record: Any, minutes: Minutes) -> Any:
    """Return a copy of an earlier cycle's record that is `minutes` older."""
    return record._replace(ago=record.ago + minutes) if isinstance(record, Past) else record


def keep_transfers(earlier: list[Any], cycle: Cycle, unloads: tuple[str, ...]) -> list[Any]:
    """Return the records that TransferShedder's next cycle needs: of this cycle and of recent
    unloads.
    """
    hits = earlier[-1].hits if earlier else 0
    now = Past(cycle, unloads, ZERO)
    longest = cycle.settings.number(DELAY) + cycle.settings.number(LIFETIME)
    recent = [one for one in earlier if one.unloads and one.ago * MINUTE < longest]
    return [*recent, now._replace(hits=hits_after(now, earlier, hits))]


def _keep_usages(earlier: list[Any], cycle: Cycle, unloads: tuple[str, ...]) -> list[Any]:
    """Return the records that AvgShedder's next cycle needs: one more than the hits required."""
    times = (AVERAGE_LOW_HITS, AVERAGE_HIGH_HITS)
    most = max(int(cycle.settings.number(one)) for one in times) + 1
    return [*earlier, (Levels(cycle).present, bool(unloads))][-most:]
