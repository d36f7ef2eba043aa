"""Judgment of each cycle by each rule: whether the rule applies, and whether it is violated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.audit.verdicts.checks import CHECKS, RuleColumns
from pulsar_conformance.audit.verdicts.checks.registry import Readings, RuleCheck, combine_checks
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "OVERLOAD-02": ("OVERLOAD-01",),
    "OVERLOAD-09": ("OVERLOAD-01",),
    "OVERLOAD-10": ("OVERLOAD-01", "OVERLOAD-04"),
    "THRESHOLD-03": ("THRESHOLD-01",),
    "THRESHOLD-05": ("THRESHOLD-01",),
    "THRESHOLD-06": ("THRESHOLD-01", "THRESHOLD-02"),
    "THRESHOLD-07": ("THRESHOLD-01", "THRESHOLD-02"),
    "THRESHOLD-08": ("THRESHOLD-02",),
    "THRESHOLD-10": ("THRESHOLD-02",),
}
"""Rules of which a violation may result from another violation by the same broker in the same
cycle, each with the rules that can explain it.
"""


BY_ORDER = ("SHED-07", "THRESHOLD-12", "OVERLOAD-06")
"""Rules about the order in which bundles are shed."""

BY_USAGE = ("THRESHOLD-01", "THRESHOLD-02", "THRESHOLD-07", "THRESHOLD-18")
"""Rules about the usage above which a broker sheds.

