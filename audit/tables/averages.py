"""`bundle_averages`: each bundle's traffic in each cycle, and the time since its last unload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pulsar_conformance.adapters.spark import averages as known
from pulsar_conformance.adapters.spark import ranges, shapes
from pulsar_conformance.audit.input.parsing import ADMIN, SHEDDING, UNKNOWN
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import causes, cycles, former_leaders, recent
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

FRAMES: Mapping[str, int] = {"shortTermData": 10, "longTermData": 1000}
"""Number of samples in each time frame. [DATA-03]"""

SAMPLE, RECORD, LOOK, UNLOAD = range(4)
"""Order of rows with equal times, by their kind.

A row of kind `LOOK` requests the averages at a time. They include the samples and the leader's
records of the same time, but not its unloads. A record replaces the samples of the same time.
"""


def averages_table(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table: averages since the leader's start, or as the leader recorded them.

    A recorded average replaces all earlier samples, and later samples are added to it. Once the
    leader itself has taken as many samples as that average includes, only its own samples count.
    The column `documented` has the averages by a release's documents, if they differ.
    """
    rows = _timeline(silver, made, plan)
    begun = made["cycles"].select("cluster", "since", "until").distinct()
    rows = rows.join(F.broadcast(begun), "cluster").where("at >= since and at < until")
    for former in _unloads_of_former_leaders(silver, made, plan):
        rows = rows.unionByName(former, allowMissingColumns=True)
    rows = rows.withColumn("key", F.xxhash64("cluster", "bundle", "since"))
    keys, order = ("key", "cluster", "bundle", "since"), ("at", "turn", "broker")
    so_far = known.Timeline(keys, order).window_so_far()
    sides = ("", DOCUMENTED) if plan.documents else ("",)
    names = [f"{side}{name}" for side in sides for name in ("went", "surely")]
    went = {name: F.last(name, ignorenulls=True).over(so_far) for name in names}
    went["contested"] = _is_contested(keys)
    taken = F.col(known.SAMPLE_NUMBER).alias("taken")
    sums = (known.running_sum_of(rate).alias(rate) for rate in shapes.RATE_FIELDS)
    said = F.when(F.col("data").isNotNull(), F.struct("data", taken, *sums))
    of_sums = {"taken": taken, "said": F.last(said, ignorenulls=True).over(so_far)}
    others = _documented_window(plan)
    most = (
        _most_samples(silver) if "fading" in (plan.readings["window"], *others.values()) else None
    )
    rows = known.averages(rows, keys, order, FRAMES, plan.readings, went, of_sums, others, most)
    rows = rows.where(F.col("turn") == LOOK)
    prefix = DOCUMENTED if others else ""
    documented = [_average_column(name, window, prefix) for name, window in FRAMES.items()]
    return rows.select(
        "cluster",
        "cycle",
        F.col("at").alias("moment"),
        "broker",
        "bundle",
        *(_average_column(name, window) for name, window in FRAMES.items()),
        *_minutes_since_unload(""),
        "contested",
        F.struct(*documented, *_minutes_since_unload(DOCUMENTED)).alias("documented")
        if plan.documents
        else F.lit(None).cast(DOCUMENTED_TYPE).alias("documented"),
    )


def _most_samples(silver: Silver) -> int:
    """Return the largest number of samples of any bundle, using a small Spark job."""
    each = silver.bundle_samples.groupBy("cluster", "bundle").agg(F.count(F.lit(1)).alias("many"))
    (row,) = each.agg(F.max("many").alias("many")).collect()
    return row["many"] or 0


def _minutes_since_unload(side: str) -> tuple[Column, Column]:
    """Return the columns `moved` and `surely_moved`, in minutes before the cycle.

    `moved` is the shortest possible time since the last unload that may have started a grace
    period. `surely_moved` is the longest possible time since the last unload that certainly started
    a grace period. The cycle's own unloads do not count, since the cycle decides before them.
    """
    times = {"moved": ("went", F.least), "surely_moved": ("surely", F.greatest)}
    moved, surely = (
        _minutes_between(clock("at", "cycle"), _last_unload_before_cycle(f"{side}{which}")).alias(
            name
        )
        for name, (which, clock) in times.items()
    )
    return moved, surely


def _last_unload_before_cycle(name: str) -> Column:
    """Return the time of the bundle's last unload before the cycle, from a column of
    `_with_former`.
    """
    known = F.col(name)
    return F.when(known["last"] >= F.col("cycle"), known["before"]).otherwise(known["last"])


