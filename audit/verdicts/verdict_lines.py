"""The verdicts on one cycle, as text."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.specs.text import paragraph
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def judging_rules_text(verdicts: DataFrame) -> str:
    """Return text with the rules that judge a cycle in which no rule is broken or undecided."""
    rules = sorted(row["rule"] for row in verdicts.select("rule").distinct().collect())
    if not rules:
        return "no rule judges this cycle"
    return (
        f"no rule forbids that: the rules that judge this cycle are all kept ({', '.join(rules)})"
    )


def verdict_lines(verdicts: DataFrame, findings: DataFrame | None = None) -> Iterator[str]:
    """Yield the lines of each verdict on a cycle, other than `allowed`.

    If `findings` show that the cycle may have run at several moments, each verdict comes with the
    moment for which its figures were computed, since the leader's knowledge differs between them.
    """
    rows = verdicts.where(F.col("verdict") != "allowed").orderBy("rule", "verdict")
    shown = [tuple(row) for row in rows.select("rule", "verdict", "evidence").collect()]
    times = _times_of_evidence(findings) if shown and findings is not None else {}
    several = len({*times.values()}) > 1
    for key in shown:
        rule, verdict, evidence = key
        when = f"; by what was known at {times[key]}" if several and key in times else ""
        yield from paragraph(f"{rule} {verdict}: {evidence}{when}", 4, "  ")


def _times_of_evidence(findings: DataFrame) -> dict[tuple[str, ...], str]:
    """Return the latest time of each finding, by its rule, verdict and evidence."""
    at = findings.select("rule", "verdict", "evidence", precise_utc("moment").alias("time"))
    rows = at.distinct().orderBy("time").collect()
    return {(row["rule"], row["verdict"], row["evidence"]): row["time"] for row in rows}
