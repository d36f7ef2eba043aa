"""Judgment of unloads by TransferShedder of the extensible manager, as far as records allow.

The manager's brokers write no load reports. Unloads, assignments, groups and settings decide some
rules; load data, if they are recorded, decide more. Everything else is undecided, with the reason.

A turn is a group of unloads that may belong to one cycle. They are judged together, at the time of
the first unload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark import ranges, transfer
from pulsar_conformance.adapters.spark.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables, Silver
from pulsar_conformance.audit.tables import causes, cycles, formatting, settings_at, streaks
from pulsar_conformance.audit.verdicts import extensible, planned
from pulsar_conformance.audit.verdicts.checks import moved_before
from pulsar_conformance.conformance.common import check
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

POINTS = float(check.POINTS)
LIMIT_TOLERANCE = 1e-3
"""Share by which limits are raised and lowered. A result is clear if this does not change it."""

KNOWN_LATER = timedelta(seconds=extensible.HORIZON)
"""Time after an unload within which further unloads and next owners may matter to its turn."""

UNLOAD = ["cluster", "at", "broker", "bundle"]
TURN = ["cluster", "cycle"]

NO_LOADS = "the brokers' load data are not recorded"
LOADS_CHANGING = "the load data changed within the time in which the cycle may have run"
LOADS_NEAR_EDGE = "the loads are too close to the limit of a condition"
LOADS_TOO_OLD = "the load data were recorded before the bundle arrived; later ones can decide this"
NO_OWNER = "no other broker is recorded as the next owner"
TWO_CYCLES = "the unloads may belong to two cycles"
NO_POLICIES = "isolation policies are not recorded"
NO_CYCLES = "cycles that unload nothing are not recorded"
READ_TIMES_UNKNOWN = "it is not recorded when the leader read each broker's load data"


def findings_about_transfers(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return a row per turn and rule: `cluster`, `cycle`, `rule`, `verdict` and `evidence`."""
    known = {rule.id for rule in specs.load().rules_of(plan.profile) if rule.applies(plan.readings)}
    rules = [rule for rule in TRANSFER_JUDGES if rule in known]
    texts = (F.lit("").alias(name) for name in ("rule", "verdict", "evidence"))
    found = silver.contexts.where("false").select("cluster", F.col("at").alias("cycle"), *texts)
    if not rules and planned.RULE not in known:
        return found
    is_extensible, is_average = _named_in_settings(silver, plan)
    if rules and is_extensible:
        rows = cycles.in_period_of(_turns(silver, made, plan), plan)
        judged = rows.groupBy(*TURN).agg(*(TRANSFER_JUDGES[rule]().alias(rule) for rule in rules))
        found = judged.select(*TURN, F.inline(F.array(*map(_row, rules))))
        if known.intersection(extensible.OWNERSHIP_RULES):
            found = found.unionByName(extensible.findings_about_owners(silver, plan, known))
    if planned.RULE in known and is_average:
        plans = cycles.in_period_of(planned.findings_about_plans(silver, made, plan), plan)
        found = found.unionByName(plans)
    return found


def _named_in_settings(silver: Silver, plan: AuditPlan) -> tuple[bool, bool]:
    """Return whether any settings name the extensible manager, and whether any name AvgShedder.

    A small job reads the settings.
    """
    told = F.col("settings")
    runs, sheds = transfer.runs_extensible(told), planned.names_avg_shedder(told, plan)
    rows = silver.contexts.where("kind = 'settings'").agg(F.bool_or(runs), F.bool_or(sheds)).first()
    extensible_, average = rows if rows else (None, None)
    given = plan.settings.get(transfer.MANAGER)
    if given is not None:
        extensible_ = given.endswith(transfer.EXTENSIBLE)
    return bool(extensible_), bool(average)


def _row(rule: str) -> Column:
    parts = ((name, F.col(f"`{rule}`")[name]) for name in ("verdict", "evidence"))
    return F.struct(F.lit(rule).alias("rule"), *(column.alias(name) for name, column in parts))


def affected_turns(own: DataFrame, silver: Silver, since: datetime) -> DataFrame:
    """Return `cluster` and `cycle` of turns since `since`, and of unloads that later records may
    affect.
    """
    later = own.where(F.col("cycle") >= F.lit(since)).select("cluster", "cycle")
    known = silver.actions.where((F.col("kind") == "unloaded") & (F.col("cause") == SHEDDING))
    near = known.where(F.col("at") >= F.lit(since - KNOWN_LATER))
    near = near.select("cluster", F.col("at").alias("cycle")).unionByName(later)
    return near.unionByName(extensible.affected_times(own, silver, since))


