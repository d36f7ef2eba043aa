"""Why a bundle is unloaded or kept, as columns of decided rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from pulsar_conformance.adapters.spark import average, overload, shedding, uniform
from pulsar_conformance.audit.tables.formatting import (
    messages,
    plain,
    plain_apart,
    sentence,
    throughput,
)
from pyspark.sql import Column
from pyspark.sql import functions as F

Written = Callable[[Column], Column]
"""Formats traffic with its unit."""

NUMBERS = ("used", "average", "threshold", "need")
"""Quantities that a strategy compares; null for strategies without them."""


def level(strategies: Sequence[str]) -> Column:
    """Return a struct of the `NUMBERS` that the strategy of a row compares."""
    found = F.lit(None).cast("struct<used double, average double, threshold double, need double>")
    found = F.struct(*(found[name].alias(name) for name in NUMBERS))
    for name in strategies:
        found = F.when(F.col("strategy") == name, LEVELS[name]()).otherwise(found)
    return found


def _struct(**known: Column) -> Column:
    unknown = F.lit(None).cast("double")
    return F.struct(*(known.get(name, unknown).alias(name) for name in NUMBERS))


def _threshold() -> Column:
    own = F.col("thresholdshedder")
    return _struct(
        used=own["usage"], average=own["average"], threshold=own["threshold"], need=own["need"]
    )


def _overload() -> Column:
    own = F.col("overloadshedder")
    return _struct(used=own["usage"], threshold=own["threshold"], need=own["need"])


def _uniform() -> Column:
    return _struct(need=F.col("uniformloadshedder.need"))


def _average() -> Column:
    own = F.col("avgshedder")
    return _struct(used=own["usage"], need=own["need"])


LEVELS: Mapping[str, Callable[[], Column]] = {
    "ThresholdShedder": _threshold,
    "OverloadShedder": _overload,
    "UniformLoadShedder": _uniform,
    "AvgShedder": _average,
}


def why(strategies: Sequence[str], written: Written) -> Column:
    """Return the first reason that applies; null in the row of a broker without bundles."""
    settings, strategy = F.col("settings"), F.col("strategy")
    known = strategy.isin(*strategies)
    off = ~F.coalesce(settings[shedding.ENABLED], F.lit(False))
    ago = F.concat(F.lit("recently unloaded ("), plain(F.col("moved")), F.lit(" min ago)"))
    general = (
        (F.col("bundle").isNull(), F.lit(None).cast("string")),
        (off, F.lit("shedding is switched off")),
        (F.col("brokers") < 2, F.lit("there is no other broker")),
        (strategy.isNull(), F.lit("no strategy is set")),
        (~F.coalesce(known, F.lit(False)), sentence(strategy, "is not documented")),
        (~F.col("movable"), ago),
    )
    own = ((strategy == name, WHY[name](written)) for name in strategies)
    return _first((*general, *own))


def _first(told: Sequence[tuple[Column, Column]]) -> Column:
    nothing = F.lit(None).cast("string")
    return reduce(lambda rest, one: F.when(one[0], one[1]).otherwise(rest), reversed(told), nothing)


def _going(own: Column, points: Column, written: Written) -> Column:
    """Return why a bundle is unloaded, or that earlier bundles are enough."""
    over, need, above = own["over"], own["need"], written(F.col("above"))
    needs = F.concat(
        F.lit("over by "),
        plain_apart(points, F.lit(0.0)),
        F.lit(" points, needs "),
        written(need),
        F.lit(", running sum "),
        above,
    )
    enough = F.concat(F.lit("enough already gone: "), above, F.lit(" of "), written(need))
    return _first(
        (
            (~F.coalesce(over, F.lit(False)), F.lit("broker not over its threshold")),
            (F.col("chosen"), needs),
            (F.lit(True), enough),
        )
    )


def _why_threshold(written: Written) -> Column:
    own = F.col("thresholdshedder")
    relieved = own["relieves"] & F.col("chosen") & ~own["over"]
    words = F.lit("of the busiest broker, for one under the lower boundary")
    return F.when(relieved, words).otherwise(_going(own, own["usage"] - own["limit"], written))


def _why_overload(written: Written) -> Column:
    own = F.col("overloadshedder")
    few = own["over"] & (F.col("owned") < overload.FEWEST)
    going = _going(own, own["usage"] - own["threshold"], written)
    return F.when(few, F.lit("broker has a single bundle")).otherwise(going)


def _why_uniform(written: Written) -> Column:
    own, traffic = F.col("uniformloadshedder"), F.col("traffic")
    need, filled = written(own["need"]), F.coalesce(uniform.FILLED, F.lit(0.0))
    going = F.concat(F.lit("fits into half of the gap, "), need, F.lit(", of which "))
    going = F.concat(going, written(filled), F.lit(" are filled"))
    return _first(
        (
            (~F.coalesce(own["over"], F.lit(False)), F.lit("differences within the thresholds")),
            (~own["most_loaded"], F.lit("broker not the most loaded")),
            (F.col("chosen"), going),
            (traffic <= 0, F.lit("it carries nothing")),
            (F.lit(True), F.concat(F.lit("more than what is left of half of the gap, "), need)),
        )
    )


def _why_average(_written: Written) -> Column:
    own, settings = F.col("avgshedder"), F.col("settings")
    hits = [
        sentence(
            own[name].cast("string"),
            "of",
            plain(settings[times]),
            "cycles in a row over",
            plain(settings[threshold]),
        )
        for name, (threshold, times) in average.HITS.items()
    ]
    pair = sentence(own["busy"], "and", own["idle"], "are", plain(own["apart"]), "points apart")
    too_few = F.concat(pair, F.lit(", "), hits[0], F.lit(", "), hits[1])
    need = F.when(own["measure"] == "bytes", throughput(own["need"])).otherwise(
        messages(own["need"])
    )
    going = F.concat(too_few, F.lit("; it fits into "), need, F.lit(" for "), own["idle"])
    return _first(
        (
            (~F.coalesce(own["over"], F.lit(False)), too_few),
            (~own["most_used"], F.lit("broker not the most used")),
            (F.col("chosen"), going),
            (own["need"] <= 0, F.lit("the difference in traffic is too small")),
            (F.lit(True), F.concat(F.lit("more than what is left of "), need)),
        )
    )


WHY: Mapping[str, Callable[[Written], Column]] = {
    "ThresholdShedder": _why_threshold,
    "OverloadShedder": _why_overload,
    "UniformLoadShedder": _why_uniform,
    "AvgShedder": _why_average,
}
