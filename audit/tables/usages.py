"""`broker_usage`: each broker's usage in each cycle, and the leader's memory of earlier usage.

Smoothed usage depends on the smoothed usage after the previous cycle. To compute it at linear cost,
cycles are grouped into blocks. Each block maps the usage before it to the usage after it by an
affine function. These functions give the usage at the start of each block, from which the usage in
the cycles of the block is computed.

A leader's memory of a broker begins with the leader's term, or with the broker's return in a
release that forgets brokers that leave. Whether a new leader knows more is not always certain, so
`if_kept` has the bounds of a broker's usage if it does; see `former_leaders`.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark import shapes, threshold, usage
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.pipeline.plan import ALL_DAYS_PREFIX, AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import cycles, former_leaders, recent
from pulsar_conformance.audit.tables.last_reports import LATE, LOST
from pulsar_conformance.audit.tables.last_reports import UNKNOWN as UNKNOWN_CONTENT
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NAME = "broker_usage"
MOMENT = ("cluster", "cycle", "moment")
TERM = ("cluster", "broker", "since")
"""Key of a leader's term and a broker. The start of the leader's term identifies the leader."""

MEMORY_KEY = (*TERM, "back")
"""Key of a leader's memory of a broker.

`back` is the cycle in which the broker was back after the leader forgot it; otherwise it is
`since`.
"""

BLOCK = 128
"""Number of cycles in a block."""

AFFINE = "struct<scale double, shift double, fresh double>"
"""Spark type of the affine map of a block. The usage after the block is `scale` times the usage
before it plus `shift`, or `fresh` if there is no usage before it.
"""

UNKNOWN = float("nan")
"""Value of the usage after a cycle for which the share of earlier usage is unknown."""


def usages(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table. Earlier usage counts from the leader's start on.

    If the weight of earlier usage is 0, earlier usage does not count. If the weight is unknown,
    `before` and `used` are unknown, too. Only the first moment of each cycle enters a leader's
    memory. If `made` has earlier rows of the table, new rows continue from the usage in them.
    """
    earlier, moments = made.get(NAME), cycles.cycle_moments(made, plan)
    heirs = former_leaders.terms_with_heirs(silver, made, plan)
    if earlier is not None:
        moments = cycles.in_period_of(moments, plan)
        if heirs is None:
            earlier = recent.rows_since_leader_start(earlier, moments)
    moments = moments.select(*MOMENT, "since", "settings")
    forgotten = plan.alternative_of_way("gone-brokers") == "forgotten"
    returns = forgotten or plan.smooths_exactly
    preceding = _preceding_cycles(made) if returns else None
    if preceding is not None:
        moments = moments.join(preceding, ["cluster", "cycle"], "left")
    moments = moments.hint("shuffle_hash")
    known = made["last_reports"].join(moments, list(MOMENT))
    known = known.withColumn("percent", F.when(F.col("percent").isNotNull(), _counted_usage(plan)))
    carries = shapes.traffic(F.struct(*shapes.RATE_FIELDS))
    rows = known.select(
        *TERM,
        "cycle",
        "moment",
        usage.maximum(usage.weighted_percents_of(F.col("percent"), F.col("settings"))).alias(
            "present"
        ),
        F.col(f"settings.{threshold.HISTORY_SHARE}").alias("kept"),
        "percent",
        carries["messages"].alias("messages"),
        carries["bytes"].alias("bytes"),
        F.when(_is_unknown(), F.lit(0.0)).otherwise(F.col("present")).alias("least"),
        F.when(_is_unknown(), F.lit(WIDEST_USAGE_RANGE)).otherwise(F.col("present")).alias("most"),
        "standing",
        "note",
        *(("preceding",) if returns else ()),
    )
    if earlier is not None:
        rows = rows.unionByName(_remembered_cycles(earlier), allowMissingColumns=True)
    if heirs is not None:
        rows = rows.join(F.broadcast(heirs.drop("until")), ["cluster", "since"])
    rows = _with_returns(rows, forgotten=forgotten)
    rows = _with_history(checkpointed_if_tiny(rows), exact=plan.smooths_exactly)
    return cycles.in_period_of(rows, plan)