The first two judge leaders that know no earlier usage, and the others leaders that do.
"""

RULE_RESULTS = (
    "array<struct<rule string, reached boolean, broken boolean, lacking boolean, evidence string, "
    "aside boolean, excused boolean>>"
)
"""Spark type of the results of all rules for a broker in a cycle."""


def judge_cycles(
    facts: DataFrame,
    rules: Iterable[str],
    readings: Readings,
    bounded_checks: Mapping[str, RuleCheck] = MappingProxyType({}),
) -> DataFrame:
    """Return a row for each cycle and each rule that applied or was violated.

    `facts` are the rows of `facts.facts`. `bounded_checks` are second checks of some rules; only
    one of a rule's two checks applies in any cycle.

    Columns: `cycle`, `rule`, `reached` (the rule applied), `broken`, `surely` (one broker violates
    the rule in every view), `lacking` (a required action is missing), `evidence` (null unless
    broken), `excused` (a bundle that must stay may be the reason), `follows` (the rule whose
    violation explains this one), `brokers` (number of brokers to which the rule applied) and
    `sides`. If brokers both omit a required action and take a forbidden one, most columns are about
    only one of the two violations; `sides` has both, as structs with the columns of `SIDE`.
    """
    checks = {rule: _combined_check(rule, readings, bounded_checks) for rule in rules}
    decided = facts.withColumns(
        {
            _part_name(rule, part): getattr(one, part)
            for rule, one in checks.items()
            for part in ("reached", "broken")
        }
    )
    each = F.array(*(_result_struct(rule, one) for rule, one in checks.items())).cast(RULE_RESULTS)
    said = F.filter(each, lambda one: one["reached"] | one["broken"])
    rows = checkpointed_if_tiny(
        decided.select("cycle", "broker", "view_count", "strategy", "remembers", said.alias("said"))
    )
    whole = {
        "never_due": _in_every_view(False, "strategy"),
        "ever_due": _in_every_view(True, "strategy"),
        "never_due_kept": _in_every_view(False, "remembers", BY_USAGE),
        "ever_due_kept": _in_every_view(True, "remembers", BY_USAGE),
    }
    rows = rows.withColumns(whole)
    rows = rows.select("cycle", "broker", "view_count", *whole, F.inline("said"))
    lacking, by_usage = F.col("lacking"), F.col("rule").isin(*BY_USAGE)
    always = F.when(lacking, F.col("ever_due")).otherwise(F.col("never_due"))
    kept = F.when(lacking, F.col("ever_due_kept")).otherwise(F.col("never_due_kept"))
    rows = rows.withColumn("always", F.col("broken") & (always | (by_usage & kept)))
    proof = F.when(F.col("broken"), F.struct("aside", "evidence", "lacking", "excused"))
    of_broker = rows.groupBy("cycle", "broker", "rule").agg(
        F.bool_or("reached").alias("reached"),
        F.bool_or("broken").alias("broken"),
        (
            ((F.count_if("broken") == F.any_value("view_count")) | F.bool_or("always"))
            & ~F.coalesce(F.bool_or("excused"), F.lit(False))
        ).alias("surely"),
        F.min(proof).alias("proof"),
    )
    return _combine_brokers(of_broker.withColumn("root", _root_rule()))


def _in_every_view(lacking: bool, varied: str, rules: Collection[str] = ()) -> Column:
    """True if a broker violates some rule in every view, and the column `varied` differs between
    views.

    With `lacking`, only omitted actions count as violations; otherwise, only forbidden actions
    count. If `rules` are given, only these rules count.
    """
    broker = Window.partitionBy("cycle", "broker")

    def is_wrong(one: Column) -> Column:
        wrong = one["broken"] & (one["lacking"] == F.lit(lacking))
        return wrong & one["rule"].isin(*rules) if rules else wrong

    wrong = F.exists("said", is_wrong)
    count = F.sum(F.coalesce(wrong, F.lit(False)).cast("int")).over(broker)
    several = F.min(varied).over(broker) != F.max(varied).over(broker)
    return F.coalesce(several & (count == F.col("view_count")), F.lit(False))


def _combined_check(
    rule: str, readings: Readings, bounded_checks: Mapping[str, RuleCheck]
) -> RuleColumns:
    judged = CHECKS[rule](readings)
    return (
        combine_checks(judged, bounded_checks[rule](readings)) if rule in bounded_checks else judged
    )


def _root_rule() -> Column:
    """Return the rule that explains a violation: the same broker violates it in the same cycle."""
    same = Window.partitionBy("cycle", "broker")
    broken = F.collect_set(F.when(F.col("surely"), F.col("rule"))).over(same)
    roots = F.lit(None).cast("array<string>")
    for rule, explaining in FOLLOWS.items():
        roots = F.when(F.col("rule") == rule, F.array(*map(F.lit, explaining))).otherwise(roots)
    return F.get(F.array_intersect(roots, broken), F.lit(0))


SIDE = ("lacking", "surely", "evidence", "excused", "follows")
"""Columns of `judge_cycles` that are separate for omissions and for forbidden actions."""


def _combine_brokers(rows: DataFrame) -> DataFrame:
    """Return a row for each cycle and rule, which combines the results of all brokers."""
    culprit = F.struct(
        (~F.col("surely")).alias("unsure"),
        "proof.aside",
        "root",
        "proof.evidence",
        "proof.lacking",
        "proof.excused",
    )
    grouped = rows.groupBy("cycle", "rule").agg(
        F.bool_or("reached").alias("reached"),
        F.bool_or("broken").alias("broken"),
        F.bool_or("surely").alias("surely"),
        F.min(F.when(F.col("broken"), culprit)).alias("proof"),
        *(
            F.min(F.when(F.col("broken") & (F.col("proof.lacking") == lacking), culprit)).alias(
                name
            )
            for name, lacking in (("omitted", True), ("done", False))
        ),
        F.count_if("reached").alias("brokers"),
    )
    return grouped.select(
        "cycle",
        "rule",
        "reached",
        "broken",
        "surely",
        "proof.lacking",
        "proof.evidence",
        "proof.excused",
        F.col("proof.root").alias("follows"),
        "brokers",
        F.array_compact(F.array(*map(_side, ("omitted", "done")))).alias("sides"),
    )


def _side(name: str) -> Column:
    one = F.col(name)
    fields = (
        one["lacking"],
        ~one["unsure"],
        one["evidence"],
        one["excused"],
        one["root"],
    )
    told = (field.alias(column) for column, field in zip(SIDE, fields, strict=True))
    return F.when(one.isNotNull(), F.struct(*told))


def _part_name(rule: str, part: str) -> str:
    return f"{rule} {part}"


def _result_struct(rule: str, check: RuleColumns) -> Column:
    reached, broken = (F.col(f"`{_part_name(rule, part)}`") for part in ("reached", "broken"))
    return F.struct(
        F.lit(rule).alias("rule"),
        reached.alias("reached"),
        broken.alias("broken"),
        F.when(broken, check.lacking).alias("lacking"),
        F.when(broken, check.evidence).alias("evidence"),
        F.when(broken, _took_no_action(check)).alias("aside"),
        F.when(broken, _is_excused(rule, check)).alias("excused"),
    )


def _is_excused(rule: str, check: RuleColumns) -> Column:
    """True if a violation may be due to a bundle that had to stay."""
    return (check.lacking | F.lit(rule in BY_ORDER)) & (F.coalesce("held", F.lit(0)) > 0)


def _took_no_action(check: RuleColumns) -> Column:
    """True if the violation is a forbidden action, but this broker took no action."""
    return ~check.lacking & (F.col("answered") == 0)
