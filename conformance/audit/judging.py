"""Each cycle held against each rule: whether the rule speaks about it, and is kept."""

from __future__ import annotations

from collections.abc import Iterable

from pulsar_conformance.conformance.audit.checks import CHECKS, Judged
from pulsar_conformance.conformance.audit.checks.registry import Readings
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def judged(facts: DataFrame, rules: Iterable[str], readings: Readings) -> DataFrame:
    """A row for each cycle and rule that was reached or broken, of rows of `facts.facts`.

    Columns are `cycle`, `rule`, `reached`, `broken`, `lacking` (whether what is broken was due, and
    not done), `evidence` (null unless broken) and `brokers` (how many it was about).
    """
    checks = {rule: CHECKS[rule](readings) for rule in rules}
    decided = facts.withColumns(
        {
            _name(rule, part): getattr(one, part)
            for rule, one in checks.items()
            for part in ("reached", "broken")
        }
    )
    each = F.array(*(_row(rule, one) for rule, one in checks.items()))
    said = F.filter(each, lambda one: one["reached"] | one["broken"])
    rows = decided.select("cycle", said.alias("said")).select("cycle", F.inline("said"))
    proof = F.when(F.col("broken"), F.struct("evidence", "lacking"))
    grouped = rows.groupBy("cycle", "rule").agg(
        F.bool_or("reached").alias("reached"),
        F.bool_or("broken").alias("broken"),
        F.min(proof).alias("proof"),
        F.count_if("reached").alias("brokers"),
    )
    return grouped.select(
        "cycle", "rule", "reached", "broken", "proof.lacking", "proof.evidence", "brokers"
    )


def _name(rule: str, part: str) -> str:
    return f"{rule} {part}"


def _row(rule: str, one: Judged) -> Column:
    reached, broken = (F.col(f"`{_name(rule, part)}`") for part in ("reached", "broken"))
    return F.struct(
        F.lit(rule).alias("rule"),
        reached.alias("reached"),
        broken.alias("broken"),
        F.when(broken, one.lacking).alias("lacking"),
        F.when(broken, one.evidence).alias("evidence"),
    )
