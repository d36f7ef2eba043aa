"""Averages of samples, and sums over bundles, as columns. [DATA]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, assumed_rates, constant_double
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

Readings = Mapping[str, str]

SAMPLE_NUMBER = "_nth"
"""Column with the number of samples up to a row, the row included."""


@dataclass(frozen=True)
class Timeline:
    """The time order of samples and observations.

    `keys` are the columns that identify a series; `order` are the columns that sort its rows. In
    methods, `more` are further columns that identify a series.
    """

    keys: Sequence[str]
    order: Sequence[str]

    def of(self, *more: str) -> WindowSpec:
        """Return a window over the rows of a series, in time order."""
        return Window.partitionBy(*self.keys, *more).orderBy(*self.order)

    def window_so_far(self, *more: str) -> WindowSpec:
        """Return a window over the rows of a series up to the current one."""
        return self.of(*more).rowsBetween(Window.unboundedPreceding, Window.currentRow)

    def value_before(self, column: str, count: int, *more: str) -> Column:
        """Return a column's value `count` rows earlier; rows in which it is null do not count."""
        return self._value_away("lag", column, count, more)

    def value_after(self, column: str) -> Column:
        """Return a column's next value that is not null; this reads the rows only once."""
        return self._value_away("lead", column, 1, ())

    def _value_away(self, way: str, column: str, count: int, more: Sequence[str]) -> Column:
        keys, order = (
            ", ".join(f"`{name}`" for name in names) for names in ((*self.keys, *more), self.order)
        )
        over = f"over (partition by {keys} order by {order})"
        return F.expr(f"{way}(`{column}`, {count}) ignore nulls {over}")


SumFunction = Callable[[DataFrame, Timeline, int | str, int | None], tuple[DataFrame, Column]]
"""A function that adds a struct of sums over each row's window; it may add other columns, too."""


MAX_EXACT_RATE = 1 << 56
"""Rates below this are summed as an integer and a fraction; sums of integers are exact.

A sum of integers can hold 128 rates of this size, or nine thousand of the largest rates that an
audit accepts.
"""


def _integer_part(name: str) -> Column:
    rate = F.col(name)
    return F.when(rate < MAX_EXACT_RATE, F.floor(rate)).otherwise(rate * 0).cast("bigint")


def _running_sums(timeline: Timeline) -> Column:
    """Return a struct of running sums over all samples: of integer parts, and of fractions."""
    parts = {
        part: amount.alias(part)
        for name in RATE_FIELDS
        for part, amount in (
            (name, F.try_sum(_integer_part(name)).over(timeline.window_so_far())),
            (
                f"{name}_rest",
                F.sum(F.col(name) - _integer_part(name)).over(timeline.window_so_far()),
            ),
        )
    }
    return F.struct(*parts.values())


def running_sum_of(name: str) -> Column:
    """Return the sum of a rate over all samples so far, for `of_sums` of `averages`."""
    whole, rest = F.col(f"_sums.{name}"), F.col(f"_sums.{name}_rest")
    return F.coalesce(whole.cast("double") + rest, constant_double(0))


def _sliding_sums(
    rows: DataFrame, timeline: Timeline, window: int | str, _most: int | None
) -> tuple[DataFrame, Column]:
    """Return the rows with the sums over the samples in each row's window."""
    left = f"_left_{window}"
    if isinstance(window, str):
        rows = rows.withColumn("_phase", F.pmod(SAMPLE_NUMBER, window))
        rows = rows.withColumn(left, timeline.value_before("_of_sample", 2, "_phase"))

    def kept(part: str) -> Column:
        return F.col(f"_sums.{part}") - F.coalesce(F.col(f"{left}.{part}"), F.lit(0))

    return rows, F.struct(
        *((kept(name).cast("double") + kept(f"{name}_rest")).alias(name) for name in RATE_FIELDS)
    )


FADED_WINDOWS = 200
"""Number of windows after which a sample's weight is too small for a double."""


def _fading_sums(
    rows: DataFrame, timeline: Timeline, window: int | str, most: int | None
) -> tuple[DataFrame, Column]:
    """Return the rows with sums that, divided by `numSamples`, are the fading average.

    After the first `window` samples, each new sample replaces a share of the average. The weights
    of samples are therefore powers of the remaining share. They are summed in blocks, because the
    weights of a long series differ by more than a double can hold; a short series is a single
    block.
    """
    size = F.lit(window) if isinstance(window, int) else F.col(window)
    kept, long = (size - 1) / size, size * FADED_WINDOWS
    rows, newest = _sliding_sums(rows, timeline, window, most)
    if not _is_short(window, most):
        rows = _sum_in_blocks(rows, timeline, window)
    place, ends = _place_in_block(window, most), F.col(f"_ends_{window}")
    now = F.col(f"_scaled_{window}")

    def total(name: str) -> Column:
        before = (
            constant_double(0)
            if _is_short(window, most)
            else F.coalesce(ends[name], constant_double(0))
        )
        return F.pow(kept, place) * (now[name] + F.pow(kept, long) * before)

    sums = (F.when(size > 1, total(name)).otherwise(newest[name]) for name in RATE_FIELDS)
    return rows, F.struct(*(sum_.alias(n) for n, sum_ in zip(RATE_FIELDS, sums, strict=True)))


def _is_short(window: int | str, most: int | None) -> bool:
    """True if every series fits into one block."""
    return isinstance(window, int) and most is not None and most < window * FADED_WINDOWS


def _place_in_block(window: int | str, most: int | None) -> Column:
    """Return a row's position in its block; the first `window` samples share a position."""
    size = F.lit(window) if isinstance(window, int) else F.col(window)
    turn = F.greatest(SAMPLE_NUMBER, size)
    return turn if _is_short(window, most) else F.pmod(turn, size * FADED_WINDOWS)


