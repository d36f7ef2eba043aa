"""`broker_decisions`: a summary of each broker's bundles and unloads in a cycle.

If it is uncertain whether shedding caused some unloads, the broker has two `views`: one counts all
unloads, the other only those that shedding certainly caused.
"""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.adapters.spark.shapes import or_zero
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

UNLOADED_BUNDLES_TYPE = (
    "array<struct<at timestamp, less double, bundle string, traffic double, movable boolean, "
    "messages double, bytes double>>"
)
"""Spark type of the bundles that a broker unloaded, by time and then by descending traffic."""

VIEW_TYPE = (
    f"sure boolean, most_kept double, kept bigint, answered bigint, perhaps bigint, "
    f"unweighed bigint, out {UNLOADED_BUNDLES_TYPE}, "
    "alien array<string>, ownerless array<string>, gone array<string>"
)
"""Spark type of a view of a broker. `perhaps` is the number of unloads that the view leaves out.
`unweighed` is the number of unloads of bundles that the broker may have owned but whose traffic it
had not reported. `alien` are unloaded bundles that the broker is not known to own, and `ownerless`
those among them without a known owner. `gone` are all unloaded bundles.
"""

MOVERS = "movers array<struct<messages double, bytes double>>"
"""Column with the rates of the movable bundles that have both messages and bytes. They show whether
UniformLoadShedder must unload; the column is empty for other strategies.
"""

COLUMNS = (
    "owned bigint, able bigint, blocked bigint, movable_traffic double, least_traffic double, "
    "most_messages double, most_bytes double, movable_bytes double, fewest_messages double, "
    f"both bigint, {MOVERS}, held bigint, "
    "all_messages double, all_bytes double, "
    "stuck array<struct<bundle string, moved double>>, excluded array<string>, "
    f"views array<struct<{VIEW_TYPE}>>"
)
"""Columns about a broker in a cycle, with their types. `stuck` are the bundles that must stay, with
the minutes since their unload, and `excluded` those whose namespaces are excluded from shedding.
`least_traffic` is the lowest traffic of any movable bundle, and `fewest_messages` the lowest
message rate above 0 of any movable bundle. `all_messages` and `all_bytes` are the total traffic of
the broker's bundles; null if that of any bundle is unknown.
"""