def _is_unknown() -> Column:
    """True if the content of the broker's newest report is unknown."""
    return F.coalesce(F.col("standing").isin(UNKNOWN_CONTENT, LOST), F.lit(False))


def _counted_usage(plan: AuditPlan) -> Column:
    """Return the usage by resource, with 0 for resources that the release does not count."""
    percent, none = F.col("percent"), F.lit(0.0)
    if plan.alternative_of_way("heap-memory") == "left-out":
        percent = percent.withField("memory", none)
    if plan.alternative_of_way("overload-usage") == "weighted":
        for name, weight in usage.WEIGHTS.items():
            off = F.coalesce(F.col(f"settings.{weight}") == 0, F.lit(False))
            percent = percent.withField(name, F.when(off, none).otherwise(percent[name]))
    return percent


def _preceding_cycles(made: GoldTables) -> DataFrame:
    """Return `cluster`, `cycle` and `preceding`, the cycle before it in the same leader's term."""
    ran = made.get(f"{ALL_DAYS_PREFIX}cycles", made["cycles"])
    course = Window.partitionBy("cluster", "since").orderBy("cycle")
    return ran.select("cluster", "cycle", F.lag("cycle").over(course).alias("preceding"))


def _with_returns(rows: DataFrame, *, forgotten: bool) -> DataFrame:
    """Add `returned`, true in the first cycle with a broker after a cycle without it, and `back`.

    `back` is the last such cycle if the leader has `forgotten` the broker, and otherwise `since`.
    """
    course = Window.partitionBy(*TERM).orderBy("cycle", "moment")
    earlier = F.lag("cycle").over(course)
    known = F.col("preceding") if "preceding" in rows.columns else F.lit(None).cast("timestamp")
    given = F.col("back") if "back" in rows.columns else F.lit(None).cast("timestamp")
    again = F.coalesce((earlier < known) & (earlier < F.col("cycle")), F.lit(False))
    rows = rows.withColumn("returned", again | F.coalesce(given > F.col("since"), F.lit(False)))
    back = F.last(F.when(again, F.col("cycle")).otherwise(given), ignorenulls=True)
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    since = F.col("since")
    return rows.withColumn("back", F.coalesce(back.over(so_far), since) if forgotten else since)


def _remembered_cycles(earlier: DataFrame) -> DataFrame:
    """Return the leader's memory at the end of the earlier rows, as a row for each term.

    The rows have the form of cycles that precede the new ones.
    """
    last = F.max_by(F.struct("cycle", "moment", "memory", "back"), F.struct("cycle", "moment"))
    rows = earlier.groupBy(*TERM).agg(last.alias("last")).select(*TERM, "last.*")
    return rows.select(
        *TERM,
        "cycle",
        F.col("cycle").alias("moment"),
        "back",
        F.col("memory.after").alias("present"),
        F.lit(0.0).alias("kept"),
        F.col("memory.least").alias("least"),
        F.col("memory.most").alias("most"),
        F.col("memory.width").alias("width"),
        *(F.col(f"memory.{name}").alias(name) for name in former_leaders.MEMORY_FIELDS),
    )


WIDEST_USAGE_RANGE = 100.0
"""Percentage points between the bounds of usage if the broker's report may not count."""