def _with_former(went: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the unloads; each column of times in `names` becomes a struct of two times.

    `last` is the time of the unload itself. `before` is the time of the bundle's last earlier
    unload for which the column is not null.
    """
    course = Window.partitionBy("cluster", "bundle").orderBy("at")
    earlier = course.rowsBetween(Window.unboundedPreceding, -1)
    pairs = {
        name: F.struct(
            F.col(name).alias("last"), F.last(name, ignorenulls=True).over(earlier).alias("before")
        )
        for name in names
    }
    return went.withColumns(
        {name: F.when(F.col(name).isNotNull(), pair) for name, pair in pairs.items()}
    )


def _is_contested(keys: Sequence[str]) -> Column:
    """True in a row of kind `LOOK` if the last reports of several brokers list the bundle."""
    together = Window.partitionBy(*keys).orderBy("at", "turn")
    together = together.rangeBetween(Window.currentRow, Window.currentRow)
    several = F.min("broker").over(together) != F.max("broker").over(together)
    return (F.col("turn") == LOOK) & several


DOCUMENTED = "documented_"
DOCUMENTED_TYPE = (
    f"struct<{', '.join(f'{name} {shapes.AVERAGE}' for name in FRAMES)}, "
    "moved double, surely_moved double>"
)
"""Spark type of the column `documented`."""


def _documented_window(plan: AuditPlan) -> Mapping[str, str]:
    """Return the documents' alternative of the reading `window`, with the key `DOCUMENTED`.

    Empty if the audit does not judge by the documents as well, or if the plan itself has the same
    alternative.
    """
    window = plan.documents.readings["window"] if plan.documents else plan.readings["window"]
    return {} if window == plan.readings["window"] else {DOCUMENTED: window}


def as_documented(rows: DataFrame) -> DataFrame:
    """Return the rows of the table with the averages by the documents."""
    own = F.col("documented")
    names = (*FRAMES, "moved", "surely_moved")
    return rows.withColumns({name: F.when(own.isNotNull(), own[name]) for name in names})


def _average_column(name: str, window: int, prefix: str = "") -> Column:
    """Return the average over a time frame of `window` samples.

    It combines the latest record with the samples after it.
    """
    own, said = F.col(f"{prefix}{name}"), F.col(f"said.data.{name}")
    counted = shapes.or_zero(said["numSamples"])
    new = F.col("taken") - F.col("said.taken")
    own_alone = F.isnull("said") | (F.col("taken") >= F.least(counted + new, F.lit(window)))
    kept = F.least(counted, window - new)
    # The samples before the record did not fill the time frame, so all of them count.
    sums_of_new = (
        own[rate] * own["numSamples"] - F.col("said")[rate] for rate in shapes.RATE_FIELDS
    )
    rates = (
        ((shapes.or_zero(said[rate]) * kept + sum_) / (kept + new)).alias(rate)
        for rate, sum_ in zip(shapes.RATE_FIELDS, sums_of_new, strict=True)
    )
    both = F.struct(*rates, (kept + new).alias("numSamples")).cast(shapes.AVERAGE)
    own, said = own.cast(shapes.AVERAGE), said.cast(shapes.AVERAGE)
    return F.when(new == 0, said).when(own_alone, own).otherwise(both).alias(name)


def _minutes_between(later: Column, earlier: Column) -> Column:
    return (F.unix_micros(later) - F.unix_micros(earlier)) / 60_000_000


def _timeline(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return samples, the leader's records, unloads, and requests for averages as rows of one
    table.

    `turn` gives the kind of a row.
    """
    moments = cycles.in_period_of(cycles.cycle_moments(made, plan), plan)
    silver = recent.recent_records(silver, moments, plan, max(FRAMES.values()))
    owned = silver.broker_samples.select(
        "cluster", "broker", F.col("at").alias("reported"), "bundles"
    )
    last = cycles.in_period_of(made["last_reports"], plan)
    last = last.select("cluster", "broker", "reported", "cycle", "moment").hint("shuffle_hash")
    needed = owned.join(last, ["cluster", "broker", "reported"]).select(
        "cluster",
        F.explode("bundles").alias("bundle"),
        F.col("moment").alias("at"),
        F.lit(LOOK).alias("turn"),
        "broker",
        "cycle",
    )
    samples = silver.bundle_samples.select(
        "cluster", "bundle", "at", F.lit(SAMPLE).alias("turn"), "broker", *shapes.RATE_FIELDS
    )
    data = silver.contexts.where("kind = 'bundle_data'").select(
        "cluster", "bundle", "at", F.lit(RECORD).alias("turn"), "data"
    )
    went = _unloads_starting_grace(silver, made, plan)
    rows = needed
    for others in (samples, data, went):
        rows = rows.unionByName(others, allowMissingColumns=True)
    return rows.repartition("cluster", "bundle")


def _plans_by_prefix(plan: AuditPlan) -> Mapping[str, AuditPlan]:
    """Return plans by prefix of columns: the plan and, if it is used, the plan by the documents."""
    return {"": plan, **({DOCUMENTED: plan.documents} if plan.documents else {})}


def _unloads_starting_grace(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the unloads that may start a grace period, with two times.

    They are the time at which the period may have started, and the time at which it certainly did.
    """
    at, first = F.greatest("at", "cycle"), _earliest_decision()  # A record can be late.
    counts = (F.col("cycle").isNotNull() | (F.col("cause") != SHEDDING)) & ~F.col("open")
    starts: dict[str, Column] = {}
    every = F.lit(False)
    for side, judging in _plans_by_prefix(plan).items():
        perhaps, surely = causes_starting_grace(judging)
        may, shed = F.col("cause").isin(perhaps) | F.col("open"), F.col("cause").isin(surely)
        starts[f"{side}went"] = F.when(may, at)
        starts[f"{side}surely"] = F.when(shed & counts, first)
        every = every | may
    went = made["unloads"].where(every).join(_recorded_clusters(made), "cluster", "left")
    times = (time.alias(name) for name, time in starts.items())
    went = went.select("cluster", "bundle", at.alias("at"), F.lit(UNLOAD).alias("turn"), *times)
    return _with_former(GRACE_UNLOADS[plan.readings["grace-of"]](silver, went), list(starts))


def _unloads_of_former_leaders(
    silver: Silver, made: GoldTables, plan: AuditPlan
) -> Iterator[DataFrame]:
    """Yield the last unloads of bundles under former leaders, which a new leader may know.

    Each row is the last unload of a bundle before a term of leadership, with the start of the term
    as its time. Such an unload may, but need not, have started a grace period.
    """
    for side, judging in _plans_by_prefix(plan).items():
        terms = former_leaders.terms_with_heirs(silver, made, judging)
        if terms is None:
            continue
        name = f"{side}went"
        went = _unloads_starting_grace(silver, made, plan).where(F.col(name).isNotNull())
        went = went.select("cluster", "bundle", "at", name).join(F.broadcast(terms), "cluster")
        went = went.where("at >= since and at < until").drop("since", "until")
        later = terms.select("cluster", "whose", "since")
        each = went.join(F.broadcast(later), ["cluster", "whose"]).where("since > at")
        last = each.groupBy("cluster", "bundle", "since").agg(F.max_by(name, "at").alias(name))
        yield last.withColumns({"at": F.col("since"), "turn": F.lit(UNLOAD)})


def _recorded_clusters(made: GoldTables) -> DataFrame:
    """Return `cluster` and `recorded`.

    `recorded` is true if the cluster's cycles are recorded, and false if they are assumed.
    """
    rows = made["cycles"].groupBy("cluster").agg(F.bool_and("logged").alias("recorded"))
    return F.broadcast(rows)


def _earliest_decision() -> Column:
    """Return the earliest time at which an unload may have started a grace period.

    For a bundle that was shed, this is the time of the recorded cycle, since the leader measures
    the times of all its cycles with the same clock. All other unloads may have been recorded by a
    broker whose clock differs by up to `causes.MAX_SKEW` seconds.
    """
    cycle, at = F.coalesce("cycle", "at"), F.col("at")
    known = F.col("recorded") & F.col("cycle").isNotNull() & (F.col("cause") == SHEDDING)
    skew = F.make_dt_interval(secs=F.lit(causes.MAX_SKEW).cast("decimal(18, 6)"))
    return F.when(known, F.least(cycle, at)).otherwise(F.least(cycle, at - skew))


def causes_starting_grace(plan: AuditPlan) -> tuple[list[str], list[str]]:
    """Return the causes of unloads that may start a grace period, and the causes that certainly
    start one.

    An administrator's unload starts no grace period in a release. It may start one under documents,
    and certainly does under the reading `grace-starts: unload`. [SHED-04, SHED-14]
    """
    hand = [ADMIN, UNKNOWN]
    if plan.readings["grace-starts"] == "unload":
        return [SHEDDING, *hand], [SHEDDING, *hand]
    return [SHEDDING, UNKNOWN] if plan.released else [SHEDDING, *hand], [SHEDDING]


def _with_parts(silver: Silver, went: DataFrame) -> DataFrame:
    """Return the unloads, and a copy for each part into which the bundle was later split."""
    space = ranges.namespace_of(F.col("bundle")).alias("space")
    within = silver.actions.where("kind = 'split'").select(
        "cluster", space, F.explode("into").alias("part")
    )
    whole = went.withColumn("space", space)
    parts = whole.join(within.distinct(), ["cluster", "space"])
    parts = parts.where(ranges.covers(F.col("bundle"), F.col("part")) & (F.expr("bundle != part")))
    parts = parts.select(*(F.col("part").alias(n) if n == "bundle" else n for n in went.columns))
    return went.unionByName(parts)


GRACE_UNLOADS: Mapping[str, Callable[[Silver, DataFrame], DataFrame]] = {
    "bundle": lambda _silver, went: went,
    "topic": _with_parts,
}
"""Functions that return the unloads that start a bundle's grace period, by alternative of
`grace-of`.

[SHED-04]
"""
