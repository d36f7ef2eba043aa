"""Draws values from a seed with Hypothesis.

`composite` makes strategies, and `draw` draws from them. `draw` has its own Hypothesis backend.
Hypothesis' default engine searches for failures, mixes in constants from imported modules, and
mutates earlier examples. This backend draws each example independently and uniformly from a single
random source, so that the seed alone determines the examples. It repeats no example while unused
ones remain. See "Alternative backends" in the Hypothesis documentation. No questions are asked
while values are drawn, so answers cannot influence the values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, wraps
from random import Random
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import BackendCannotProceed
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import (
    AVAILABLE_PROVIDERS,
    COLLECTION_DEFAULT_MAX_SIZE,
    PrimitiveProvider,
)
from hypothesis.internal.floats import make_float_clamper
from hypothesis.internal.intervalsets import IntervalSet
from hypothesis.strategies import SearchStrategy

P = ParamSpec("P")
T = TypeVar("T")

NAME = "pulsar-conformance"
"""The name of the backend in `settings(backend=...)`."""

MAX_REMEMBERED_CHOICES = 256
"""Largest number of alternatives for which a choice remembers those already used."""

UNBOUNDED_BITS = 128
"""Maximum size in bits of an integer without bounds."""

PROBABILITY_OF_MORE = 0.8
"""Probability of adding one more character to a text or byte string."""


@dataclass
class RandomSource:
    """The random source of a test function, and its state."""

    seed: int = 0
    endless: bool = False
    """True if some choice had too many alternatives to remember, so that values never run out."""


SOURCE: ContextVar[RandomSource | None] = ContextVar("SOURCE", default=None)
"""Random source of the next test function; if None, that function gets a new source."""


class _Branch:
    """One position in a tree of choices: its unused alternatives, and the positions below it."""

    __slots__ = ("left", "next")

    def __init__(self, choices: int) -> None:
        self.left = list(range(choices))
        self.next: dict[int, _Branch] = {}


class IndependentDraws(PrimitiveProvider):
    """A backend that draws each example independently of the others."""

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
        """Record an example's choices so that it is not repeated."""
        if self._ended:
            raise BackendCannotProceed("exhausted")
        self._path, self._known = [], True
        try:
            yield
        finally:
            self._mark_used()

    def _mark_used(self) -> None:
        """Mark an example as used, and all positions above it whose alternatives are used up."""
        if not self._known:
            self._source.endless = True
            return
        for branch, choice in reversed(self._path):
            branch.left.remove(choice)
            branch.next.pop(choice, None)
            if branch.left:
                return
        self._ended = True

    def _choose(self, choices: int, draw_one: Callable[[], int]) -> int:
        """Return the number below `choices` that `draw_one` draws, or an unused one instead."""
        chosen = draw_one()
        self._known = self._known and choices <= MAX_REMEMBERED_CHOICES
        if not self._known:
            return chosen
        branch = self._branch(choices)
        if chosen not in branch.left:
            chosen = self._random.choice(branch.left)
        self._path.append((branch, chosen))
        return chosen

    def _branch(self, choices: int) -> _Branch:
        """Return the current position in the tree of choices."""
        if not self._path:
            self._root = self._root or _Branch(choices)
            return self._root
        before, chosen = self._path[-1]
        branch = before.next.get(chosen)
        if branch is None:
            branch = before.next[chosen] = _Branch(choices)
        return branch

    def draw_boolean(self, p: float = 0.5) -> bool:
        """Draw true with the given probability; see `PrimitiveProvider`."""
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
        """Draw uniformly within bounds; without them, draw the number of bits first."""
        if min_value is not None and max_value is not None:
            span = max_value - min_value + 1
            if span == 1:
                return min_value
            return min_value + self._choose(span, lambda: self._random.randrange(span))
        self._known = False
        size = self._random.getrandbits(self._random.randint(1, UNBOUNDED_BITS))
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
        """Draw uniformly within finite bounds, or at any magnitude; see `PrimitiveProvider`."""
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
        """Draw a string of allowed characters; see `PrimitiveProvider`."""
        if not intervals:
            return ""
        letters = range(len(intervals))
        return "".join(
            map(intervals.char_in_shrink_order, self._choices(letters, min_size, max_size))
        )

    def draw_bytes(self, min_size: int = 0, max_size: int = COLLECTION_DEFAULT_MAX_SIZE) -> bytes:
        """Draw any bytes; see `PrimitiveProvider`."""
        return bytes(self._choices(range(256), min_size, max_size))

    def _choices(self, among: Sequence[T], least: int, most: int) -> list[T]:
        self._known = False
        count = least
        while count < most and self._random.random() < PROBABILITY_OF_MORE:
            count += 1
        return self._random.choices(among, k=count)