def _turns(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the unloads by TransferShedder, each with the time of its turn as `cycle` and data
    about it.
    """
    every = streaks.with_all_days(made)["unloads"]
    went = every.where((F.col("cause") == SHEDDING) & ~F.col("open")).select(*UNLOAD).distinct()
    rows = settings_at.join_settings(silver, plan, went, "at")
    rows = _in_turns(rows.where(transfer.runs_extensible(F.col("force"))).select(*UNLOAD, "force"))
    rows = moved_before.with_earlier_unloads(silver, plan, rows, every)
    rows = _with_arrivals(silver, _with_owners(silver, rows))
    return _with_loads(silver, _with_groups(silver, rows))


def _in_turns(rows: DataFrame) -> DataFrame:
    """Add `cycle` and `last` (first and last time of the turn), and `ended` (end of the previous
    turn).
    """
    course = Window.partitionBy("cluster").orderBy("at", "bundle")
    gap = F.unix_micros("at") - F.unix_micros(F.lag("at").over(course))
    new = F.coalesce(gap > causes.UNLOADING_SECONDS * 1_000_000, F.lit(True))
    rows = rows.withColumns({"new": new, "before": F.lag("at").over(course)})
    rows = rows.withColumn("turn", F.count_if("new").over(course))
    turn = Window.partitionBy("cluster", "turn")
    first = F.min(F.struct("at", "before")).over(turn)
    return rows.withColumns(
        {"cycle": first["at"], "ended": first["before"], "last": F.max("at").over(turn)}
    ).drop("new", "before", "turn")


def _with_owners(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `to`: the broker to which the bundle was next assigned, by the records.

    This includes an assignment to another broker that is recorded shortly before the unload, since
    the two records may be in the wrong order.
    """
    taken = silver.actions.where("kind = 'assigned'")
    taken = taken.select(
        "cluster", "bundle", F.col("at").alias("taken"), F.col("broker").alias("to")
    )
    near = rows.select(*UNLOAD).join(taken, ["cluster", "bundle"])
    near = near.where(F.col("taken") >= F.col("at") - _seconds(causes.MAX_SKEW))
    after = F.col("taken") >= F.col("at")
    before = F.max(F.when(~after, F.struct("taken", "to")))["to"]
    first = near.groupBy(*UNLOAD).agg(
        F.coalesce(
            F.when(before != F.col("broker"), before),
            F.min(F.when(after, F.struct("taken", "to")))["to"],
        ).alias("to")
    )
    return rows.join(F.broadcast(first), UNLOAD, "left")


def _with_arrivals(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `arrived`: the last time before the unload at which the bundle moved, by the records."""
    moves = silver.actions.where(F.col("kind").isin("assigned", "unloaded"))
    moves = moves.select("cluster", "bundle", F.col("at").alias("moved"))
    known = rows.select(*UNLOAD).join(moves, ["cluster", "bundle"]).where("moved < at")
    last = known.groupBy(*UNLOAD).agg(F.max("moved").alias("arrived"))
    return rows.join(F.broadcast(last), UNLOAD, "left")


def _with_groups(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `grouped`, true if the bundle's namespace is in an anti-affinity group."""
    known = silver.contexts.where("kind = 'group'").select(
        "cluster", "name", F.col("at").alias("told"), "members"
    )
    space = ranges.namespace_of(F.col("bundle"))
    both = rows.select(*UNLOAD).join(F.broadcast(known), "cluster").where("told <= at")
    last = both.groupBy(*UNLOAD, "name").agg(F.max_by("members", "told").alias("members"))
    found = last.groupBy(*UNLOAD).agg(
        F.bool_or(F.array_contains("members", space)).alias("grouped")
    )
    rows = rows.join(F.broadcast(found), UNLOAD, "left")
    return rows.withColumn("grouped", F.coalesce("grouped", F.lit(False)))


def _with_loads(silver: Silver, rows: DataFrame) -> DataFrame:
    """Add `loads`: each broker's lowest and highest load in the time in which the cycle may have
    run.

    Each is a struct of `of` (the broker), `low` and `high` in percent, `traffic`, `top` (the names
    of its top bundles), and `written` (the time of the last of these data). Null without any load
    data.
    """
    told = silver.contexts.where("kind = 'load_data'")
    seen = F.struct(
        (F.col("load.weightedMaxEMA") * 100).alias("load"),
        (F.col("load.msgThroughputIn") + F.col("load.msgThroughputOut")).alias("traffic"),
        F.col("load.topBundlesLoadData.bundleName").alias("top"),
        F.least("at", F.timestamp_millis(F.col("load.reportedAt").cast("bigint"))).alias("written"),
    )
    known = told.select(
        "cluster", F.col("broker").alias("of"), F.col("at").alias("told"), seen.alias("seen")
    )
    turns = (
        rows.select(*TURN)
        .distinct()
        .withColumn("begun", F.col("cycle") - _seconds(causes.UNLOADING_SECONDS))
    )
    both = F.broadcast(turns).join(known, "cluster").where(F.col("told") <= F.col("cycle"))
    before = F.max(F.when(F.col("told") <= F.col("begun"), F.col("told"))).over(
        Window.partitionBy(*TURN, "of")
    )
    both = both.withColumn("from", F.coalesce(before, F.col("begun"))).where("told >= from")
    of_broker = both.groupBy(*TURN, "of").agg(
        F.min("seen.load").alias("low"),
        F.max("seen.load").alias("high"),
        F.max_by("seen.traffic", "told").alias("traffic"),
        F.array_distinct(F.flatten(F.collect_list("seen.top"))).alias("top"),
        F.max("seen.written").alias("written"),
    )
    loads = F.array_sort(F.collect_list(F.struct("of", "low", "high", "traffic", "top", "written")))
    found = of_broker.groupBy(*TURN).agg(loads.alias("loads"))
    return rows.join(F.broadcast(found), TURN, "left")


def _seconds(count: float) -> Column:
    return F.make_dt_interval(secs=F.lit(count).cast("decimal(18, 6)"))


def _in_force(name: str) -> Column:
    """Return the value of a setting in force."""
    return F.col(f"force.{name}")


def _verdict(broken: Column, open_: Column, evidence: Column) -> Column:
    """Return the verdict on a turn (violated, undecided or allowed), with the first evidence.

    `broken` is true for an unload that violates the rule. `open_` is why an unload cannot be
    judged; null if it can be.
    """
    fault = F.min(F.when(broken, evidence))
    lack = F.min(open_)
    verdict = F.when(fault.isNotNull(), "violated").when(lack.isNotNull(), "undecided")
    count = F.concat(F.lit("as required; unloads: "), F.count(F.lit(1)).cast("string"))
    return F.struct(
        verdict.otherwise("allowed").alias("verdict"),
        F.coalesce(fault, lack, count).alias("evidence"),
    )


def _undecided(why: str) -> Callable[[], Column]:
    def judge() -> Column:
        return F.struct(
            F.max(F.lit("undecided")).alias("verdict"), F.max(F.lit(why)).alias("evidence")
        )

    return judge


def _load_of(broker: Column) -> Column:
    return F.get(F.filter("loads", lambda one: one["of"] == broker), F.lit(0))


def _is_too_old(broker: Column) -> Column:
    """True if a broker's load data are older than a bundle's last move and therefore do not show
    it.
    """
    moved = F.col("arrived") + _seconds(causes.MAX_SKEW)
    return F.coalesce(_load_of(broker)["written"] <= moved, F.lit(False))


def _uneven_load() -> Column:
    """Return a violation if no condition for unloading was met. [TRANSFER-02]"""
    brokers = F.transform(
        "loads", lambda one: F.struct(one["high"].alias("load"), one["traffic"].alias("traffic"))
    )

    def holds(factor: float) -> Column:
        limits = F.struct(
            *(
                (_in_force(name) * factor).alias(name)
                for name in (transfer.TARGET_DEVIATION, OVERLOAD_THRESHOLD)
            )
        )
        return transfer.finds_imbalance(brokers, limits)

    even = ~holds(1)
    clear = (even == ~holds(1 - LIMIT_TOLERANCE)) & (even == ~holds(1 + LIMIT_TOLERANCE))
    steady = F.forall("loads", lambda one: one["high"] - one["low"] <= POINTS)
    known = F.col("loads").isNotNull()
    lack = (
        F.when(~known, NO_LOADS)
        .when(_is_too_old(F.col("broker")), LOADS_TOO_OLD)
        .when(~F.coalesce(steady, F.lit(False)), LOADS_CHANGING)
        .when(~F.coalesce(clear, F.lit(False)), LOADS_NEAR_EDGE)
    )
    texts = F.transform("loads", lambda one: formatting.plain(one["high"]))
    told = formatting.joined(
        F.col("bundle"),
        "was unloaded while no condition held: loads of",
        F.array_join(texts, ", "),
        "%",
    )
    return _verdict(lack.isNull() & even, lack, told)


def _few_brokers() -> Column:
    """Return a violation if more brokers unload than are allowed in a cycle. [TRANSFER-08]"""
    brokers, most = F.size(F.collect_set("broker")), F.max(_in_force(transfer.MAX_SHEDDING_BROKERS))
    span = F.max(F.unix_micros("last") - F.unix_micros("cycle"))
    many, apart = brokers > most, span > causes.UNLOADING_SECONDS * 1_000_000
    verdict = F.when(many & apart, "undecided").when(many, "violated").otherwise("allowed")
    told = formatting.joined(
        brokers.cast("string"), "brokers unloaded bundles, of", formatting.plain(most), "at most"
    )
    return F.struct(
        verdict.alias("verdict"), F.when(many & apart, TWO_CYCLES).otherwise(told).alias("evidence")
    )


def _to_less_loaded() -> Column:
    """Return a violation if a bundle moves to a broker with more load. [TRANSFER-09]"""
    source, target = _load_of(F.col("broker")), _load_of(F.col("to"))
    lack = (
        F.when(F.isnull("loads"), NO_LOADS)
        .when(F.isnull("to") | (F.col("to") == F.col("broker")), NO_OWNER)
        .when(source.isNull() | target.isNull(), NO_LOADS)
        .when(_is_too_old(F.col("broker")) | _is_too_old(F.col("to")), LOADS_TOO_OLD)
    )
    more = source["high"] + F.lit(POINTS) < target["low"]
    told = formatting.joined(
        F.col("bundle"),
        "went from",
        F.concat(formatting.plain(source["high"]), F.lit(" % to")),
        F.concat(formatting.plain(target["low"]), F.lit(" %")),
    )
    transfers = F.coalesce(_in_force(transfer.TRANSFER_ENABLED), F.lit(False))
    more = F.coalesce(more, F.lit(False)) & lack.isNull()
    return _verdict(more & transfers, lack, told)


def _after_the_delay() -> Column:
    """Return a violation if a cycle certainly ran too soon after an unload. [TRANSFER-11]"""
    passed = (F.unix_micros("cycle") - F.unix_micros("ended")) / 1_000_000
    delay = _in_force(transfer.DELAY)
    soon = F.coalesce(passed + causes.UNLOADING_SECONDS < delay, F.lit(False))
    close = F.coalesce(passed - causes.UNLOADING_SECONDS < delay, F.lit(False))
    told = formatting.joined(
        "unloads",
        formatting.plain(passed),
        "s after others, with a delay of",
        formatting.plain(delay),
        "s",
    )
    return _verdict(soon, F.when(close & ~soon, told), told)


def _policies_heeded() -> Column:
    """Return a violation if a bundle is unloaded that must stay because of its group.
    [TRANSFER-14]
    """
    stays = ~F.coalesce(_in_force(transfer.WITH_POLICIES), F.lit(False))
    told = formatting.joined(F.col("bundle"), "was unloaded; its namespace is in a group")
    return _verdict(F.col("grouped") & stays, F.when(stays, F.lit(NO_POLICIES)), told)


def _excluded_stay() -> Column:
    """Return a violation if a bundle of an excluded namespace is unloaded. [TRANSFER-16]"""
    listed = F.trim(F.coalesce(_in_force(transfer.EXCLUDED), F.lit("")))
    names = F.split(listed, transfer.LIST_COMMA)
    told = formatting.joined(F.col("bundle"), "was unloaded; its namespace is excluded")
    listed = F.array_contains(names, ranges.namespace_of(F.col("bundle")))
    return _verdict(listed, F.lit(None).cast("string"), told)


def _top_bundles() -> Column:
    """Return a violation if a broker unloads a bundle that it does not report as a top bundle.
    [TRANSFER-17]
    """
    top = _load_of(F.col("broker"))["top"]
    known = F.coalesce(F.size(top) > 0, F.lit(False))
    told = formatting.joined(F.col("bundle"), "was unloaded, but is not one of the top bundles")
    missing = known & ~F.coalesce(F.array_contains(top, F.col("bundle")), F.lit(True))
    old = missing & _is_too_old(F.col("broker"))
    lack = F.when(~known, F.lit(NO_LOADS)).when(old, LOADS_TOO_OLD)
    return _verdict(missing & ~old, lack, told)


def _recently_unloaded_stay() -> Column:
    """Return a violation if a bundle was certainly shed within its grace period. [TRANSFER-20]"""
    return _verdict(*moved_before.again_columns())


TRANSFER_JUDGES: Mapping[str, Callable[[], Column]] = {
    "TRANSFER-02": _uneven_load,
    "TRANSFER-06": _undecided(NO_CYCLES),
    "TRANSFER-08": _few_brokers,
    "TRANSFER-09": _to_less_loaded,
    "TRANSFER-11": _after_the_delay,
    "TRANSFER-12": _undecided(READ_TIMES_UNKNOWN),
    "TRANSFER-13": _undecided(READ_TIMES_UNKNOWN),
    "TRANSFER-14": _policies_heeded,
    "TRANSFER-15": _undecided(NO_POLICIES),
    "TRANSFER-16": _excluded_stay,
    "TRANSFER-17": _top_bundles,
    "TRANSFER-19": _undecided(READ_TIMES_UNKNOWN),
    "TRANSFER-20": _recently_unloaded_stay,
}
"""Functions that judge a turn, by the ID of the rule."""
