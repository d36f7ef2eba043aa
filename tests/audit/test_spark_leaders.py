"""Changes of the leader in a history."""

from datetime import datetime

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline import leaders
from pulsar_conformance.audit.pipeline.tables import TABLES
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark


@pytest.fixture
def changes(spark):
    def found(*led):
        """Return a cluster's changes of the leader, given records `(minute, broker, anew)`."""
        tables = {
            name: spark.session.createDataFrame([], TABLES[name].schema)
            for name in ("contexts", "unloads", "broker_samples")
        }
        rows = [
            {
                "kind": "leader",
                "cluster": "c",
                "at": datetime(2026, 11, 20, 0, minute),
                "broker": broker,
                "anew": anew,
            }
            for minute, broker, anew in led
        ]
        tables["contexts"] = spark.session.createDataFrame(rows, tables["contexts"].schema)
        rows = leaders.leader_changes(tables).orderBy("at").collect()
        return [(row["at"].minute, row["broker"], row["former"], row["how"]) for row in rows]

    return found


def test_a_broker_that_leads_again_begins_again(changes):
    assert changes((0, "b1", None), (5, "b1", None)) == [(5, "b1", "b1", leaders.RESTARTED)]


def test_a_leader_that_a_recorder_finds_once_more_is_no_change(changes):
    assert changes((0, "b1", False), (5, "b1", False)) == []


def test_another_leader_that_a_recorder_finds_is_a_change(changes):
    assert changes((0, "b1", False), (5, "b2", False)) == [(5, "b2", "b1", leaders.SILENT)]
