"""The summary of an audit as numbers, small for any size of fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.shedding import documented_strategies
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline import leaders
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.writing import ASKED, DOCUMENTED
from pulsar_conformance.audit.verdicts.missing_settings import NOT_RECORDED
from pulsar_conformance.audit.verdicts.splits import JUDGED
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pulsar_conformance.conformance.shedding.operations import SHED
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Json = dict[str, Any]
Tables = Mapping[str, DataFrame]

ALLOWED, VIOLATED, NOT_DONE, UNDECIDED = "allowed", "violated", "not done though due", "undecided"
VERDICTS = (ALLOWED, VIOLATED, NOT_DONE, UNDECIDED)
WRONG = (VIOLATED, NOT_DONE)
"""The verdicts that make an audit fail."""

AREAS = ("SHED", "OVERLOAD", "THRESHOLD", "UNIFORM")
"""Areas of rules about shedding."""

UNLOADING = ("cluster", "cycle", "broker", "bundle")


def audit_summary(tables: Tables, plan: AuditPlan) -> Json:
    """Return clusters, cycles, unloads, verdicts by rule, and lines used and quarantined."""
    return {
        "profile": plan.profile,
        "readings": dict(plan.readings),
        "from": plan.since and plan.since.isoformat(),
        "to": plan.until and plan.until.isoformat(),
        "lines": line_counts(tables),
        **judged_counts(tables),
        "unknown_strategies": unknown_strategies(tables, plan),
        "rules_without_check": list(rules_without_check(plan)),
    }


def line_counts(tables: Tables) -> Json:
    """Return the number of lines read and used, and of those quarantined by reason."""
    counted = tables["records"].agg(F.count("*").alias("read"), F.count_if("used").alias("used"))
    (read, used), reasons = counted.collect()[0], tables["quarantine"].groupBy("reason").count()
    found = dict(reasons.orderBy("reason").collect())
    return {"read": read, "used": used, "quarantined": found}


def judged_counts(tables: Tables) -> Json:
    """Return the number of cycles, unloads, other events, and verdicts."""
    first = tables["broker_usage"].where("moment = cycle")
    went = tables["unloads"].select(*UNLOADING, "at", "cause", "open").distinct()
    shed = (F.col("cause") == SHEDDING) | F.col("open")
    done = went.where(shed).select(*UNLOADING).distinct()
    faults = (
        tables["verdicts"]
        .where(F.col("verdict") != ALLOWED)
        .groupBy("cluster", "cycle")
        .agg(F.max(F.col("verdict") == VIOLATED).alias("violated"))
    )
    marked = done.join(faults, ["cluster", "cycle"], "left")
    violated = F.coalesce("violated", F.lit(False))
    unloads = marked.agg(F.count_if(F.col("violated").isNull()), F.count_if(violated)).collect()[0]
    each = went.groupBy("cluster", "at", "broker", "bundle").agg(
        F.any_value("cause").alias("cause"), F.bool_or("open").alias("open")
    )
    causes = each.groupBy("cause").agg(F.count("*"), F.count_if("open")).orderBy("cause").collect()
    at_cycles = tables["verdicts"].where(~F.col("rule").isin(*JUDGED))
    ran = at_cycles.agg(F.countDistinct("cluster", "cycle")).collect()[0][0]
    known = first.agg(F.countDistinct("cluster"), F.countDistinct("cluster", "cycle")).collect()[0]
    return {
        "clusters": known[0],
        "cycles": known[1],
        "cycles_judged": ran,
        "unloads": {
            "recorded": sum(row[1] for row in causes),
            "causes": {row[0]: row[1] for row in causes},
            "open": sum(row[2] for row in causes),
            "unchosen": _unchosen(tables["decisions"]),
            "allowed": unloads[0],
            "in_violation": unloads[1],
        },
        "splits": tables["actions"].where("kind = 'split'").count(),
        "leaders": leaders.described(tables),
        "rules": by_rule(tables["verdicts"]),
        "missing": count_missing_settings(tables["verdicts"]),
        "settings_recorded": not tables["contexts"].where("kind = 'settings'").isEmpty(),
        "follow": tables["verdicts"].where(_is_wrong() & F.col("follows").isNotNull()).count(),
    }


def _unchosen(decisions: DataFrame) -> int:
    """Return the number of unloads without a recorded cause that no strategy would choose."""
    unlike = decisions.where("moment = cycle and not chosen and owned and size(doubtful) > 0")
    return int(unlike.select(*UNLOADING).distinct().count())


def unknown_strategies(tables: Tables, plan: AuditPlan) -> Json:
    """Return the number of cycles under each strategy that no document describes."""
    known = documented_strategies(plan.defaults)
    named = tables["cycles"].where(~F.col("strategy").isin(*known)).groupBy("strategy")
    return dict(named.count().orderBy("strategy").collect())


def rules_without_check(plan: AuditPlan) -> Iterator[str]:
    """Yield the applicable rules about shedding that cannot be checked on a history."""
    judged = {*rules_of(plan), *JUDGED}
    for rule in specs.load().rules_of(plan.profile):
        shedding = SHED.id in rule.operations and rule.applies(plan.readings)
        shedding = shedding and rule.id.partition("-")[0] in AREAS
        if shedding and rule.id not in judged:
            yield rule.id


def count_missing_settings(verdicts: DataFrame) -> list[Json]:
    """Return the settings that are not recorded, with their rules and number of affected cycles."""
    open_ones = verdicts.where(F.col("evidence").endswith(NOT_RECORDED))
    names = F.split(F.substring_index("evidence", ": ", 1), ", ")
    each = open_ones.select("cluster", "cycle", "rule", F.explode(names).alias("setting"))
    rows = each.groupBy("setting").agg(
        F.array_sort(F.collect_set("rule")), F.countDistinct("cluster", "cycle")
    )
    return [
        {"setting": setting, "rules": rules, "cycles": cycles}
        for setting, rules, cycles in rows.orderBy("setting").collect()
    ]


def _is_wrong() -> Column:
    return F.col("verdict").isin(*WRONG)


def by_rule(verdicts: DataFrame) -> Json:
    """Return the number of cycles by rule and verdict."""
    counts = verdicts.groupBy("rule").agg(*(F.count_if(_is(v)).alias(v) for v in VERDICTS))
    return {
        row["rule"]: {verdict: row[verdict] for verdict in VERDICTS}
        for row in counts.orderBy("rule").collect()
    }


def _is(verdict: str) -> Column:
    return F.col("verdict") == verdict


def compared_findings(tables: Tables, documents: AuditPlan) -> Json:
    """Return the rules by which documents find faults and the release does not, or vice versa."""
    key = ["cluster", "cycle", "rule"]

    def side(name: str, prefix: str) -> DataFrame:
        rows = tables[f"{prefix}findings"]
        said = F.struct("evidence", "verdict", F.col("verdict").isin(*WRONG).alias("wrong"))
        return rows.select(*key, said.alias(name))

    both = side("release", "").join(side("documents", DOCUMENTED), key, "full_outer")
    release, written = F.col("release"), F.col("documents")
    wrong = [F.coalesce(one["wrong"], F.lit(False)) for one in (release, written)]
    evidence = F.when(wrong[1], written["evidence"]).otherwise(release["evidence"])
    words = [F.coalesce(one["verdict"], F.lit("not judged")) for one in (release, written)]
    differ = both.where(wrong[0] != wrong[1]).groupBy(
        "rule", words[0].alias("release"), words[1].alias("documents")
    )
    rows = differ.agg(
        F.count(F.lit(1)).alias("cycles"),
        F.min(F.struct("cycle", "cluster", F.substring(evidence, 1, 500).alias("told"))).alias(
            "in"
        ),
    )
    named = rows.select(
        "rule",
        "release",
        "documents",
        "cycles",
        format_utc("in.cycle").alias("at"),
        "in.cluster",
        F.col("in.told").alias("evidence"),
    )
    return {
        "profile": documents.profile,
        "differences": [row.asDict() for row in named.orderBy("rule", "release").collect()],
    }


def wrong(found: Json) -> int:
    """Number of verdicts that make the audit fail."""
    return sum(counts[verdict] for counts in found["rules"].values() for verdict in WRONG)


def faults(verdicts: DataFrame, each: int) -> list[Json]:
    """Return the first faults of each rule: rule, verdict, cluster, cycle, evidence.

    Faults that follow from others are left out.
    """
    chosen = earliest_rows(verdicts.where(_is_wrong() & F.col("follows").isNull()), each)
    rows = chosen.select(
        "rule",
        "verdict",
        "cluster",
        format_utc("cycle").alias("cycle"),
        F.substring("evidence", 1, 500),
    )
    names = ("rule", "verdict", "cluster", "cycle", "evidence")
    return [dict(zip(names, row, strict=True)) for row in rows.orderBy(*names).collect()]


def earliest_rows(verdicts: DataFrame, each: int) -> DataFrame:
    """Return the first `each` rows of each rule."""
    order = Window.partitionBy("rule").orderBy("cycle", "cluster")
    numbered = verdicts.withColumn("nth", F.row_number().over(order))
    return numbered.where(F.col("nth") <= each).drop("nth")


def format_utc(time: str) -> Column:
    """Format a time in ISO 8601, to the second, in UTC."""
    return F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss'Z'")


SIDES = ("recorded", "asked")


def compared_settings(tables: Tables) -> dict[str, Any]:
    """Return both sides as numbers, and how far they agree.

    Loads and owners are the recorded ones: a bundle that the recorded settings moved has moved, and
    a bundle that only the other settings would move is chosen again as long as it stays.
    """
    sides = {"recorded": tables["decisions"], "asked": tables[f"{ASKED}decisions"]}
    chosen = {
        side: rows.where("chosen and moment = cycle").select(*UNLOADING, "bytes")
        for side, rows in sides.items()
    }
    numbers = {side: _numbers(rows) for side, rows in chosen.items()}
    both, only = _shared(*(chosen[side].drop("bytes") for side in SIDES))
    return {**numbers, "both": both, "only_asked": only}


def _numbers(chosen: DataFrame) -> dict[str, Any]:
    (row,) = chosen.agg(
        F.count("*"),
        F.countDistinct("cluster", "cycle"),
        F.countDistinct("cluster", "broker"),
        F.coalesce(F.sum("bytes"), F.lit(0.0)),
    ).collect()
    names: Sequence[str] = ("bundles", "cycles", "brokers", "bytes_per_second")
    return dict(zip(names, row, strict=True))


def _shared(recorded: DataFrame, asked: DataFrame) -> tuple[int, int]:
    """Return the number of unloads that both settings choose, and that only the others choose."""
    known = recorded.withColumn("known", F.lit(True))
    (row,) = (
        asked.join(known, list(UNLOADING), "left")
        .agg(F.count_if("known"), F.count_if(F.col("known").isNull()))
        .collect()
    )
    return row[0], row[1]