AVAILABLE_PROVIDERS[NAME] = IndependentDraws


MAX_COMPARED = 256
"""If there are fewer values than this, a new value is compared with all, without hashes."""


class Distinct(Generic[T]):
    """Distinct values in the order in which they were added; equal values are kept once."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._by_hash: dict[int, list[T]] = {}

    def add(self, value: T) -> None:
        """Add a value, unless an equal value was added before."""
        alike = self._candidates_for_equality(value)
        if value in alike:
            return
        self.values.append(value)
        if alike is not self.values:
            alike.append(value)

    def _candidates_for_equality(self, value: T) -> list[T]:
        """Return values that may equal `value`: all if there are few, or those with its hash."""
        if len(self.values) < MAX_COMPARED:
            return self.values
        if not self._by_hash:
            for one in self.values:
                self._by_hash.setdefault(content_hash(one), []).append(one)
        return self._by_hash.setdefault(content_hash(value), [])


def content_hash(value: Any) -> int:
    """Return a hash of a value, computed from the content of JSON and of data classes with JSON.

    Equal values have the same hash. All other values that are not hashable have the same hash.
    """
    try:
        return hash(value)
    except TypeError:
        pass
    if isinstance(value, Mapping):
        return hash(frozenset((name, content_hash(one)) for name, one in value.items()))
    if isinstance(value, list | tuple):
        return hash(tuple(map(content_hash, value)))
    if is_dataclass(value):
        compared = (getattr(value, one.name) for one in fields(value) if one.compare)
        return hash(tuple(map(content_hash, compared)))
    return 0


VALUES_PER_EXAMPLE = 10
"""Maximum number of values of an endless strategy per example; each example costs 160 µs."""

FIRST_EXAMPLES = 2
"""Number of examples that show if a strategy is endless: the smallest and a random example."""

MORE_VALUES = 20
"""Number of values to draw in addition to twice the number that is still missing.

If none of these values is new, the strategy is assumed to have hardly any others.
"""


def draw(strategy: SearchStrategy[T], count: int, seeded_by: str) -> list[T]:
    """Return up to `count` distinct values of a strategy; the string `seeded_by` determines them.

    The simplest value comes first. If the strategy has fewer distinct values, all are returned.
    """
    found = Distinct[T]()
    if not count:
        return []
    source = RandomSource(_seed_of_text(seeded_by))
    _draw_into(found, strategy.map(_as_list), FIRST_EXAMPLES, source)
    attempt = 0
    while len(found.values) < count:
        before, attempt = len(found.values), attempt + 1
        wanted = count - before if attempt == 1 else 2 * (count - before) + MORE_VALUES
        source.seed = _seed_of_text(f"{seeded_by}/{attempt}")
        if source.endless:
            size = min(VALUES_PER_EXAMPLE, wanted)
            several = st.lists(strategy, min_size=size, max_size=size)
            # The smallest example holds the same value several times.
            ended = _draw_into(found, several, 1 + -(-wanted // size), source)
        else:
            ended = _draw_into(found, strategy.map(_as_list), count, source)
        if ended or len(found.values) == before:
            break
    return found.values[:count]


def _as_list(value: T) -> list[T]:
    return [value]


def _seed_of_text(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _draw_into(
    collected: Distinct[T], strategy: SearchStrategy[list[T]], count: int, source: RandomSource
) -> bool:
    """Add new values from `count` examples; return True if the strategy has no more values."""
    drawn = 0

    @settings(
        backend=NAME,
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(values: list[T]) -> None:
        nonlocal drawn
        drawn += 1
        for value in values:
            collected.add(value)

    # Without this, Hypothesis would parse the source of `collect` for a key of its database.
    collect._hypothesis_internal_database_key = None  # type: ignore[attr-defined]
    token = SOURCE.set(source)
    try:
        collect()
    finally:
        SOURCE.reset(token)
    return drawn < count


def composite(
    function: Callable[Concatenate[st.DrawFn, P], T],
) -> Callable[P, st.SearchStrategy[T]]:
    """Return `strategies.composite` of a function, applied when a value is first drawn.

    Hypothesis parses the source text of the function, which for all functions of the suite takes
    longer than importing them.
    """

    @cache
    def made() -> Callable[P, st.SearchStrategy[T]]:
        return st.composite(function)

    @wraps(function)
    def strategy(*args: P.args, **kwargs: P.kwargs) -> st.SearchStrategy[T]:
        return st.deferred(lambda: made()(*args, **kwargs))

    return strategy
