"""OverloadShedder as it is released."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.numbers import Fraction, plain, throughput
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.released.loads import as_percent
from pulsar_conformance.reference.released.looking import Glance, Sheds, keeps, taken, told

MARGIN = 0.05
"""The share that is shed beyond the excess."""


@dataclass(frozen=True)
class _Excess:
    """How far one broker is over the threshold."""

    usage: float
    resource: str
    threshold: float
    need: float


def sheds(look: Glance) -> Iterator[Sheds]:
    """What each broker gives up."""
    for broker in look.known.brokers:
        excess = _excess(look, broker)
        over = excess.usage >= excess.threshold and len(look.known.owned(broker)) > 1
        chosen = taken(look, _eligible(look, broker), excess.need) if over else []
        yield Sheds(broker, tuple(chosen), partial(_steps, look, broker, excess, chosen))


def _eligible(look: Glance, broker: str) -> list[str]:
    if look.known.way("overload-bundles") == "of-everyone":
        return look.free(look.known.bundles)
    return look.free_of(broker)


def _excess(look: Glance, broker: str) -> _Excess:
    known = look.known
    usage, resource = known.usage(broker, known.way("overload-usage") == "weighted")
    threshold = known.number(OVERLOAD_THRESHOLD) / 100.0
    need = known.carries(broker, "msgThroughput") * (usage - threshold + MARGIN)
    return _Excess(usage, resource, threshold, need)


def _steps(look: Glance, broker: str, excess: _Excess, chosen: list[str]) -> Iterator[Step]:
    known, release = look.known, look.known.release
    yield Step("usage", f"{plain(as_percent(excess.usage))} % of {excess.resource}")
    if known.way("heap-memory") != "counted":
        yield Step("but for", f"heap memory ({release.place('heap-memory')})")
    if known.way("overload-usage") == "weighted":
        yield Step("weighted", f"by its resource's weight ({release.place('overload-usage')})")
    yield Step("threshold", f"{plain(as_percent(excess.threshold))} %")
    if excess.usage < excess.threshold:
        yield from keeps(look, broker, f"{broker} is not overloaded")
        return
    if len(known.owned(broker)) <= 1:
        yield from keeps(look, broker, f"{broker} has fewer than 2 bundles")
        return
    share = plain(as_percent(excess.usage - excess.threshold + MARGIN))
    of, need = throughput(Fraction(known.carries(broker, "msgThroughput"))), Fraction(excess.need)
    sums = f"({plain(as_percent(excess.usage))} - {plain(as_percent(excess.threshold))}) + 5"
    yield Step("to shed", f"{sums} = {share} % of {of} = {throughput(need)}")
    if known.way("overload-bundles") == "of-everyone":
        yield Step("bundles", f"those of every broker ({release.place('overload-bundles')})")
    yield from told(look, _eligible(look, broker), known.owned(broker), chosen)