def summarize_brokers(decided: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return a row for each broker in a cycle.

    The columns `key` identify broker and cycle. `decided` has a row for each bundle of the broker.
    The column `decisions` keeps the rows of the bundles that were chosen or unloaded.
    """
    keys = list(key)
    told = F.struct(*(name for name in decided.columns if name not in keys))
    kept = F.collect_list(F.when(F.col("chosen") | F.col("unloaded"), told))
    if "held" not in decided.columns:
        decided = decided.withColumn("held", F.lit(False))
    rows = decided.groupBy(*keys).agg(
        *_bundle_counts(), *_unload_columns(), kept.alias("decisions")
    )
    whole, sure = _view(sure=False), _view(sure=True)
    views = F.when(F.col("doubt"), F.array(whole, sure)).otherwise(F.array(whole))
    return rows.select(*keys, *COUNTS, "stuck", "excluded", views.alias("views"), "decisions")


COUNTS = (
    *("owned", "able", "blocked", "movable_traffic", "least_traffic", "most_messages"),
    *("most_bytes", "movable_bytes", "fewest_messages", "both", "movers", "held"),
    *("all_messages", "all_bytes"),
)


def _bundle_counts() -> list[Column]:
    """Return columns with counts and sums over a broker's bundles."""
    movable, traffic = F.col("movable"), F.col("traffic")
    carries = (F.col("messages") > 0) & (F.col("bytes") > 0)
    left = F.when(movable & ~F.col("unloaded"), traffic)
    by_ends, rates = F.col("strategy") == "UniformLoadShedder", F.struct("messages", "bytes")
    return [
        F.count_if("owned").alias("owned"),
        F.count_if(movable).alias("able"),
        F.count_if(_must_stay()).alias("blocked"),
        or_zero(F.sum(F.when(movable, traffic))).alias("movable_traffic"),
        F.min(F.when(movable, traffic)).alias("least_traffic"),
        F.max(F.when(movable, F.col("messages"))).alias("most_messages"),
        F.max(F.when(movable, F.col("bytes"))).alias("most_bytes"),
        or_zero(F.sum(F.when(movable, F.col("bytes")))).alias("movable_bytes"),
        F.min(F.when(movable & (F.col("messages") > 0), F.col("messages"))).alias(
            "fewest_messages"
        ),
        F.max(left).alias("most_kept"),
        F.count_if(movable & ~F.col("unloaded")).alias("kept"),
        F.count_if(movable & carries).alias("both"),
        F.collect_list(F.when(movable & carries & by_ends, rates)).alias("movers"),
        F.count_if((movable & F.col("held")) | _is_excluded()).alias("held"),
        *(_sum_if_known(name).alias(f"all_{name}") for name in ("messages", "bytes")),
    ]


def _sum_if_known(measure: str) -> Column:
    own, known = F.col("owned"), F.coalesce("measured", F.lit(False))
    return F.when(F.count_if(own & ~known) == 0, F.sum(F.when(own, F.col(measure))))


def _is_excluded() -> Column:
    return F.col("owned") & F.col("excluded")


def _must_stay() -> Column:
    return F.col("owned") & ~F.col("movable") & ~F.col("open") & ~F.col("excluded")


def _unload_columns() -> list[Column]:
    """Return columns with a broker's immovable bundles, its unloads, and its certain shedding."""
    own, unloaded, less = F.col("owned"), F.col("unloaded"), (-F.col("traffic")).alias("less")
    sure = F.filter("done", lambda at: ~F.array_contains("doubtful", at))
    claimed = F.coalesce("claimed", F.lit(False))
    alien = ~own & unloaded & ~claimed
    ownerless = alien & F.col("claimed").isNull()
    alien_surely = alien & ~ownerless
    both = {
        "": (F.col("done"), unloaded, alien),
        "sure_": (sure, unloaded & (F.size(sure) > 0), alien_surely),
    }
    collected = {}
    for name, (times, went, strange) in both.items():
        known = ("bundle", "traffic", "movable", "messages", "bytes")
        one = F.struct(times[0].alias("at"), less, *known)
        names = F.array_repeat("bundle", F.size(times))
        collected[f"{name}out"] = F.array_sort(F.collect_list(F.when(own & went, one)))
        collected[f"{name}alien"] = F.collect_list(F.when(strange & went, F.col("bundle")))
        collected[f"{name}ownerless"] = F.collect_list(
            F.when(strange & went & ownerless, F.col("bundle"))
        )
        collected[f"{name}gone"] = F.flatten(F.collect_list(F.when(went, names)))
        unweighed = went & ~own & ~alien_surely
        collected[f"{name}unweighed"] = F.count_if(unweighed)
        collected[f"{name}answered"] = F.sum(F.when(went, F.size(times)))
    doubtful = (F.size("doubtful") > 0) | ownerless
    return [
        F.collect_list(F.when(_must_stay(), F.struct("bundle", "moved"))).alias("stuck"),
        F.collect_list(F.when(_is_excluded(), F.col("bundle"))).alias("excluded"),
        F.bool_or(doubtful).alias("doubt"),
        *(column.alias(name) for name, column in collected.items()),
    ]


BUNDLE_LISTS = ("alien", "ownerless", "gone")
"""Names of a view's lists of unloaded bundles."""


def _view(sure: bool) -> Column:
    prefix = "sure_" if sure else ""
    answered = F.coalesce(F.col(f"{prefix}answered"), F.lit(0))
    every = F.coalesce(F.col("answered"), F.lit(0))
    shape = {"out": UNLOADED_BUNDLES_TYPE, **dict.fromkeys(BUNDLE_LISTS, "array<string>")}
    return F.struct(
        F.lit(sure).alias("sure"),
        F.col("most_kept").alias("most_kept"),
        F.col("kept").alias("kept"),
        answered.alias("answered"),
        (every - answered).alias("perhaps"),
        F.coalesce(F.col(f"{prefix}unweighed"), F.lit(0)).alias("unweighed"),
        *(
            F.coalesce(F.col(f"{prefix}{name}"), F.array().cast(type_)).alias(name)
            for name, type_ in shape.items()
        ),
    )


def no_unloads() -> Column:
    """Return the views of a broker without unloads and without known bundles."""
    empty = {
        "sure": F.lit(False),
        "most_kept": F.lit(None).cast("double"),
        **dict.fromkeys(("kept", "answered", "perhaps", "unweighed"), F.lit(0).cast("bigint")),
        "out": F.array().cast(UNLOADED_BUNDLES_TYPE),
        **dict.fromkeys(BUNDLE_LISTS, F.array().cast("array<string>")),
    }
    return F.array(F.struct(*(value.alias(name) for name, value in empty.items())))


def both_views_certain(views: Column) -> Column:
    """Return a broker's only view twice: both of its views are then the same."""
    one = views[0]
    return F.array(one.withField("sure", F.lit(False)), one.withField("sure", F.lit(True)))
