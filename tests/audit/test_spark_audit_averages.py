"""The load of a bundle in a cycle, computed from its samples and from the leader's records."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark.averages import averages
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.audit.tables.averages import averages_table
from pulsar_conformance.audit.tables.causes import unload_rows
from pulsar_conformance.audit.tables.cycles import cycles_table
from pulsar_conformance.audit.tables.last_reports import last_reports
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

START = datetime(2026, 11, 20, tzinfo=UTC)
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
BUNDLE = "t/ns/0x00000000_0xffffffff"
LAST = 21
CASES = {
    "samples": ([10.0, 20.0], None, 0, (15, 2)),
    "record": ([], (40.0, 10), 0, (40, 10)),
    "record-after-samples": ([10.0, 20.0], (40.0, 10), 2, (40, 10)),
    "record-and-one-sample": ([10.0], (40.0, 3), 0, (32.5, 4)),
    "full-record-and-two": ([10.0, 10.0], (40.0, 10), 0, (34, 10)),
    "record-between": ([90.0, 10.0, 10.0], (40.0, 10), 1, (34, 10)),
    "record-of-what-is-known": ([10.0, 20.0, 60.0], (15.0, 2), 2, (30, 3)),
    "old-record": ([10.0] * 12, (40.0, 10), 0, (10, 10)),
    "record-of-nothing": ([10.0], (50.0, 0), 0, (10, 1)),
}
"""By cluster: samples, a record of the leader (rate, number), the number of samples up to the time
of the record (the last one at the same time), and the rate and number known at the end.
"""


def rows_of(cluster, samples, record, place):
    rows = {name: [] for name in ("broker_samples", "bundle_samples", "actions", "contexts")}

    def add(table, minute, **columns):
        at = START + timedelta(minutes=minute)
        rows[table].append({"cluster": cluster, "at": at, "day": at.date(), **columns})

    add("contexts", 0, kind="leader", broker="b1")
    add("contexts", LAST, kind="cycle")
    percent = dict.fromkeys(RESOURCES, 1.0)
    add("broker_samples", LAST - 1, broker="b1", percent=percent, bundles=[BUNDLE])
    for number, rate in enumerate(samples):
        own = dict.fromkeys(RATES, rate)
        add("bundle_samples", number + 1, broker="b1", bundle=BUNDLE, **own)
    if record:
        said = {**dict.fromkeys(RATES, record[0]), "numSamples": float(record[1])}
        data = {"shortTermData": said, "longTermData": said}
        add("contexts", place, kind="bundle_data", bundle=BUNDLE, data=data)
    return rows


@pytest.fixture(scope="module")
def known(audit_session):
    every = [rows_of(name, *case[:3]) for name, case in CASES.items()]
    tables = (
        audit_session.createDataFrame(
            [row for rows in every for row in rows[name]], TABLES[name].schema
        )
        for name in ("broker_samples", "bundle_samples", "actions", "contexts")
    )
    silver, plan = Silver(*tables), AuditPlan.of("documented-3.0")
    # Without checkpoints, each table would compute all those before it again.
    made = {"cycles": cycles_table(silver, plan).localCheckpoint()}
    made["unloads"] = unload_rows(silver, made, plan).localCheckpoint()
    made["last_reports"] = last_reports(silver, made, plan).localCheckpoint()
    return {row["cluster"]: row for row in averages_table(silver, made, plan).collect()}


@pytest.mark.parametrize("case", CASES)
def test_a_record_counts_for_the_samples_before_it_and_those_after_it_go_on(case, known):
    rate, number = CASES[case][3]
    found = known[case]["shortTermData"]
    assert found["numSamples"] == number
    for name in RATES:
        assert found[name] == pytest.approx(rate)


@pytest.mark.parametrize("window", ["fading", "sliding"])
def test_averages_of_a_short_series_are_those_of_a_long_one(audit_session, window):
    """A series that is known to be short is computed in fewer steps, with the same averages."""
    count, schema = 40, f"key int, at int, {', '.join(f'{name} double' for name in RATES)}"
    each = [(key, at, *_rates(key, at)) for key in range(2) for at in range(count)]
    rows = audit_session.createDataFrame(each, schema)
    readings = {**AuditPlan.of("released-3.0").readings, "window": window}
    found = [
        averages(rows, ("key",), ("at",), {"short": 3, "long": 30}, readings, most=most)
        .select("key", "at", "short", "long")
        .orderBy("key", "at")
        .collect()
        for most in (None, count)
    ]
    assert found[0] == found[1]
    assert len({row["short"]["msgRateIn"] for row in found[0]}) > count


def _rates(key, at):
    """Return the rates of a row, which are null in every third row, an observation."""
    return [None] * len(RATES) if at % 3 == 2 else [key + at * 1.25 + place for place in range(4)]
