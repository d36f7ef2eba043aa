"""The readings on which the verdicts of an audit depend and that the documents leave open.

Under another alternative of such a reading, a rule may forbid or demand something else. A fault is
certain only if it is a fault under every alternative. `broker-rates` is left out, since an audit
always takes a broker's traffic from its load report.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.background import collect_garbage
from pulsar_conformance.adapters.spark.configuring import collect_small
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.tables import causes
from pulsar_conformance.audit.verdicts.checks.registry import CHECKS, UNDECIDED, is_fault
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

READINGS_OF_RULE: Mapping[str, tuple[str, ...]] = {
    "SHED-04": ("grace-edge",),
    "SHED-07": ("shed-measure", "shed-window"),
    "SHED-08": ("overload-amount", "overload-trigger", "shed-measure", "shed-window"),
    "OVERLOAD-02": ("shed-measure", "shed-window"),
    "OVERLOAD-03": ("shed-measure", "shed-window"),
    "OVERLOAD-04": ("overload-trigger",),
    "OVERLOAD-06": ("expensive-measure", "shed-window"),
    "THRESHOLD-01": ("threshold-trigger",),
    "THRESHOLD-02": ("threshold-trigger", "overload-scope"),
    "THRESHOLD-03": (
        "threshold-trigger",
        "threshold-target",
        "threshold-released",
        "shed-measure",
        "shed-window",
    ),
    "THRESHOLD-04": (
        "threshold-trigger",
        "threshold-target",
        "threshold-released",
        "shed-measure",
        "shed-window",
        "overload-scope",
    ),
    "THRESHOLD-06": ("threshold-trigger", "overload-scope"),
    "THRESHOLD-07": ("overload-scope",),
    "THRESHOLD-08": ("overload-scope",),
    "THRESHOLD-09": ("lower-boundary", "overload-scope"),
    "THRESHOLD-10": ("lower-boundary", "overload-scope"),
    "THRESHOLD-12": ("shed-measure", "shed-window"),
    "THRESHOLD-18": ("overload-scope",),
    "THRESHOLD-20": ("overload-scope",),
    "UNIFORM-01": ("uniform-multiplier",),
    "UNIFORM-02": ("uniform-trigger", "uniform-difference", "uniform-multiplier", "overload-scope"),
    "UNIFORM-04": ("overload-scope",),
    "UNIFORM-05": ("overload-scope",),
    "UNIFORM-06": ("overload-scope",),
    "UNIFORM-07": ("overload-scope",),
    "UNIFORM-08": ("uniform-multiplier", "overload-scope"),
}
"""For each rule: the readings of which another alternative may allow what the rule's check rejects.

The rule's entry in `specs` lists further readings, which decide whether the rule applies at all.
"""


def readings_of(rule: str) -> tuple[str, ...]:
    """Return the readings that the verdict on a rule depends on."""
    return tuple(
        dict.fromkeys((*specs.load().rules[rule].reading, *READINGS_OF_RULE.get(rule, ())))
    )


def open_alternatives(rule: str, plan: AuditPlan) -> dict[str, tuple[str, ...]]:
    """Return the alternatives of each open reading that a rule's verdict depends on, except the
    plan's.

    Readings for which the user has chosen an alternative are left out.
    """
    known = specs.load()
    if plan.released:
        return {}
    others = {
        name: tuple(v for v in known.open_values(plan.profile, name) if v != plan.readings[name])
        for name in readings_of(rule)
        if name not in plan.chosen
    }
    return {name: values for name, values in others.items() if values}


DEPENDS_ON_READING = "the documents leave open whether it is a fault: it may be none by "
DECIDED_BY = "; --reading NAME=ALTERNATIVE or a released-* profile decides"

RULE_OF_CYCLE = ("cluster", "cycle", "rule")


Judge = Callable[[DataFrame, AuditPlan, Collection[str]], DataFrame]
"""A function that returns the findings of some rules about some cycles, by a plan with another
alternative of a reading.
"""


def faults_under_all_readings(found: DataFrame, plan: AuditPlan, judge: Judge) -> DataFrame:
    """Return the findings; faults under only some alternatives of the open readings become
    undecided.

    `judge` is called only if the rule of a fault depends on an open reading.
    """
    others = {rule: dict(_other_plans(rule, plan)) for rule in CHECKS}
    if not any(others.values()):
        return found
    found = found.localCheckpoint()
    faults = found.where(is_fault())
    rules = dict(collect_small(faults.groupBy("rule").count().orderBy("rule")))
    plans = {name: other for rule in rules for name, other in others[rule].items()}
    if not plans:
        return found
    key, free = [*RULE_OF_CYCLE, "verdict"], []
    for name, other in plans.items():
        concerned = [rule for rule in rules if name in others[rule]]
        rows = faults.where(F.col("rule").isin(*concerned))
        if any(specs.load().rules[rule].applies(other.readings) for rule in concerned):
            ran = rows.select("cluster", "cycle").distinct()
            ran = causes.broadcast_few(ran, sum(rules[rule] for rule in concerned))
            # All rules, since a fault may be certain only with those of another possible strategy.
            rows = rows.join(judge(ran, other, rules).where(is_fault()), key, "left_anti")
        free.append(rows.select(*key, F.lit(name).alias("by")).localCheckpoint())
        del rows
        collect_garbage()  # Java would keep the plans of every alternative.
    names = F.array_join(F.array_sort(F.collect_set("by")), ", ").alias("by")
    doubts = reduce(DataFrame.unionByName, free).groupBy(*key).agg(names)
    return _with_doubts(found.join(doubts, key, "left"), found.columns)


def _with_doubts(found: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return the findings; those with alternatives in the column `by` become undecided.

    Under these alternatives, they may not be faults.
    """
    doubted = F.col("by").isNotNull()
    same = Window.partitionBy(*RULE_OF_CYCLE)
    # A rule with two sides keeps those that are certain, or else the first.
    first = F.row_number().over(same.orderBy(doubted, "verdict")) == 1
    roots = F.collect_set(F.when(doubted, F.col("rule")))
    rooted = ~F.array_contains(roots.over(Window.partitionBy("cluster", "cycle")), F.col("follows"))
    why = F.concat(F.lit(DEPENDS_ON_READING), "by", F.lit(DECIDED_BY))
    return (
        found.withColumns({"first": first, "follows": F.when(rooted, F.col("follows"))})
        .where("first or by is null")
        .withColumn("verdict", F.when(doubted, F.lit(UNDECIDED)).otherwise(F.col("verdict")))
        .withColumn("evidence", F.concat_ws("; ", "evidence", F.when(doubted, why)))
        .select(*columns)
    )


def _other_plans(rule: str, plan: AuditPlan) -> Iterator[tuple[str, AuditPlan]]:
    """Yield other alternatives on which a rule's verdict may depend, each with a plan that has it.

    An alternative is named as in `overload-trigger=reaches`.
    """
    for name, values in open_alternatives(rule, plan).items():
        for value in values:
            readings = {**plan.readings, name: value}
            yield f"{name}={value}", replace(plan, readings=readings)
