"""Splits of bundles, as columns of one row per split. [SPLIT-10 … 19]"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pulsar_conformance.adapters.spark.ranges import LAST_HASH, range_name
from pyspark.sql import Column
from pyspark.sql import functions as F

RANGE = "range_equally_divide"
TOPICS = "topic_count_equally_divide"
BY_RATES = "flow_or_qps_equally_divide"
POSITIONS = "specified_positions_divide"
ALGORITHMS = (RANGE, TOPICS, POSITIONS)
FLOW_MARGIN = "flowOrQpsDifferenceThresholdPercentage"

ALGORITHM_SETTING: Mapping[str, str] = {
    "default": "defaultNamespaceBundleSplitAlgorithm",
    "supported": "supportedNamespaceBundleSplitAlgorithms",
}
"""Setting that selects the algorithm, by alternative of `split-key`. [SPLIT-17, SPLIT-18]"""


def halved(number: Column) -> Column:
    """Halve an integer, rounding down."""
    return F.shiftright(number, 1)


RANGE_MIDDLE: Mapping[str, Callable[[Column, Column], Column]] = {
    "equal": lambda lower, upper: halved(
        lower + upper + F.when(upper == LAST_HASH, F.lit(1)).otherwise(F.lit(0))
    ),
    "by-name": lambda lower, upper: halved(lower + upper),
}
"""Functions that return the middle of a range, by alternative of the reading `range-halves`.

[SPLIT-10]
"""


def cut_between_topics(hashes: Column) -> Column:
    """Return an array with the cut that divides topics most equally; empty if there is none.
    [SPLIT-11]

    The cut is half-way between two topics. If the number of topics is odd, the upper part gets one
    more topic. Topics with equal hashes are not separated. No lambda refers to the sorted array,
    because Spark would sort it for each element.
    """
    count, in_order = F.size(hashes), F.array_sort(hashes)
    pairs = F.zip_with(
        F.slice(in_order, 1, F.greatest(count - 1, F.lit(0))),
        F.slice(in_order, 2, F.greatest(count - 1, F.lit(0))),
        lambda below, above: F.struct(below.alias("below"), above.alias("above")),
    )
    cuts = F.transform(
        pairs,
        lambda pair, place: F.struct(
            F.abs(2 * place + 2 - count).alias("apart"),
            pair["below"].alias("below"),
            pair["above"].alias("above"),
        ),
    )
    best = F.array_min(F.filter(cuts, lambda cut: cut["below"] < cut["above"]))
    middle = halved(best["below"] + best["above"] + 1)
    return F.when(middle.isNotNull(), F.array(middle)).otherwise(_no_cuts())


def cuts_by_traffic(topics: Column, most: Column, margin: Column) -> Column:
    """Return an array of the cuts that keep parts within their limits. [SPLIT-28 … 30]

    `topics` is an array of structs of `hash`, `messages` and `bytes`; `most` is a struct of the
    limits. Each cut is half-way between two topics; topics with equal hashes stay together.
    """

    def measures_of(traffic: Column) -> dict[str, Column]:
        return {name: traffic[name] for name in MEASURES}

    whole = F.aggregate(
        topics,
        _traffic_struct(F.lit(0.0), F.lit(0.0)),
        lambda so_far, one: _traffic_struct(*(so_far[name] + one[name] for name in MEASURES)),
    )
    reached = (whole[name] * 100 >= most[name] * (margin + 100) for name in MEASURES)

    def further(so_far: Column, one: Column) -> Column:
        before, more = (
            so_far["before"],
            {name: amount + one[name] for name, amount in measures_of(so_far).items()},
        )
        exceeded = (more["messages"] > most["messages"]) | (more["bytes"] > most["bytes"])
        parted = F.coalesce(exceeded & (before < one["hash"]), F.lit(False))
        middle = before + F.shiftright(one["hash"] - before + 1, 1)
        return F.struct(
            one["hash"].alias("before"),
            *(
                F.when(parted, one[name]).otherwise(amount).alias(name)
                for name, amount in more.items()
            ),
            F.when(parted, F.array_append(so_far["cuts"], middle))
            .otherwise(so_far["cuts"])
            .alias("cuts"),
        )

    start = F.struct(
        F.lit(None).cast("bigint").alias("before"),
        *(F.lit(0.0).alias(name) for name in MEASURES),
        _no_cuts().alias("cuts"),
    )
    cuts = F.aggregate(F.array_sort(topics), start, further)["cuts"]
    return F.when(next(reached) | next(reached), cuts).otherwise(_no_cuts())


MEASURES = ("messages", "bytes")


def _traffic_struct(messages: Column, size: Column) -> Column:
    return F.struct(messages.alias("messages"), size.alias("bytes"))


def _no_cuts() -> Column:
    return F.array().cast("array<bigint>")


def cuts(
    algorithm: Column,
    lower: Column,
    upper: Column,
    hashes: Column,
    positions: Column,
    halves: str,
    by_rates: Column | None = None,
) -> Column:
    """Return an array of the distinct positions inside the bundle at which it is cut, ascending.

    `halves` is the alternative of the reading `range-halves`; hashes and positions are arrays of
    numbers. `by_rates` are the cuts by traffic, if the documents describe such cuts. [SPLIT-10 …
    14]
    """
    asked = F.when(algorithm == RANGE, F.array(RANGE_MIDDLE[halves](lower, upper)))
    asked = asked.when(algorithm == TOPICS, cut_between_topics(hashes))
    if by_rates is not None:
        asked = asked.when(algorithm == BY_RATES, by_rates)
    asked = asked.otherwise(positions)
    inside = F.filter(asked, lambda position: (lower < position) & (position < upper))
    return F.array_sort(F.array_distinct(inside))


def parts(lower: Column, upper: Column, cuts: Column) -> Column:
    """Return the names of the parts between cuts; without cuts, the bundle's own range.

    [SPLIT-14]
    """
    starts, ends = F.concat(F.array(lower), cuts), F.concat(cuts, F.array(upper))
    return F.zip_with(starts, ends, range_name)


REFUSED_CUTS: Mapping[str, Callable[[Column], Column]] = {
    "several": lambda _cuts: F.lit(None).cast("string"),
    "two": lambda cuts: F.when(
        F.size(cuts) > 1,
        F.concat(F.size(cuts).cast("string"), F.lit(" positions make more than two parts")),
    ),
}
"""Functions that return why a number of cuts is refused, or null, by alternative of `split-ways`.

[SPLIT-12, SPLIT-13]
"""


def documented_algorithms(defaults: Mapping[str, object]) -> tuple[str, ...]:
    """Return the split algorithms that documents with these default settings describe."""
    return (*ALGORITHMS, BY_RATES) if FLOW_MARGIN in defaults else ALGORITHMS


def refusal_reason(
    asked: Column,
    by: Column,
    algorithm: Column,
    lower: Column,
    upper: Column,
    algorithms: Sequence[str] = ALGORITHMS,
) -> Column:
    """Return why a split is refused, as far as known before cuts are computed; otherwise null.

    [SPLIT-15, SPLIT-16]
    """
    known = algorithm.isin(*algorithms)
    at_positions = algorithm == POSITIONS
    return (
        F.when(~known, F.concat(algorithm, F.lit(" is no algorithm")))
        .when(at_positions & asked.isNull(), F.lit(f"{POSITIONS} cannot be set as the default"))
        .when(
            at_positions & (by != "admin"),
            F.lit(f"{POSITIONS} can be requested only over the admin API"),
        )
        .when(upper - lower == 1, F.lit("the bundle is too small to split"))
    )
