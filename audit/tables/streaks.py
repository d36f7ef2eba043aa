"""AvgShedder's streaks: numbers of consecutive cycles in which the difference between the most and
the least used broker exceeded a threshold.

The documents do not say whether an unload ends a streak, so there are two counts. The certain count
includes only cycles since the last unload, and only with the same pair of brokers. The possible
count continues after unloads, and with any pair of brokers.

The documents do not say either whether a new leader continues the streaks of former leaders. Each
count is therefore made twice: since the leader's start, and as if the leader knew all cycles of
former leaders.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from pulsar_conformance.adapters.spark import average, shedding
from pulsar_conformance.audit.pipeline.plan import ALL_DAYS_PREFIX, AuditPlan, GoldTables
from pulsar_conformance.audit.tables import causes, cycles
from pulsar_conformance.audit.tables.settings_at import SHEDDING_INTERVAL
from pulsar_conformance.conformance.common import check
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

COLUMNS = ("streak", "perhaps_streak", "kept_streak")
"""Columns that `with_streaks` adds."""

POINTS = float(check.POINTS)
CYCLE = ["cluster", "cycle"]
KEY = [*CYCLE, "moment"]
ASSUMED_STREAK_LENGTH = 1 << 20
"""Assumed length of a streak that may have started before the first known cycle."""

LOOKBACK = timedelta(days=1)
"""Maximum time from the start of a streak to the rebuilt part of a table."""

FIRST_CYCLE_INTERVALS = 3
"""Number of shedding intervals within which a newly elected leader has certainly run its first
cycle.
"""


def with_streaks(
    rows: DataFrame, made: GoldTables, plan: AuditPlan, strategies: Collection[str]
) -> DataFrame:
    """Add `streak` and `perhaps_streak` to rows of cycles, if AvgShedder is one of the strategies.

    `streak` is the struct that `adapters.spark.average` reads: a pair of brokers and, for each
    threshold, the number of cycles that certainly count. `perhaps_streak` has, for each threshold,
    the number of cycles that may count. `kept_streak` has the values of both columns if the leader
    knows the streaks of former leaders; null if these values are equal.
    """
    if average.NAME not in strategies:
        return rows
    return rows.join(streaks(made, plan).hint("shuffle_hash"), CYCLE, "left")


def streaks(made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the streaks before each cycle: the columns `CYCLE`, `streak` (the certain one),
    `perhaps_streak` (the possible one) and `kept_streak` (both, with those of former leaders).
    """
    every = with_all_days(made)
    pairs = _broker_pairs(every, plan)
    went = causes.shed_unloads(every).select(*CYCLE).distinct().withColumn("went", F.lit(True))
    rows = pairs.join(went, CYCLE, "left")
    term, whole = ["cluster", "since"], ["cluster"]
    rows = _with_counts(rows, term, "own", _first_of(term, "fresh"))
    rows = _with_counts(rows, whole, "kept", _first_of(whole, "fresh"))
    terms = every["cycles"].select(*term).distinct()
    nth = F.dense_rank().over(Window.partitionBy("cluster").orderBy("since"))
    rows = rows.join(F.broadcast(terms.withColumn("nth", nth)), term)
    # A leader that returns may know its own earlier cycles without those of others in between.
    returns = F.col("nth") > MAX_KNOWN_TERMS
    begun = F.when(returns, F.lit(ASSUMED_STREAK_LENGTH)).otherwise(F.lit(0))
    unbroken = F.struct(
        *(
            F.when(
                F.col(f"own.perhaps.{name}") < _place_in(term) - 1, F.col(f"kept.perhaps.{name}")
            )
            .otherwise(F.greatest(f"kept.perhaps.{name}", begun))
            .alias(name)
            for name in average.HITS
        )
    )
    kept = F.struct(F.col("kept.streak").alias("streak"), unbroken.alias("perhaps"))
    own = F.struct(F.col("own.streak").alias("streak"), F.col("own.perhaps").alias("perhaps"))
    return rows.select(
        *CYCLE,
        F.col("own.streak").alias("streak"),
        F.col("own.perhaps").alias("perhaps_streak"),
        F.when(~own.eqNullSafe(kept), kept).alias("kept_streak"),
    )


MAX_KNOWN_TERMS = 2
"""Number of the last term of a cluster whose leader cannot return after another leader.

A leader that returns may know the cycles of its own earlier term, but not those in between.
"""


def _place_in(term: list[str]) -> Column:
    return F.row_number().over(Window.partitionBy(*term).orderBy("cycle"))


def _first_of(term: list[str], name: str) -> Column:
    return F.first(name).over(Window.partitionBy(*term).orderBy("cycle"))


def _with_counts(rows: DataFrame, keys: list[str], name: str, fresh: Column) -> DataFrame:
    """Add a struct of `streak` and `perhaps`, counted over all cycles with equal `keys`.

    `fresh` is true if no cycle can have preceded the first of them.
    """
    columns = rows.columns
    term = Window.partitionBy(*keys).orderBy("cycle")
    apart = F.col("pair") != F.lag("pair").over(term)
    after = F.coalesce(F.lag("went").over(term), F.lit(False))
    begun = F.when(fresh, F.lit(0)).otherwise(F.lit(ASSUMED_STREAK_LENGTH))
    counts = {}
    for one in average.HITS:
        rows, counts[one] = _count_consecutive(rows, keys, f"surely_{one}", apart | after, F.lit(0))
        rows, counts[f"perhaps_{one}"] = _count_consecutive(
            rows, keys, f"perhaps_{one}", F.lit(False), begun
        )
    before = {one: F.lag(count).over(term) for one, count in counts.items()}
    streak = F.struct(
        *(F.lag(f"pair.{one}").over(term).alias(one) for one in ("idle", "busy")),
        *(F.when(~after, before[one]).otherwise(F.lit(0)).alias(one) for one in average.HITS),
    )
    perhaps = F.struct(
        *(F.coalesce(before[f"perhaps_{one}"], begun).alias(one) for one in average.HITS)
    )
    both = F.struct(streak.alias("streak"), perhaps.alias("perhaps"))
    return rows.select(*columns, both.alias(name))


