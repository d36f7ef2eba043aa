"""The summary of an audit: numbers that take little space even for a large fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import itemgetter
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.shedding import documented_strategies
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline import leaders
from pulsar_conformance.audit.pipeline.plan import AuditPlan, rows_in_period, tables_in_period
from pulsar_conformance.audit.pipeline.writing import ASKED, DOCUMENTED
from pulsar_conformance.audit.tables.formatting import abridged
from pulsar_conformance.audit.verdicts import extensible, missing_settings, splits, transfers
from pulsar_conformance.audit.verdicts.checks.registry import (
    ALLOWED,
    UNDECIDED,
    VERDICTS,
    VIOLATED,
    WRONG,
    is_fault,
)
from pulsar_conformance.audit.verdicts.missing_settings import NOT_RECORDED
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.specs.setting_names import why_unknown
from pyspark.sql import Column, DataFrame, GroupedData, Window
from pyspark.sql import functions as F

Json = dict[str, Any]
Tables = Mapping[str, DataFrame]

AREAS = ("SHED", "OVERLOAD", "THRESHOLD", "UNIFORM", "AVERAGE", "TRANSFER")
"""Areas of the rules about shedding."""

RULES_AT_OTHER_TIMES = (
    *dict.fromkeys((*splits.SPLIT_JUDGES, *transfers.TRANSFER_JUDGES, *extensible.OWNERSHIP_RULES)),
)
"""Rules whose verdicts have the time of a split, a transfer or another event instead of a cycle."""

LISTED_FAULTS_PER_RULE = 100
"""Number of faults of each rule that the summary lists."""

FAULT_FIELDS = ("rule", "verdict", "cluster", "cycle", "evidence", "follows")
"""Fields of each fault in the summary."""

MAX_EVIDENCE_LENGTH = 2000
"""Maximum length of evidence; longer evidence is abridged."""

UNLOADING = ("cluster", "cycle", "broker", "bundle")


def audit_summary(tables: Tables, plan: AuditPlan) -> Json:
    """Return the numbers of clusters, cycles, unloads and lines, and the verdicts of each rule.

    Except for lines, all numbers are of the plan's period.
    """
    changes = rows_in_period(leaders.leader_changes(tables), F.col("at"), plan)
    counted = _count_frames(tables_in_period(tables, plan), changes, plan)
    found = collect_in_one_job(counted)
    (lines,), unloads, causes = found["lines"], found["unloads"][0], found["causes"]
    known, leading = found["known"][0], found["leaders"][0]["count"]
    return {
        "profile": plan.profile,
        "readings": dict(plan.readings),
        "from": plan.since and plan.since.isoformat(),
        "to": plan.until and plan.until.isoformat(),
        "lines": {**lines, "quarantined": _by_name(found["quarantined"], "reason", "count")},
        **found["clusters"][0],
        **known,
        "cycles_judged": found["judged"][0]["cycles"],
        "transfers": found["transfers"][0]["cycles"],
        "unloads": {
            "recorded": sum(row["count"] for row in causes),
            "causes": _by_name(causes, "cause", "count"),
            "open": sum(row["open"] for row in causes),
            "uncertain": {cause: n for cause, n in _by_name(causes, "cause", "open").items() if n},
            "unchosen": found["unchosen"][0]["count"],
            **unloads,
        },
        "splits": found["splits"][0]["count"],
        "leaders": {"count": leading, "first": leaders.sort_by_time(found["leading"])},
        "rules": {
            row["rule"]: {verdict: row[verdict] for verdict in VERDICTS}
            for row in sorted(found["rules"], key=itemgetter("rule"))
        },
        "missing": sorted(found["missing"], key=itemgetter("setting")),
        "settings_recorded": found["settings"][0]["count"] > 0,
        "unknown_settings": {
            name: why for name in found["settings"][0]["names"] or () if (why := why_unknown(name))
        },
        "follow": found["follow"][0]["count"],
        "unknown_strategies": _by_name(found["strategies"], "strategy", "count"),
        "rules_without_check": list(rules_without_check(plan)),
    }


def collect_in_one_job(frames: Mapping[str, DataFrame]) -> Mapping[str, list[Json]]:
    """Return the rows of several small frames, by the frames' names, computed in a single job."""
    each = (
        rows.select(
            F.lit(name).alias("name"),
            F.to_json(F.struct(*rows.columns), {"ignoreNullFields": "false"}).alias("row"),
        )
        for name, rows in frames.items()
    )
    found: dict[str, list[Json]] = {name: [] for name in frames}
    for name, row in reduce(DataFrame.union, each).collect():
        found[name].append(json.loads(row))
    return found