def _scaled_sums(place: Column, window: int | str, so_far: WindowSpec) -> Column:
    """Return sums over a block, in which a sample at `place` is weighted by (window / (window -
    1))^place.
    """
    size = F.lit(window) if isinstance(window, int) else F.col(window)
    weight = F.pow((size - 1) / size, -place)
    sums = (F.sum(F.col(name) * weight).over(so_far).alias(name) for name in RATE_FIELDS)
    return F.when(size > 1, F.struct(*sums))


def _sum_in_blocks(rows: DataFrame, timeline: Timeline, window: int | str) -> DataFrame:
    """Add running sums within each block, and the totals of the previous block to all rows of a
    block.

    Rows are in the order of blocks and time, so they are sorted only once.
    """
    size = F.lit(window) if isinstance(window, int) else F.col(window)
    block, place, ends = f"_block_{window}", f"_place_{window}", f"_ends_{window}"
    turn, scaled = F.greatest(SAMPLE_NUMBER, size), f"_scaled_{window}"
    long = size * FADED_WINDOWS
    rows = rows.withColumns({block: F.floor(turn / long), place: F.pmod(turn, long)})
    of_block, timeline = (
        timeline.window_so_far(block),
        Timeline(timeline.keys, (block, *timeline.order)),
    )
    rows = rows.withColumn(scaled, _scaled_sums(F.col(place), window, of_block))
    rows = rows.withColumn(ends, F.when(F.col("_sample"), F.col(scaled)))
    rows = rows.withColumn(
        ends, F.when((F.col(place) == 0) & F.col("_sample"), timeline.value_before(ends, 1))
    )
    return rows.withColumn(ends, F.max(ends).over(Window.partitionBy(*timeline.keys, block)))


SUM_FUNCTIONS: Mapping[str, SumFunction] = {"sliding": _sliding_sums, "fading": _fading_sums}
"""Functions that return the sums for an average, by alternative of the reading `window`. [DATA-01,
DATA-02]
"""


def averages(
    rows: DataFrame,
    keys: Iterable[str],
    order: Iterable[str],
    frames: Mapping[str, int | str],
    readings: Readings,
    beside: Mapping[str, Column] = MappingProxyType({}),
    of_sums: Mapping[str, Column] = MappingProxyType({}),
    others: Mapping[str, str] = MappingProxyType({}),
    most: int | None = None,
) -> DataFrame:
    """Return rows with the averages over the samples up to each observation. [DATA-01 … 07]

    Rows are samples and observations. `keys` identify a bundle, and `order` is the time order.
    `RATE_FIELDS` are the values of a sample; they are null in an observation. `frames` maps the
    name of each average to its number of samples, or to the column with that number. The average is
    added under its name, as a struct of `RATE_FIELDS` and `numSamples`. Only the averages of
    observations are meaningful.

    Further window columns cost little here: those in `beside` use the given columns, and those in
    `of_sums` may also use `SAMPLE_NUMBER` and `running_sum_of`. `others` are further alternatives
    of the reading `window`, keyed by a prefix for the names of their averages. `most` is the
    largest number of samples of a bundle, or None if that is unknown; if it is small, less is
    computed.
    """
    timeline, given = Timeline(tuple(keys), tuple(order)), rows.columns
    sample = F.col(RATE_FIELDS[0]).isNotNull()
    number_of = F.count(F.when(sample, 1)).over(timeline.window_so_far())
    sums = {"_sample": sample, SAMPLE_NUMBER: number_of, "_sums": _running_sums(timeline)}
    rows = rows.withColumns({**sums, **beside})
    ways = {**others, "": readings["window"]}
    rows = rows.withColumn("_of_sample", F.when(F.col("_sample"), F.col("_sums")))
    # Columns over one timeline that are added together take one pass over the rows.
    ahead = {**of_sums, **_shared_columns(timeline, ways.values(), frames.values(), most)}
    rows = rows.withColumns(ahead) if ahead else rows  # Spark Connect needs at least one column.
    never, taken = assumed_rates(readings["kilobyte"]), F.col(SAMPLE_NUMBER)
    known: dict[str, Column] = {}
    for (prefix, way), (name, window) in product(ways.items(), frames.items()):
        rows, total = SUM_FUNCTIONS[way](rows, timeline, window, most)
        counted = F.least(taken, F.lit(window) if isinstance(window, int) else F.col(window))
        means = (
            F.coalesce(F.try_divide(total[rate], counted), never[rate]).alias(rate)
            for rate in RATE_FIELDS
        )
        known[f"{prefix}{name}"] = F.struct(*means, counted.alias("numSamples"))
    kept = dict.fromkeys((*given, *beside, *of_sums))
    return rows.withColumns(known).select(*kept, *known)


def _shared_columns(
    timeline: Timeline, ways: Iterable[str], windows: Iterable[int | str], most: int | None
) -> dict[str, Column]:
    """Return columns that the `SUM_FUNCTIONS` read, computed once for windows of a fixed size."""
    found: dict[str, Column] = {}
    for window in windows:
        if isinstance(window, int):
            found[f"_left_{window}"] = timeline.value_before("_of_sample", window + 1)
            if "fading" in ways and _is_short(window, most):
                place = _place_in_block(window, most)
                found[f"_scaled_{window}"] = _scaled_sums(place, window, timeline.window_so_far())
    return found


def sum_of_rates(rates: Column) -> Column:
    """Return a struct with the sum of each rate over rows; a sum of no rates is 0. [DATA-08]"""
    return F.struct(
        *(F.coalesce(F.sum(rates[name]), constant_double(0)).alias(name) for name in RATE_FIELDS)
    )