def _with_widths(rows: DataFrame) -> DataFrame:
    """Add the column `after width`, the uncertainty of the smoothed usage after each cycle.

    The uncertainty is smoothed like the usage itself. In a single cycle, it is the range of the
    usage over the cycle's moments. After a cycle without the broker, nothing is certain, since no
    document says whether the leader still knows its earlier usage.
    """
    own = Window.partitionBy(*MEMORY_KEY, "cycle")
    doubt = F.max(F.col("standing").isNotNull()).over(own)
    apart = F.max("present").over(own) - F.min("present").over(own)
    width = F.when(doubt, F.lit(WIDEST_USAGE_RANGE)).otherwise(apart)
    given = F.col("width") if "width" in rows.columns else F.lit(None)
    rows = rows.withColumn("width", F.coalesce(given, width))
    once = rows.groupBy(*MEMORY_KEY, "cycle").agg(
        F.max("width").alias("present"), F.any_value("kept").alias("kept")
    )
    away = rows.where("returned and preceding is not null")
    away = away.select(*MEMORY_KEY, F.col("preceding").alias("cycle"))
    away = away.withColumns({"present": F.lit(WIDEST_USAGE_RANGE), "kept": F.lit(0.0)})
    once = once.unionByName(away)
    after = usage_after_cycles(once.where("present is not null"))
    after = after.withColumnRenamed("after", "after width")
    return rows.join(after.hint("shuffle_hash"), [*MEMORY_KEY, "cycle"], "left")


def _with_history(rows: DataFrame, *, exact: bool) -> DataFrame:
    """Add the usage in earlier cycles to each row, and the usage smoothed with it.

    If `exact`, also add bounds of the smoothed usage, since it differs between the moments of a
    cycle.
    """
    rows = _with_widths(rows) if exact else rows
    counts = (F.col("moment") == F.col("cycle")) & F.col("present").isNotNull()
    counts = counts & ~F.coalesce(F.col("standing") == LATE, F.lit(False))
    rows = rows.withColumn("counts", counts)
    after = usage_after_cycles(rows.where("counts").select(*MEMORY_KEY, "cycle", "present", "kept"))
    rows = rows.join(after.hint("shuffle_hash"), [*MEMORY_KEY, "cycle"], "left")
    course = Window.partitionBy(*MEMORY_KEY).orderBy("cycle", "moment")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    none = F.lit(None).cast("double")
    told = F.when(F.col("counts"), F.struct("after"))
    memory = F.struct(
        F.min("least").over(so_far).alias("least"),
        F.max("most").over(so_far).alias("most"),
        F.last(told, ignorenulls=True).over(so_far)["after"].alias("after"),
        F.last(F.col("after width"), ignorenulls=True).over(so_far).alias("width")
        if exact
        else none.alias("width"),
    )
    rows = rows.withColumn("memory", memory)
    rows = former_leaders.with_memory(rows, usage_after_cycles if exact else None)
    rows = rows.withColumn("earlier", F.lag("memory").over(course))
    own = Window.partitionBy(*MEMORY_KEY, "cycle").orderBy("moment")
    rows = rows.withColumn("earlier", F.first("earlier").over(own))
    kept, present, earlier = F.col("kept"), F.col("present"), F.col("earlier")
    counting = F.coalesce(kept > 0, F.lit(True)) & earlier["least"].isNotNull()
    before = F.when(counting, F.nanvl(earlier["after"], F.lit(None).cast("double")))
    told = earlier["after"].isNotNull() | kept.isNull()
    used = F.when(counting & told, usage.mix_or_null(before, present, kept)).otherwise(present)
    least, most = (F.when(counting, earlier[name]) for name in ("least", "most"))
    returned = F.max("returned").over(Window.partitionBy(*MEMORY_KEY, "cycle"))
    before_width = F.when(returned, WIDEST_USAGE_RANGE).otherwise(F.nanvl(earlier["width"], none))
    width = F.when(counting, kept * before_width).otherwise(F.lit(0.0))
    return rows.select(
        "cluster",
        "cycle",
        "moment",
        "broker",
        "since",
        "back",
        "percent",
        "present",
        counting.alias("observed"),
        before.alias("before"),
        used.alias("used"),
        F.least(least, present).alias("least"),
        F.greatest(most, present).alias("most"),
        (used - width).alias("lower"),
        (used + width).alias("upper"),
        "messages",
        "bytes",
        "memory",
        former_leaders.if_kept(
            (F.least(least, present), F.greatest(most, present)),
            (used - width, used + width),
            exact=exact,
        ).alias("if_kept"),
        "standing",
        "note",
    )