def _by_name(rows: Sequence[Json], name: str, value: str) -> Json:
    return {row[name]: row[value] for row in sorted(rows, key=itemgetter(name))}


def _count_frames(tables: Tables, changes: DataFrame, plan: AuditPlan) -> Mapping[str, DataFrame]:
    """Return the counts of lines, cycles, unloads, verdicts and other events, each as a small
    frame.

    `changes` are the changes of leader.
    """
    count = F.count(F.lit(1)).alias("count")
    verdicts, contexts = tables["verdicts"], tables["contexts"]
    first = tables["broker_usage"].where("moment = cycle")
    went = tables["unloads"].select(*UNLOADING, "at", "cause", "open").distinct()
    each = went.groupBy("cluster", "at", "broker", "bundle").agg(
        F.any_value("cause").alias("cause"), F.bool_or("open").alias("open")
    )
    at_cycles = verdicts.where(~F.col("rule").isin(*RULES_AT_OTHER_TIMES))
    return {
        "lines": tables["records"].agg(
            F.count(F.lit(1)).alias("read"), F.count_if("used").alias("used")
        ),
        "quarantined": tables["quarantine"].groupBy("reason").agg(count),
        "unloads": judged_unloads(went, verdicts),
        "causes": each.groupBy("cause").agg(count, F.count_if("open").alias("open")),
        "judged": at_cycles.agg(F.countDistinct("cluster", "cycle").alias("cycles")),
        "transfers": _transfers(verdicts).agg(F.count(F.lit(1)).alias("cycles")),
        "known": first.agg(F.countDistinct("cluster", "cycle").alias("cycles")),
        "clusters": _clusters(tables["records"], first, went, plan),
        "unchosen": _unchosen_unloads(tables["decisions"]).agg(count),
        "splits": tables["actions"].where("kind = 'split'").agg(count),
        "leaders": changes.agg(count),
        "leading": leaders.describe_first(changes),
        "rules": verdicts.groupBy("rule").agg(
            *(F.count_if(_has_verdict(v)).alias(v) for v in VERDICTS)
        ),
        "missing": _missing_settings(verdicts),
        "settings": contexts.where("kind = 'settings'").agg(count, _names_of_settings()),
        "follow": verdicts.where(is_fault() & F.col("follows").isNotNull()).agg(count),
        "strategies": _unknown_strategies(tables["cycles"], plan).agg(count),
    }


def _clusters(records: DataFrame, ran: DataFrame, went: DataFrame, plan: AuditPlan) -> DataFrame:
    """Return the number of clusters with cycles or unloads, and the names of all other clusters."""
    used = rows_in_period(records.where("used"), F.col("at"), plan)
    audited = ran.select("cluster").union(went.select("cluster"))
    frames = (used.select("cluster").distinct(), False), (audited.distinct(), True)
    each = (rows.withColumn("audited", F.lit(known)) for rows, known in frames)
    named = reduce(DataFrame.union, each).groupBy("cluster").agg(F.bool_or("audited").alias("has"))
    return named.agg(
        F.count_if("has").alias("clusters"),
        F.array_sort(F.collect_list(F.when(~F.col("has"), F.col("cluster")))).alias(
            "clusters_without_cycle"
        ),
    )


def _names_of_settings() -> Column:
    """Return the names of all recorded settings, sorted."""
    each = F.flatten(F.collect_set(F.map_keys("settings")))
    return F.array_sort(F.array_distinct(each)).alias("names")


def _transfers(verdicts: DataFrame) -> DataFrame:
    """Return the times of the cycles of TransferShedder that are judged, each once per cluster."""
    judged = verdicts.where(F.col("rule").isin(*transfers.TRANSFER_JUDGES))
    return judged.select("cluster", "cycle").distinct()


