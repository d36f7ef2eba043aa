"""In fleets with the troubles of running clusters, leaders decide correctly, and no violation is
found.
"""

from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.fleet import bundles, simulated
from pulsar_conformance.audit.fleet.size import BadFleet, Fleet
from pulsar_conformance.audit.fleet.troubles import DAMAGED, TROUBLES
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from standins.sparks import spark

pytestmark = pytest.mark.spark
assert spark

PROFILE = "documented-3.0"
SMALL = Fleet(99, 4, 6, 3)
DAY = Fleet(99, 6, 6, 24, report=2, interval=2)
"""A history of 719 cycles."""

STRATEGIES = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder")
WRONG = ("violated", "not done though due")


def carried(spark, fleet):
    """Return the load of each bundle of a cluster, which is the same for all clusters."""
    one = replace(fleet, clusters=1)
    rows = bundles.bundle_ranges(one, spark.session.range(one.initial_bundles))
    return simulated.simulated_bundles(one, rows).toPandas()


def written(fleet, loads, number, folder):
    """Write the history of one cluster; return the number of its records by kind."""
    rows = simulated.simulate_history(fleet, number, loads, "reference", ())
    folder.mkdir(exist_ok=True)
    (folder / f"{number}.json").write_text("\n".join(rows["value"]) + "\n")
    return Counter(rows["kind"])


def verdicts(spark, folder):
    output = folder.with_name("audit")
    plan = AuditPlan.of(PROFILE)
    return build_audit_tables(spark.session, str(folder), str(output), plan, None)


def accused(tables):
    """Return cluster, cycle, rule and evidence of each verdict that a rule is broken."""
    rows = tables["verdicts"].where(tables["verdicts"]["verdict"].isin(*WRONG)).collect()
    return [(row["cluster"], str(row["cycle"]), row["rule"], row["evidence"]) for row in rows]


@pytest.mark.parametrize(
    "every",
    [
        [("damaged",), ("doubled",), ("clocks",)],
        pytest.param(
            [*((name,) for name in TROUBLES), tuple(TROUBLES)], marks=pytest.mark.thorough
        ),
    ],
    ids=["some", "each alone and all together"],
)
def test_troubles_accuse_nobody(spark, tmp_path, every):
    loads, counts = carried(spark, SMALL), {}
    for number, troubles in enumerate(every):
        fleet = replace(SMALL, troubles=troubles, jitter=10)
        counts[troubles] = written(fleet, loads, number, tmp_path / "history")
    assert counts["damaged",][DAMAGED]
    assert counts["doubled",]["cycle"] == 2 * counts["clocks",]["cycle"]
    seldom = counts.get(("threshold",), Counter())
    assert seldom["load_report"] < counts["clocks",]["load_report"]
    tables = verdicts(spark, tmp_path / "history")
    assert {
        row["cluster"] for row in tables["verdicts"].select("cluster").distinct().collect()
    } == {SMALL.cluster(number) for number in range(len(every))}
    assert accused(tables) == []


def test_reports_that_would_come_after_the_cycle_are_refused():
    with pytest.raises(BadFleet, match="--jitter 11: give at most 10, so that reports precede"):
        replace(DAY, jitter=11)


@pytest.mark.thorough
@pytest.mark.parametrize("jitter", [0, 5, 10])
def test_seven_hundred_right_cycles_of_each_trouble_accuse_nobody(spark, tmp_path, jitter):
    loads, cycles = carried(spark, DAY), 0
    every = [(name,) for name in TROUBLES]
    for number, troubles in enumerate(every):
        strategy = STRATEGIES[number % len(STRATEGIES)]
        fleet = replace(DAY, troubles=troubles, jitter=jitter, strategy=strategy)
        counts = written(fleet, loads, number, tmp_path / "history")
        cycles = min(cycles or counts["cycle"], counts["cycle"])
    assert cycles >= 700
    assert accused(verdicts(spark, tmp_path / "history")) == []