def usage_after_cycles(rows: DataFrame) -> DataFrame:
    """Return the smoothed usage after each cycle of each leader's memory, in the column `after`.

    It is `UNKNOWN` if the share of earlier usage is unknown.
    """
    nth = F.row_number().over(Window.partitionBy(*MEMORY_KEY).orderBy("cycle")) - 1
    rows = rows.withColumn("block", F.floor(nth / BLOCK).cast("int"))
    items = F.array_sort(F.collect_list(F.struct("cycle", "present", "kept"))).alias("items")
    blocks = (
        rows.groupBy(*MEMORY_KEY, "block").agg(items).withColumn("map", _block_map(F.col("items")))
    )
    whole = blocks.groupBy(*MEMORY_KEY).agg(
        F.array_sort(F.collect_list(F.struct("block", "map", "items"))).alias("blocks")
    )
    maps = F.transform("blocks", lambda block: block["map"])
    starts = F.aggregate(maps, _empty_course(F.lit(None).cast("double")), _advance_block)["each"]
    paired = F.arrays_zip(F.col("blocks").alias("block"), starts.alias("start"))
    each = whole.select(*MEMORY_KEY, F.inline(paired))
    within = F.aggregate(F.col("block.items"), _empty_course(F.col("start")), _advance_cycle)[
        "each"
    ]
    cycle = F.col("block.items.cycle")
    told = F.arrays_zip(cycle.alias("cycle"), within.alias("after"))
    return each.select(*MEMORY_KEY, F.inline(told))


def _block_map(items: Column) -> Column:
    """Return the affine map of a block of cycles."""
    start = F.struct(
        F.lit(1.0).alias("scale"),
        F.lit(0.0).alias("shift"),
        F.lit(None).cast("double").alias("fresh"),
    )

    def further(so_far: Column, item: Column) -> Column:
        kept, present = _history_share(item), item["present"]
        none = kept == 0
        shifted = so_far["shift"] * kept + present * (F.lit(1.0) - kept)
        return F.struct(
            F.when(none, 0.0).otherwise(so_far["scale"] * kept).alias("scale"),
            F.when(none, present).otherwise(shifted).alias("shift"),
            _next_usage(so_far["fresh"], item).alias("fresh"),
        )

    return F.aggregate(items, start.cast(AFFINE), further)


def _history_share(item: Column) -> Column:
    return F.coalesce(item["kept"], F.lit(UNKNOWN))


def _next_usage(before: Column, item: Column) -> Column:
    """Return the smoothed usage after a cycle; after the first cycle, it is the cycle's own
    usage.
    """
    kept, present = _history_share(item), item["present"]
    mixed = before * kept + present * (F.lit(1.0) - kept)
    return F.when(before.isNull() | (kept == 0), present).otherwise(mixed)


def _empty_course(start: Column) -> Column:
    nothing = F.array().cast("array<double>")
    return F.struct(start.alias("now"), nothing.alias("each"))


def _advance_block(course: Column, block: Column) -> Column:
    """Append the usage before a block to the list in `course`, and compute the usage after the
    block.
    """
    now = course["now"]
    mapped = F.when(block["scale"] == 0, block["shift"]).otherwise(
        block["scale"] * now + block["shift"]
    )
    after = F.when(now.isNull(), block["fresh"]).otherwise(mapped)
    return F.struct(after.alias("now"), F.array_append(course["each"], now).alias("each"))


def _advance_cycle(course: Column, item: Column) -> Column:
    """Compute the usage after a cycle, and append it to the list in `course`."""
    after = _next_usage(course["now"], item)
    return F.struct(after.alias("now"), F.array_append(course["each"], after).alias("each"))
