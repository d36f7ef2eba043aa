"""The case of each fault is a file of its own."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.audit.verdicts.casefiles import write_faults
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark


def test_faults_of_one_second_and_of_clusters_with_similar_names_are_apart(spark, tmp_path):
    def fault(cluster, microsecond, case):
        cycle = datetime(2026, 11, 20, 0, 35, 0, microsecond, tzinfo=UTC)
        said = {"rule": "SHED-04", "verdict": "violated", "evidence": "", "case": case}
        return {"cluster": cluster, "day": cycle.date(), "cycle": cycle, **said}

    rows = [fault("eu:1", 0, "{}"), fault("eu=1", 0, "[]"), fault("eu=1", 5, "1")]
    write_faults(spark.session.createDataFrame(rows, TABLES["verdicts"].schema), str(tmp_path), 9)
    name = "SHED-04-eu_1-20261120T003500Z"
    written = {one.name: one.read_text() for one in (tmp_path / "cases").iterdir()}
    assert written == {f"{name}.json": "{}\n", f"{name}-2.json": "[]\n", f"{name}-3.json": "1\n"}