def _with_transfers(went: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Give unloads without a cycle the time of the last transfer before or at them, if any."""
    turn = F.col("cycle").alias("turn")
    marks = _transfers(verdicts).select("cluster", F.col("cycle").alias("at"), turn)
    rows = went.unionByName(marks, allowMissingColumns=True)
    course = (
        Window.partitionBy("cluster")
        .orderBy("at")
        .rangeBetween(Window.unboundedPreceding, Window.currentRow)
    )
    rows = rows.withColumn("last", F.max("turn").over(course)).where("turn is null")
    return rows.withColumn("cycle", F.coalesce("cycle", "last")).drop("turn", "last")


def judged_unloads(went: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Return two numbers of unloads that shedding caused or may have caused.

    `allowed` counts those in cycles in which all verdicts are `allowed`, and `in_violation` those
    in cycles with a violation. Unloads by TransferShedder count in their transfer.
    """
    shed = (F.col("cause") == SHEDDING) | F.col("open")
    done = _with_transfers(went.where(shed), verdicts).select(*UNLOADING).distinct()
    faults = verdicts.where(F.col("verdict") != ALLOWED).groupBy("cluster", "cycle")
    faults = faults.agg(F.max(F.col("verdict") == VIOLATED).alias("violated"))
    marked = done.join(faults, ["cluster", "cycle"], "left")
    violated = F.coalesce("violated", F.lit(False))
    return marked.agg(
        F.count_if(F.col("violated").isNull()).alias("allowed"),
        F.count_if(violated).alias("in_violation"),
    )


def _unchosen_unloads(decisions: DataFrame) -> DataFrame:
    """Return the unloads of uncertain cause that the cycle's strategy would not choose."""
    unlike = decisions.where("moment = cycle and not chosen and owned and size(doubtful) > 0")
    return unlike.select(*UNLOADING).distinct()


def _unknown_strategies(cycles: DataFrame, plan: AuditPlan) -> GroupedData:
    """Return the cycles under strategies that no document describes, grouped by strategy."""
    known = documented_strategies(plan.defaults)
    return cycles.where(~F.col("strategy").isin(*known)).groupBy("strategy")


def rules_without_check(plan: AuditPlan) -> Iterator[str]:
    """Yield the rules about shedding that apply but whose violation no history can show."""
    judged = {*rules_of(plan), *RULES_AT_OTHER_TIMES}
    for rule in specs.load().rules_of(plan.profile):
        shedding = SHED.id in rule.operations and rule.applies(plan.readings)
        shedding = shedding and rule.id.partition("-")[0] in AREAS
        if shedding and rule.id not in judged:
            yield rule.id


def _missing_settings(verdicts: DataFrame) -> DataFrame:
    """Return each setting that is not recorded but needed.

    Columns: `setting`, the `rules` that are undecided without it, and the number of `cycles`
    concerned.
    """
    open_ones = verdicts.where(F.col("evidence").endswith(NOT_RECORDED))
    names = F.split(F.substring_index("evidence", ": ", 1), ", ")
    each = open_ones.select("cluster", "cycle", "rule", F.explode(names).alias("setting"))
    return each.groupBy("setting").agg(
        F.array_sort(F.collect_set("rule")).alias("rules"),
        F.countDistinct("cluster", "cycle").alias("cycles"),
    )


def _has_verdict(verdict: str) -> Column:
    return F.col("verdict") == verdict


def compare_findings(tables: Tables, documents: AuditPlan) -> Json:
    """Return how the verdicts by the documents differ from those by the release.

    The result has the rules with a fault only by the documents or only by the release, the rules
    that only the documents leave undecided, and the defaults that are taken from the release
    because the documents give none.
    """
    key = ["cluster", "cycle", "rule"]
    ran = tables_in_period(tables, documents)["cycles"]

    def findings(name: str, prefix: str) -> DataFrame:
        rows = tables[f"{prefix}findings"]
        said = F.struct("evidence", "verdict", is_fault().alias("wrong"))
        # If one broker broke the rule by an action and another by an omission, the action is named.
        return rows.groupBy(*key).agg(F.max_by(said, "verdict").alias(name))

    both = findings("release", "").join(findings("documents", DOCUMENTED), key, "full_outer")
    release, written = F.col("release"), F.col("documents")
    wrong = [F.coalesce(one["wrong"], F.lit(False)) for one in (release, written)]
    words = [F.coalesce(one["verdict"], F.lit("not judged")) for one in (release, written)]
    said = wrong[1] | (words[1] == UNDECIDED)
    evidence = F.when(said, written["evidence"]).otherwise(release["evidence"])
    differ = both.where(wrong[0] != wrong[1]).groupBy(
        "rule", words[0].alias("release"), words[1].alias("documents")
    )
    unsettled = (words[1] == UNDECIDED) & (words[0] != UNDECIDED) & ~wrong[0]
    undecided = _first_of_each(both.where(unsettled).groupBy("rule"), written["evidence"])
    named = _first_of_each(differ, evidence)
    found = collect_in_one_job({"differences": named, "undecided": undecided})
    return {
        "profile": documents.profile,
        "differences": sorted(found["differences"], key=itemgetter("rule", "release", "documents")),
        "undecided": sorted(found["undecided"], key=itemgetter("rule")),
        "defaults": missing_settings.defaults_from_release(ran, documents),
    }


def _first_of_each(groups: GroupedData, evidence: Column) -> DataFrame:
    """Return, for each group, the number of its cycles, and time, cluster and evidence of the
    first.
    """
    first = F.struct("cycle", "cluster", abridged(evidence, MAX_EVIDENCE_LENGTH).alias("told"))
    rows = groups.agg(F.count(F.lit(1)).alias("cycles"), F.min(first).alias("in"))
    return rows.withColumns(
        {"at": format_utc("in.cycle"), "cluster": F.col("in.cluster"), "evidence": F.col("in.told")}
    ).drop("in")


def fault_count(found: Json) -> int:
    """Return the number of faults among the verdicts."""
    return sum(counts[verdict] for counts in found["rules"].values() for verdict in WRONG)


def first_faults(verdicts: DataFrame, count: int = LISTED_FAULTS_PER_RULE) -> list[Json]:
    """Return the first `count` faults of each rule; those that no other violation explains come
    first.

    Fields: rule, verdict, cluster, cycle, evidence, `follows` (the rule whose violation explains
    the fault, or None) and `independent` (number of the rule's faults that no violation explains).
    """
    root = F.col("follows").isNull()
    of_rule = Window.partitionBy("rule")
    order = of_rule.orderBy(~root, "cycle", "cluster")
    numbered = verdicts.where(is_fault()).withColumns(
        {"nth": F.row_number().over(order), "independent": F.count_if(root).over(of_rule)}
    )
    rows = numbered.where(F.col("nth") <= count).select(
        "rule",
        "verdict",
        "cluster",
        format_utc("cycle").alias("cycle"),
        abridged(F.col("evidence"), MAX_EVIDENCE_LENGTH).alias("evidence"),
        "follows",
        "independent",
        "nth",
    )
    return [row.asDict() for row in rows.orderBy("rule", "nth").collect()]


def listed_faults(faults: Sequence[Json]) -> list[Json]:
    """Return the first faults of each rule, with the fields that the summary lists."""
    return [{name: one[name] for name in FAULT_FIELDS} for one in faults]


def earliest_rows(verdicts: DataFrame, count: int) -> DataFrame:
    """Return the first rows of each rule, at most `count` of them."""
    order = Window.partitionBy("rule").orderBy("cycle", "cluster", F.desc("verdict"))
    numbered = verdicts.withColumn("nth", F.row_number().over(order))
    return numbered.where(F.col("nth") <= count).drop("nth")


def format_utc(time: str) -> Column:
    """Return a column with a time as text: ISO 8601 in UTC, to the second."""
    return F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss'Z'")


SIDES = ("recorded", "asked")


def compare_settings(tables: Tables) -> dict[str, Any]:
    """Return the numbers of unloads under the recorded settings, under the other settings, and
    under both.

    All numbers are computed from the recorded load and owners, which unloads under the other
    settings do not change. A bundle that only the other settings unload is therefore counted in
    every cycle until the history has it on another broker.
    """
    sides = {"recorded": tables["decisions"], "asked": tables[f"{ASKED}decisions"]}
    chosen = {
        side: rows.where("chosen and moment = cycle").select(*UNLOADING, "bytes")
        for side, rows in sides.items()
    }
    numbers = {side: _totals(rows) for side, rows in chosen.items()}
    both, only = _count_agreement(*(chosen[side].drop("bytes") for side in SIDES))
    return {**numbers, "both": both, "only_asked": only}


def _totals(chosen: DataFrame) -> dict[str, Any]:
    (row,) = chosen.agg(
        F.count("*"),
        F.countDistinct("cluster", "cycle"),
        F.countDistinct("cluster", "broker"),
        F.coalesce(F.sum("bytes"), F.lit(0.0)),
    ).collect()
    names: Sequence[str] = ("bundles", "cycles", "brokers", "bytes_per_second")
    return dict(zip(names, row, strict=True))


def _count_agreement(recorded: DataFrame, asked: DataFrame) -> tuple[int, int]:
    """Return the numbers of unloads chosen under both settings, and only under `asked`."""
    known = recorded.withColumn("known", F.lit(True))
    (row,) = (
        asked.join(known, list(UNLOADING), "left")
        .agg(F.count_if("known"), F.count_if(F.col("known").isNull()))
        .collect()
    )
    return row[0], row[1]
