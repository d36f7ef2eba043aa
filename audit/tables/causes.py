"""`unloads`: why each bundle was unloaded, and the shedding cycle that caused it.

A recorded cause is used. Otherwise, the cause is derived from other records: whether a cycle ran
just before, the bundle had just been split, or all bundles of its broker or namespace were
unloaded. If they do not show the cause, it is `open`, and the cycle is judged with and without the
unload.
"""

from __future__ import annotations

from pulsar_conformance.adapters.spark import ranges, shapes
from pulsar_conformance.adapters.spark.averages import Timeline
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.input.parsing import ADMIN, SHEDDING, SHUTDOWN, SPLIT, UNKNOWN
from pulsar_conformance.audit.input.silver import LOST_UNLOAD
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables.names import with_reported_names
from pulsar_conformance.audit.tables.owners import with_owner
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

QUICK_SECONDS = 10.0
"""Maximum seconds from a cycle to its first unload, and from each of its unloads to the next.

This limit applies if no cause is recorded.
"""

UNLOADING_SECONDS = 60.0
"""Seconds that the unloads of a cycle may take. Pulsar waits at most this long for each bundle."""

SLOW_CYCLE_SECONDS = 600.0
"""Seconds without a successful unload after which a cycle is assumed to unload no more bundles.

In this time, ten unloads in succession would have failed.
"""

MAX_LEAD = 1.0
"""Maximum seconds by which the record of an unload may precede the cycle that caused it."""

MAX_SKEW = 5.0
"""Maximum difference between the clocks of two brokers, in seconds."""

BURST_SECONDS = 60
"""Maximum seconds between unloads by a stopping broker, or of a whole namespace."""

SILENCE = 15 * 60.0
"""Seconds without a report after which a broker is assumed to have stopped."""

OFFLOADING_SECONDS = 60.0
"""Maximum seconds from a split to the unloads of its parts."""

NO_REPORTS_BY_BROKER = "the broker named in its record sends no reports"
KEY = ("cluster", "broker", "bundle", "at")

BROADCAST_ROWS = 2_000
"""Maximum number of rows that Spark broadcasts; their size is within the limit in `SUMMARIES`."""

COLUMNS = (
    "cluster string, cycle timestamp, at timestamp, broker string, bundle string, cause string, "
    "open boolean, owner string, basis string"
)


def bounded_count(rows: DataFrame) -> int:
    """Return the number of rows; `BROADCAST_ROWS` + 1 if there are more than `BROADCAST_ROWS`."""
    return int(rows.limit(BROADCAST_ROWS + 1).count())


def broadcast_few(rows: DataFrame, count: int) -> DataFrame:
    """Broadcast the rows if there are at most `BROADCAST_ROWS`.

    Samples can then be joined to them without a shuffle.
    """
    return F.broadcast(rows) if count <= BROADCAST_ROWS else rows


def unload_rows(silver: Silver, made: GoldTables, _plan: AuditPlan) -> DataFrame:
    """Return the table: a row for each unload and each cycle that may have caused it. If there is
    no such cycle, an unload has one row without a cycle.

    `cause` is the recorded or most likely cause, `open` is true if it is uncertain whether shedding
    caused the unload, `basis` is the reason for both, and `owner` is the bundle's last recorded
    owner.
    """
    silver = with_reported_names(silver)
    went = checkpointed_if_tiny(_recorded_unloads(silver))
    count = bounded_count(went)
    if not count:
        return shapes.empty_frame(went, COLUMNS)
    evident = _with_reports(silver, _with_namespaces(silver, went, count))
    sought = broadcast_few(went.select("cluster", "bundle").distinct(), count)
    owned = with_owner(silver, sought, _with_splits(silver, evident))
    return _repeat_for_cycles(
        _attribute_to_owners(silver, checkpointed_if_tiny(owned)), made["cycles"]
    )


def _attribute_to_owners(silver: Silver, rows: DataFrame) -> DataFrame:
    """Attribute unloads by brokers without reports to the bundle's owner, and mark them as
    `unnamed`.

    The broker's name is probably another address of the owner. If no broker of the cluster has
    reports, unloads stay unchanged.
    """
    known = silver.broker_samples.select("cluster", "broker").distinct()
    reporting = known.select("cluster", F.lit(True).alias("reports")).distinct()
    rows = rows.join(
        F.broadcast(known.withColumn("known", F.lit(True))), ["cluster", "broker"], "left"
    ).join(F.broadcast(reporting), "cluster", "left")
    other = F.coalesce(F.col("owner") != F.col("broker"), F.lit(False))
    unnamed = F.isnull("known") & F.isnotnull("reports") & other
    broker = F.when(unnamed, F.col("owner")).otherwise(F.col("broker"))
    return rows.withColumns({"unnamed": unnamed, "broker": broker}).drop("known", "reports")


