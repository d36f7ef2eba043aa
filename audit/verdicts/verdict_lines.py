"""The verdicts on one cycle, and the assumptions about its brokers, as text."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.audit.tables.last_reports import LATE, LOST, PERHAPS
from pulsar_conformance.audit.tables.last_reports import UNKNOWN as UNKNOWN_CONTENT
from pulsar_conformance.specs.text import paragraph
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

ASSUMED = {
    PERHAPS: "counts a broker that may be down",
    LATE: "leaves out a broker that may be up",
    UNKNOWN_CONTENT: "counts a broker by a former report",
    LOST: "leaves out a broker of unknown load",
}
"""Texts on how the arithmetic treats a broker, by its `standing`."""


def assumption_lines(usages: DataFrame, moment: str) -> Iterator[str]:
    """Yield lines on how the arithmetic of a moment treats brokers that may or may not count."""
    at = F.col("moment") == F.lit(moment).cast("timestamp")
    rows = usages.where(at & F.col("standing").isNotNull()).orderBy("broker")
    for standing, note in rows.select("standing", "note").collect():
        yield from paragraph(f"this arithmetic {ASSUMED[standing]}, {note}", 4, "  ")


def judging_rules_text(verdicts: DataFrame) -> str:
    """Return text that lists the rules that judge a cycle, if none is broken or undecided."""
    rules = sorted(row["rule"] for row in verdicts.select("rule").distinct().collect())
    if not rules:
        return "no rule judges this cycle"
    return (
        f"no rule forbids that: the rules that judge this cycle are all kept ({', '.join(rules)})"
    )


def verdict_lines(verdicts: DataFrame, findings: DataFrame | None = None) -> Iterator[str]:
    """Yield lines about each verdict on a cycle that is not `allowed`.

    If `findings` show that the cycle may have run at several moments, each verdict has the moment
    for which its figures were computed, since the leader may know something else at each.
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
