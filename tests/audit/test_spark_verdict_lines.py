"""A cycle that may have run at several moments has figures of each of them."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.verdicts.arithmetic import UnloadDifference
from pulsar_conformance.audit.verdicts.omissions import MAY_HAVE_STAYED, may_stay_text
from pulsar_conformance.audit.verdicts.verdict_lines import judging_rules_text, verdict_lines
from pyspark.sql import functions as F
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark
FIRST, LAST = (datetime(2026, 11, 26, 13, minute, tzinfo=UTC) for minute in (12, 13))
IDLE = ("OVERLOAD-04", "undecided", "b1 shed a; it is at 0 %")
BUSY = ("SHED-02", "undecided", "b1 shed a, not in its last report; it is at 6 %")
KEPT = ("OVERLOAD-01", "allowed", "b1 is at 6 %")


@pytest.fixture
def session(spark):
    """Return a Spark session."""
    return spark.session


@pytest.fixture
def told(session):
    """Return a function that gives the lines of verdicts, joined, with or without findings."""

    def lines(verdicts, findings=None):
        rows = session.createDataFrame(verdicts, "rule string, verdict string, evidence string")
        columns = "rule string, verdict string, evidence string, moment timestamp"
        found = session.createDataFrame(findings, columns) if findings else None
        return " ".join(" ".join(verdict_lines(rows, found)).split())

    return lines


def test_each_verdict_says_of_which_moment_its_figures_are(told):
    findings = [(*IDLE, FIRST), (*BUSY, LAST), (*KEPT, LAST)]
    text = told([BUSY, IDLE, KEPT], findings)
    assert f"{IDLE[2]}; by what was known at 2026-11-26T13:12:00Z SHED-02" in text
    assert text.endswith(f"{BUSY[2]}; by what was known at 2026-11-26T13:13:00Z")
    assert KEPT[0] not in text


def test_a_cycle_with_a_single_moment_needs_none(told):
    assert told([IDLE], [(*IDLE, FIRST), (*KEPT, FIRST)]) == f"{IDLE[0]} {IDLE[1]}: {IDLE[2]}"
    assert "known at" not in told([IDLE])


def test_rules_that_are_kept_are_named(session):
    kept = session.createDataFrame([("SHED-02",), ("OVERLOAD-01",)], "rule string")
    assert judging_rules_text(kept).endswith("are all kept (OVERLOAD-01, SHED-02)")
    assert judging_rules_text(kept.limit(0)) == "no rule judges this cycle"


@pytest.mark.parametrize(
    ("kept", "unloaded", "told"),
    [
        (set(), {("b1", "A")}, MAY_HAVE_STAYED),
        (set(), {("b2", "A"), ("b1", "B")}, MAY_HAVE_STAYED),
        (set(), {("b2", "A")}, ""),
        ({("b1", "A")}, set(), ""),
    ],
)
def test_a_broker_of_which_a_bundle_may_have_stayed_is_told(session, kept, unloaded, told):
    rows = session.createDataFrame([("b1", 1), ("b2", 0)], "broker string, held int")
    tables = {"broker_decisions": rows}
    difference = UnloadDifference("released-3.0", kept, unloaded)
    assert may_stay_text(tables, F.lit(True), difference) == told