def shed_unloads(made: GoldTables) -> DataFrame:
    """Return the unloads that shedding caused or may have caused."""
    rows = made["unloads"].where("cycle is not null")
    return rows.where((F.col("cause") == SHEDDING) | F.col("open"))


def _recorded_unloads(silver: Silver) -> DataFrame:
    """Return the unloads with `said` (the recorded cause), `damaged` (quarantined) and `doubled`.

    `doubled` is true if the same broker unloaded the bundle at most `MAX_SKEW` seconds earlier, and
    no owner is recorded in between. The two records may be one event in two logs, and either of
    them may name its cause.
    """
    known = silver.actions.where(F.col("kind").isin("unloaded", "assigned"))
    rows = known.select(
        *KEY,
        "kind",
        F.nullif("cause", F.lit(UNKNOWN)).alias("said"),
        F.lit(False).alias("damaged"),
    )
    lost = silver.contexts.where((F.col("kind") == LOST_UNLOAD) & F.col("broker").isNotNull())
    rows = rows.unionByName(
        lost.where("bundle is not null").select(
            *KEY,
            F.lit("unloaded").alias("kind"),
            F.lit(None).cast("string").alias("said"),
            F.lit(True).alias("damaged"),
        )
    )
    course = Window.partitionBy("cluster", "bundle").orderBy("at", F.desc("kind"), "said")
    before, after = (
        {name: step(name).over(course) for name in ("kind", "broker", "at", "said")}
        for step in (F.lag, F.lead)
    )

    def same(other: dict[str, Column]) -> Column:
        near = F.abs(F.unix_micros(other["at"]) - F.unix_micros("at")) <= MAX_SKEW * 1_000_000
        alike = (other["kind"] == "unloaded") & (other["broker"] == F.col("broker"))
        return _certainly(alike & near)

    rows = rows.withColumns(
        {"doubled": same(before), "said": F.coalesce("said", F.when(same(after), after["said"]))}
    )
    return rows.where("kind = 'unloaded'").drop("kind")


def _unix_seconds(time: str) -> Column:
    return F.unix_micros(time) / 1_000_000


def _with_reports(silver: Silver, went: DataFrame) -> DataFrame:
    """Add `reported` and `owned` (time and bundles of the broker's last report), and `ended`.

    `ended` is true if the broker unloaded all its bundles at about the same time, or sent no report
    for more than `SILENCE` seconds afterwards.
    """
    report = F.struct("at", "bundles").alias("report")
    samples = silver.broker_samples.select(
        "cluster", "broker", "at", F.col("at").alias("seen"), report
    )
    marks = went.withColumn("turn", F.lit(1)).unionByName(
        samples.withColumn("turn", F.lit(0)), allowMissingColumns=True
    )
    course = Timeline(("cluster", "broker"), ("at", "turn"))
    marks = marks.withColumns(
        {
            "last": F.last("report", ignorenulls=True).over(course.window_so_far()),
            "next": course.value_after("seen"),
        }
    ).where("turn = 1")
    at_once = Window.partitionBy("cluster", "broker").orderBy(F.unix_seconds("at"))
    near = at_once.rangeBetween(-BURST_SECONDS, BURST_SECONDS)
    ends = silver.broker_samples.groupBy("cluster").agg(F.max("at").alias("ends"))
    marks = marks.withColumn("given", F.collect_set("bundle").over(near))
    marks = marks.join(F.broadcast(ends), "cluster", "left")
    owned = F.col("last.bundles")
    every = (F.size(owned) > 1) & (F.size(F.array_except(owned, "given")) == 0)
    silent = (
        F.coalesce(_unix_seconds("next"), _unix_seconds("ends")) - _unix_seconds("at") > SILENCE
    )
    return marks.select(
        *went.columns,
        F.col("last.at").alias("reported"),
        owned.alias("owned"),
        F.coalesce(every | silent, F.lit(False)).alias("ended"),
    )


