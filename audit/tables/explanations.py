"""The column `why` of the decisions: the reason why each bundle is unloaded or kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pulsar_conformance.adapters.spark import average, overload, shedding, uniform
from pulsar_conformance.audit.tables.formatting import (
    joined,
    messages,
    plain,
    plain_distinct_from,
    throughput,
)
from pyspark.sql import Column
from pyspark.sql import functions as F

TrafficFormat = Callable[[Column], Column]
"""A function that formats traffic with its unit."""

NUMBERS = ("used", "average", "threshold", "need")
"""Quantities that strategies compare; null in the rows of other strategies."""


def compared_numbers(strategies: Sequence[str]) -> Column:
    """Return a struct of the `NUMBERS` that the strategy of a row compares."""
    found = F.lit(None).cast("struct<used double, average double, threshold double, need double>")
    found = F.struct(*(found[name].alias(name) for name in NUMBERS))
    for name in strategies:
        found = F.when(F.col("strategy") == name, LEVELS[name]()).otherwise(found)
    return found


def _numbers_struct(**known: Column) -> Column:
    unknown = F.lit(None).cast("double")
    return F.struct(*(known.get(name, unknown).alias(name) for name in NUMBERS))


def _threshold_numbers() -> Column:
    own = F.col("thresholdshedder")
    return _numbers_struct(
        used=own["usage"], average=own["average"], threshold=own["threshold"], need=own["need"]
    )


def _overload_numbers() -> Column:
    own = F.col("overloadshedder")
    return _numbers_struct(used=own["usage"], threshold=own["threshold"], need=own["need"])


def _uniform_numbers() -> Column:
    return _numbers_struct(need=F.col("uniformloadshedder.need"))


def _average_numbers() -> Column:
    own = F.col("avgshedder")
    return _numbers_struct(used=own["usage"], need=own["need"])


LEVELS: Mapping[str, Callable[[], Column]] = {
    "ThresholdShedder": _threshold_numbers,
    "OverloadShedder": _overload_numbers,
    "UniformLoadShedder": _uniform_numbers,
    "AvgShedder": _average_numbers,
}


def reason_column(
    strategies: Sequence[str], written: TrafficFormat, amounts_by: str | None = None
) -> Column:
    """Return a column with the first reason that applies.

    It is null in the row of a broker without bundles. `amounts_by`, if given, are the documents by
    which strategies decide; their reasons then name these documents.
    """
    settings, strategy = F.col("settings"), F.col("strategy")
    known = strategy.isin(*strategies)
    off = ~F.coalesce(settings[shedding.ENABLED], F.lit(False))
    ago = F.concat(F.lit("recently unloaded ("), plain(F.col("moved")), F.lit(" min ago)"))
    general = (
        (F.col("bundle").isNull(), F.lit(None).cast("string")),
        (off, F.lit("shedding is switched off")),
        (F.col("brokers") < 2, F.lit("there is no other broker")),
        (strategy.isNull(), F.lit("no strategy is set")),
        (~F.coalesce(known, F.lit(False)), joined(strategy, "is not documented")),
        (F.col("excluded"), F.lit("its namespace is excluded from shedding")),
        (~F.col("movable"), ago),
    )
    by = "" if amounts_by is None else f", by the arithmetic of {amounts_by}"
    own = (
        (strategy == name, F.concat(REASONS_BY_STRATEGY[name](written), F.lit(by)))
        for name in strategies
    )
    return _first_reason((*general, *own))


def _first_reason(reasons: Sequence[tuple[Column, Column]]) -> Column:
    nothing = F.lit(None).cast("string")
    return reduce(
        lambda rest, one: F.when(one[0], one[1]).otherwise(rest), reversed(reasons), nothing
    )


def _excess_reason(own: Column, points: Column, written: TrafficFormat) -> Column:
    """Return the reason why a bundle of a broker is unloaded or kept.

    `own` are the columns of the broker's strategy, and `points` the percentage points by which the
    broker's usage exceeds its target.
    """
    over, need, above = own["over"], own["need"], written(F.col("above"))
    needs = F.concat(
        F.lit("over by "),
        plain_distinct_from(points, F.lit(0.0)),
        F.lit(" points, needs "),
        written(need),
        F.lit(", running sum "),
        above,
    )
    enough = F.concat(F.lit("enough already gone: "), above, F.lit(" of "), written(need))
    return _first_reason(
        (
            (~F.coalesce(over, F.lit(False)), F.lit("broker not over its threshold")),
            (F.col("chosen"), needs),
            (F.lit(True), enough),
        )
    )


def _threshold_reason(written: TrafficFormat) -> Column:
    own = F.col("thresholdshedder")
    relieved = own["relieves"] & F.col("chosen") & ~own["over"]
    words = F.lit("unloaded by the busiest broker, since a broker is under the lower boundary")
    return F.when(relieved, words).otherwise(
        _excess_reason(own, own["usage"] - own["limit"], written)
    )


def _overload_reason(written: TrafficFormat) -> Column:
    own = F.col("overloadshedder")
    few = own["over"] & (F.col("owned") < overload.MIN_BUNDLES)
    going = _excess_reason(own, own["usage"] - own["threshold"], written)
    return F.when(few, F.lit("broker has a single bundle")).otherwise(going)


def _uniform_reason(written: TrafficFormat) -> Column:
    own, traffic = F.col("uniformloadshedder"), F.col("traffic")
    need, filled = written(own["need"]), F.coalesce(uniform.FILLED_COLUMN, F.lit(0.0))
    going = F.concat(F.lit("fits into half of the difference, "), need, F.lit(", of which "))
    going = F.concat(going, written(filled), F.lit(" are used up"))
    return _first_reason(
        (
            (~F.coalesce(own["over"], F.lit(False)), F.lit("differences within the thresholds")),
            (~own["most_loaded"], F.lit("broker not the most loaded")),
            (F.col("chosen"), going),
            (traffic <= 0, F.lit("it carries nothing")),
            (F.lit(True), F.concat(F.lit("more than is left of half of the difference, "), need)),
        )
    )


def _average_reason(_written: TrafficFormat) -> Column:
    own, settings = F.col("avgshedder"), F.col("settings")
    hits = [
        joined(
            own[name].cast("string"),
            "of",
            plain(settings[times]),
            "cycles in a row over",
            plain(settings[threshold]),
        )
        for name, (threshold, times) in average.HITS.items()
    ]
    pair = joined(own["busy"], "and", own["idle"], "are", plain(own["apart"]), "points apart")
    too_few = F.concat(pair, F.lit(", "), hits[0], F.lit(", "), hits[1])
    need = F.when(own["measure"] == "bytes", throughput(own["need"])).otherwise(
        messages(own["need"])
    )
    going = F.concat(too_few, F.lit("; it fits into "), need, F.lit(" for "), own["idle"])
    return _first_reason(
        (
            (~F.coalesce(own["over"], F.lit(False)), too_few),
            (~own["most_used"], F.lit("broker not the most used")),
            (F.col("chosen"), going),
            (own["need"] <= 0, F.lit("the difference in traffic is too small")),
            (F.lit(True), F.concat(F.lit("more than is left of "), need)),
        )
    )


REASONS_BY_STRATEGY: Mapping[str, Callable[[TrafficFormat], Column]] = {
    "ThresholdShedder": _threshold_reason,
    "OverloadShedder": _overload_reason,
    "UniformLoadShedder": _uniform_reason,
    "AvgShedder": _average_reason,
}
