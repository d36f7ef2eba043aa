"""A Hypothesis backend that only draws.

Hypothesis' own engine looks for failures: it mixes in constants of imported modules, and follows
each example with slightly changed copies. This backend draws each example afresh and evenly from
one source of randomness, so that the seed alone decides, and repeats none while others are left.
See "Alternative backends" in the documentation of Hypothesis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis.errors import BackendCannotProceed
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import (
    AVAILABLE_PROVIDERS,
    COLLECTION_DEFAULT_MAX_SIZE,
    PrimitiveProvider,
)
from hypothesis.internal.floats import make_float_clamper
from hypothesis.internal.intervalsets import IntervalSet

NAME = "pulsar-conformance"
"""What `settings(backend=...)` calls it."""

FEW = 256
"""Of so many choices at most, those that led nowhere new are remembered."""

UNBOUNDED = 128
"""Bits of an integer without bounds, at most."""

MORE = 0.8
"""The probability that a text or byte string goes on."""


@dataclass
class RandomSource:
    """The source of a test function's draws, and the result of the test."""

    seed: int = 0
    endless: bool = False
    """Whether there was a choice among more values than are worth counting."""


SOURCE: ContextVar[RandomSource | None] = ContextVar("SOURCE", default=None)
"""The source of the next test function; by default one of its own."""

T = TypeVar("T")


class _Branch:
    """The possible and the past choices at one place. Places with many choices never run out."""

    __slots__ = ("left", "next")

    def __init__(self, choices: int) -> None:
        self.left = list(range(choices))
        self.next: dict[int, _Branch] = {}


class Afresh(PrimitiveProvider):
    """Draws each example independently of all others."""

    lifetime = "test_function"

    def __init__(self, conjecturedata: ConjectureData | None, /) -> None:
        super().__init__(conjecturedata)
        self._source = SOURCE.get() or RandomSource()
        self._random = Random(self._source.seed)
        self._root: _Branch | None = None
        self._path: list[tuple[_Branch, int]] = []
        self._known = True
        self._ended = False

    @contextmanager
    def per_test_case_context_manager(self) -> Iterator[None]:
        """Records the choices on the way, so that they are not made again."""
        if self._ended:
            raise BackendCannotProceed("exhausted")
        self._path, self._known = [], True
        try:
            yield
        finally:
            self._close()

    def _close(self) -> None:
        """Removes an example from what is left, and each place where nothing is left."""
        if not self._known:
            self._source.endless = True
            return
        for branch, choice in reversed(self._path):
            branch.left.remove(choice)
            branch.next.pop(choice, None)
            if branch.left:
                return
        self._ended = True

    def _choose(self, choices: int, anyhow: Callable[[], int]) -> int:
        """One of `choices` choices: any, or an unused one if the drawn one is exhausted."""
        chosen = anyhow()
        self._known = self._known and choices <= FEW
        if not self._known:
            return chosen
        branch = self._branch(choices)
        if chosen not in branch.left:
            chosen = self._random.choice(branch.left)
        self._path.append((branch, chosen))
        return chosen

    def _branch(self, choices: int) -> _Branch:
        """The place that was reached."""
        if not self._path:
            self._root = self._root or _Branch(choices)
            return self._root
        before, chosen = self._path[-1]
        branch = before.next.get(chosen)
        if branch is None:
            branch = before.next[chosen] = _Branch(choices)
        return branch

    def draw_boolean(self, p: float = 0.5) -> bool:
        """True with about this probability; see `PrimitiveProvider`."""
        if p <= 0 or p >= 1:
            return p >= 1
        return bool(self._choose(2, lambda: int(self._random.random() < p)))

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,  # noqa: ARG002  Hypothesis' signature
        shrink_towards: int = 0,  # noqa: ARG002  Hypothesis' signature
    ) -> int:
        """Draws evenly between bounds, or any magnitude without bounds; see `PrimitiveProvider`."""
        if min_value is not None and max_value is not None:
            span = max_value - min_value + 1
            if span == 1:
                return min_value
            return min_value + self._choose(span, lambda: self._random.randrange(span))
        self._known = False
        size = self._random.getrandbits(self._random.randint(1, UNBOUNDED))
        if min_value is not None:
            return min_value + size
        if max_value is not None:
            return max_value - size
        return self._random.choice((size, -size))

    def draw_float(
        self,
        *,
        min_value: float = -math.inf,
        max_value: float = math.inf,
        allow_nan: bool = True,
        smallest_nonzero_magnitude: float,
    ) -> float:
        """Draws evenly between finite bounds, or any magnitude without; see `PrimitiveProvider`."""
        self._known = False
        special = [0.0, -0.0, min_value, max_value, *([math.nan] if allow_nan else ())]
        clamped = make_float_clamper(
            min_value,
            max_value,
            smallest_nonzero_magnitude=smallest_nonzero_magnitude,
            allow_nan=allow_nan,
        )
        if self._random.random() < 1 / 16:
            return clamped(self._random.choice(special))
        if math.isfinite(max_value - min_value):
            return clamped(self._random.uniform(min_value, max_value))
        size = math.ldexp(self._random.random(), self._random.randint(-1021, 1024))
        return clamped(self._random.choice((size, -size)))

    def draw_string(
        self,
        intervals: IntervalSet,
        *,
        min_size: int = 0,
        max_size: int = COLLECTION_DEFAULT_MAX_SIZE,
    ) -> str:
        """Draws any of the allowed characters; see `PrimitiveProvider`."""
        if not intervals:
            return ""
        letters = range(len(intervals))
        return "".join(map(intervals.char_in_shrink_order, self._some(letters, min_size, max_size)))

    def draw_bytes(self, min_size: int = 0, max_size: int = COLLECTION_DEFAULT_MAX_SIZE) -> bytes:
        """Draws any bytes; see `PrimitiveProvider`."""
        return bytes(self._some(range(256), min_size, max_size))

    def _some(self, among: Sequence[T], least: int, most: int) -> list[T]:
        self._known = False
        count = least
        while count < most and self._random.random() < MORE:
            count += 1
        return self._random.choices(among, k=count)


AVAILABLE_PROVIDERS[NAME] = Afresh