def _with_splits(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `split`, true if the bundle or its parent had just been split, and `unseen`.

    `unseen` is true if no report has listed the bundle since the split.
    """
    splits = silver.actions.where("kind = 'split'").select(
        "cluster",
        F.col("at").alias("cut"),
        F.explode(F.concat("into", F.array("bundle"))).alias("bundle"),
    )
    marks = rows.withColumn("turn", F.lit(1)).unionByName(
        splits.withColumns({"turn": F.lit(0), "at": F.col("cut") - _as_interval(MAX_LEAD)}),
        allowMissingColumns=True,
    )
    course = Window.partitionBy("cluster", "bundle").orderBy("at", "turn")
    so_far = course.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marks = marks.withColumn("cut", F.last("cut", ignorenulls=True).over(so_far))
    marks = marks.where("turn = 1")
    just = _unix_seconds("at") - _unix_seconds("cut") <= OFFLOADING_SECONDS
    seen = (F.col("reported") > F.col("cut")) & F.array_contains("owned", F.col("bundle"))
    return marks.select(
        *rows.columns,
        F.coalesce(just, F.lit(False)).alias("split"),
        (~F.coalesce(seen, F.lit(False))).alias("unseen"),
    )


def _as_interval(seconds: float) -> Column:
    return F.make_dt_interval(secs=F.lit(seconds).cast("decimal(18, 6)"))


def _with_namespaces(silver: Silver, went: DataFrame, count: int) -> DataFrame:
    """Add `emptied`, true if all bundles of the namespace were unloaded together."""
    space = ranges.namespace_of(F.col("bundle"))
    rows = went.withColumns({"space": space, "of": F.to_date("at")})
    at_once = Window.partitionBy("cluster", "space").orderBy(F.unix_seconds("at"))
    given = F.collect_set("bundle").over(at_once.rangeBetween(-BURST_SECONDS, BURST_SECONDS))
    rows = rows.withColumn("given", F.size(given))
    many = rows.where("given > 1").select("cluster", "space", "of").distinct()
    named = silver.bundle_samples.select(
        "cluster", F.to_date("at").alias("of"), space.alias("space"), "bundle"
    )
    known = named.join(broadcast_few(many, count), ["cluster", "space", "of"], "left_semi")
    counts = known.groupBy("cluster", "space", "of").agg(F.countDistinct("bundle").alias("known"))
    rows = rows.join(counts, ["cluster", "space", "of"], "left")
    emptied = (F.col("given") > 1) & (F.col("given") >= F.col("known"))
    return rows.withColumn("emptied", F.coalesce(emptied, F.lit(False))).drop(
        "space", "of", "given", "known"
    )


def _repeat_for_cycles(rows: DataFrame, ran: DataFrame) -> DataFrame:
    """Return a copy of each unload for each cycle that may have caused it."""
    cycle = F.struct("cycle", "upto", F.col("logged").alias("recorded")).alias("ran")
    cycles = ran.select("cluster", F.col("cycle").alias("at"), cycle, F.lit(0).alias("turn"))
    marks = rows.withColumn("turn", F.lit(1)).unionByName(cycles, allowMissingColumns=True)
    course = Timeline(("cluster",), ("at", "turn"))
    marks = marks.withColumns(
        {
            "ran": F.last("ran", ignorenulls=True).over(course.window_so_far()),
            "due": course.value_after("ran"),
        }
    ).where("turn = 1")
    within = F.col("at") < F.col("ran.upto")
    marks = marks.withColumns(
        {
            "ran": F.when(within, F.col("ran")),
            "due": F.when(F.col("due.recorded"), F.col("due")),
        }
    )
    marks = marks.withColumns(
        {
            "late": _unix_seconds("at") - _unix_seconds("ran.cycle"),
            "early": _unix_seconds("due.cycle") - _unix_seconds("at"),
        }
    )
    maybe = F.col("said").isNull() | (F.col("said") == SHEDDING)
    own = Window.partitionBy("cluster", F.col("ran.cycle")).orderBy("at")
    last = F.last(F.when(maybe, _unix_seconds("at")), ignorenulls=True)
    last = last.over(own.rowsBetween(Window.unboundedPreceding, -1))
    gap = _unix_seconds("at") - F.coalesce(last, _unix_seconds("ran.cycle"))
    marks = marks.withColumn("gap", F.when(maybe, gap))
    widest = F.max("gap").over(own.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    marks = marks.withColumn("quick", _certainly(widest <= QUICK_SECONDS))
    marks = marks.withColumn("kept", _was_kept(own))
    each = marks.withColumns(_cause_columns()).withColumn("of", F.explode(_possible_cycles()))
    return each.select(
        "cluster",
        F.col("of.cycle").alias("cycle"),
        "at",
        "broker",
        "bundle",
        "cause",
        (F.col("may_shed") & (F.col("of.open") | _is_uncertain())).alias("open"),
        "owner",
        "basis",
    )


def _was_kept(own: WindowSpec) -> Column:
    """True if an unload without known cause came after the end of the previous cycle.

    The cycle was over if the broker still had the bundle more than `SLOW_CYCLE_SECONDS` after both
    the start of the cycle and the cycle's previous unload. `own` is a window over the unloads that
    follow the cycle.
    """
    shed = F.when((F.col("said") == SHEDDING) | F.col("quick"), _unix_seconds("at"))
    last = F.last(shed, ignorenulls=True).over(own.rowsBetween(Window.unboundedPreceding, -1))
    idle = _unix_seconds("had") - F.coalesce(last, _unix_seconds("ran.cycle"))
    unseen = F.col("early").isNull() | (F.col("early") > MAX_SKEW)
    unexplained = F.col("said").isNull() & ~F.col("split") & ~F.col("ended") & ~F.col("emptied")
    return _certainly(F.col("ran.recorded") & unseen & unexplained & (idle > SLOW_CYCLE_SECONDS))


def _is_uncertain() -> Column:
    """True if it is uncertain whether the unload happened, or which broker made it."""
    return F.col("doubled") | F.col("damaged") | F.col("unnamed")


def _cause_columns() -> dict[str, Column]:
    """Return the columns `cause`, `basis`, and `may_shed`, true if shedding may be the cause."""
    said = F.col("said")
    shortly = F.col("quick") | _certainly(F.col("early") <= MAX_LEAD)
    near = shortly | _certainly(F.col("late") <= UNLOADING_SECONDS)
    skewed = _certainly(F.col("early") <= MAX_SKEW)
    guessed = _certainly(~F.col("ran.recorded"))
    offloaded, cut = F.col("split") & F.col("unseen"), F.col("split")
    explained = cut | F.col("ended") | F.col("emptied")
    cause = (
        F.when(said.isNotNull(), said)
        .when(cut, SPLIT)
        .when(F.col("ended"), SHUTDOWN)
        .when(F.col("emptied"), ADMIN)
        .when(shortly & ~guessed, SHEDDING)
        .otherwise(UNKNOWN)
    )
    basis = (
        F.when(F.col("unnamed"), F.lit(NO_REPORTS_BY_BROKER))
        .when(F.col("damaged"), F.lit("its record is quarantined"))
        .when(said.isNotNull(), F.lit("recorded"))
        .when(cut, F.lit("it had just been split"))
        .when(F.col("ended"), F.lit("its broker unloaded all bundles, or stopped reporting"))
        .when(F.col("emptied"), F.lit("its whole namespace was unloaded"))
        .when(shortly & ~guessed, F.lit("a cycle ran just before"))
        .when(guessed, F.lit("no cycle and no cause is recorded"))
        .when(F.col("kept"), F.lit("its broker still had the bundle long after the last cycle"))
        .otherwise(F.lit("no cycle ran just before, and no cause is recorded"))
    )
    silent = said.isNull() & ~offloaded & ~(explained & ~near & ~skewed & ~guessed)
    silent = silent & ~F.col("kept")
    return {
        "cause": cause,
        "basis": basis,
        "may_shed": F.coalesce((said == SHEDDING) | silent, F.lit(False)),
    }


def _certainly(holds: Column) -> Column:
    return F.coalesce(holds, F.lit(False))


def _possible_cycles() -> Column:
    """Return the cycles that may have caused an unload, each with `open`.

    If there are no such cycles, return a single null cycle.
    """
    shedding = F.col("cause") == SHEDDING
    ran, due, early = F.col("ran.cycle"), F.col("due.cycle"), F.col("early")
    none = F.lit(None).cast("timestamp")

    def cause(cycle: Column, is_open: Column) -> Column:
        return F.struct(cycle.alias("cycle"), F.coalesce(is_open, F.lit(False)).alias("open"))

    late = F.col("late")
    own_cycle = F.col("ran.recorded") & (late <= MAX_LEAD) & (late < F.coalesce(early, late + 1))
    own_cycle = _certainly(own_cycle)
    same = _certainly(early <= MAX_LEAD) & ~own_cycle
    both = same & _certainly(F.col("ran.recorded") & (late <= QUICK_SECONDS))
    either = (_certainly(early <= MAX_SKEW) & ~same & ~own_cycle) | both
    same = same & ~both
    apart = F.col("ran.recorded") & (F.col("late") > UNLOADING_SECONDS) & ~F.col("quick")
    own = cause(ran, ~shedding | apart)
    return (
        F.when(F.col("kept"), F.array(cause(none, F.lit(False))))
        .when(~F.col("may_shed"), F.array(cause(ran, F.lit(False))))
        .when(same, F.array(cause(due, ~shedding)))
        .when(either & ran.isNull(), F.array(cause(due, ~shedding)))
        .when(either, F.array(cause(due, F.lit(True)), cause(ran, F.lit(True))))
        .when(ran.isNull(), F.array(cause(none, F.lit(False))))
        .otherwise(F.array(own))
    )