def _count_consecutive(
    rows: DataFrame, keys: list[str], holds: str, breaks: Column, begun: Column
) -> tuple[DataFrame, Column]:
    """Add a column that counts the consecutive rows up to the current one in which `holds` is true.

    The count starts again where `breaks` is true. `begun` is added to a count that started at the
    first row.
    """
    term = Window.partitionBy(*keys).orderBy("cycle")
    again = F.coalesce(F.lag(holds).over(term), F.lit(False))
    first = F.lag(holds).over(term).isNull()
    new = ~first & (~F.col(holds) | ~again | F.coalesce(breaks, F.lit(False)))
    run = f"run_{holds}"
    rows = rows.withColumn(f"new_{holds}", new)
    rows = rows.withColumn(run, F.count_if(f"new_{holds}").over(term))
    own = Window.partitionBy(*keys, run).orderBy("cycle")
    count = F.row_number().over(own) + F.when(F.col(run) == 0, begun).otherwise(F.lit(0))
    rows = rows.withColumn(f"count_{holds}", F.when(F.col(holds), count).otherwise(F.lit(0)))
    return rows, F.col(f"count_{holds}")


def with_all_days(made: GoldTables) -> GoldTables:
    """Return the tables with the rows of all days, even if only some days are being rebuilt."""
    return {name: made.get(f"{ALL_DAYS_PREFIX}{name}", table) for name, table in made.items()}


def _broker_pairs(made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return each cycle's least and most used brokers, and the thresholds that their difference
    exceeds.
    """
    moments = cycles.cycle_moments(made, plan)
    moments = moments.where(
        (F.col("strategy") == average.NAME) | (F.col("other_strategy") == average.NAME)
    )
    used = made["broker_usage"].select(*KEY, "broker", "present", "standing")
    if plan.since is not None:
        begun = F.lit(plan.since - LOOKBACK)
        moments, used = moments.where(F.col("cycle") >= begun), used.where(F.col("cycle") >= begun)
    clear = F.col("present").isNotNull() & F.col("standing").isNull()
    brokers = used.groupBy(*KEY).agg(
        F.min(F.struct("present", "broker")).alias("least"),
        F.min(F.struct((-F.col("present")).alias("negated"), "broker")).alias("most"),
        F.array_sort(F.collect_list("present")).alias("usages"),
        F.bool_and(clear).alias("clear"),
    )
    rows = moments.join(brokers, KEY)
    usages, last = F.col("usages"), F.size("usages")
    gaps = (F.get(usages, F.lit(1)) - F.get(usages, F.lit(0)), _nth_highest(1) - _nth_highest(2))
    alone = (last > 1) & (gaps[0] > POINTS) & (gaps[1] > POINTS)
    sound = F.col("doubt").isNull() & F.col("former").isNull() & F.col("other_strategy").isNull()
    sound = sound & F.coalesce(F.col(f"settings.{shedding.ENABLED}"), F.lit(False))
    known = F.coalesce(F.col("clear") & alone & sound, F.lit(False))
    apart = -F.col("most.negated") - F.col("least.present")
    exceeded = {}
    for name, (threshold, _) in average.HITS.items():
        beyond = apart - F.col(f"settings.{threshold}")
        exceeded[f"surely_{name}"] = F.bool_and(known & F.coalesce(beyond > POINTS, F.lit(False)))
        maybe = F.coalesce(beyond >= -POINTS, F.lit(True)) | ~F.col("clear") | ~sound
        exceeded[f"perhaps_{name}"] = F.bool_or(maybe)
    pair = F.struct(F.col("least.broker").alias("idle"), F.col("most.broker").alias("busy"))
    passed = F.unix_micros("cycle") - F.unix_micros("since")
    soon = (
        passed
        <= F.col(f"settings.{SHEDDING_INTERVAL}") * FIRST_CYCLE_INTERVALS * cycles.MICROS_OF_MINUTE
    )
    fresh = F.coalesce(
        soon & ~F.coalesce(F.col("doubt") == cycles.NO_LEADER, F.lit(False)), F.lit(False)
    )
    found = rows.groupBy(*CYCLE).agg(
        F.any_value("since").alias("since"),
        F.bool_and(fresh).alias("fresh"),
        F.min(pair).alias("pair"),
        (F.min(pair) == F.max(pair)).alias("one_pair"),
        *(column.alias(name) for name, column in exceeded.items()),
    )
    certain = {
        f"surely_{name}": F.col(f"surely_{name}") & F.col("one_pair") for name in average.HITS
    }
    return found.withColumns(certain)


def _nth_highest(place: int) -> Column:
    """Return the highest of the brokers' usages if `place` is 1, the second highest if it is 2."""
    return F.get("usages", F.size("usages") - place)
