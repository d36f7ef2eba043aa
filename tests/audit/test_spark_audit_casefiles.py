"""The case of each fault is written to its own file."""

from datetime import UTC, datetime

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.audit.verdicts.casefiles import empty_case_folder, write_case_files
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark


def write(spark, rows, folder):
    """Write the case files of broken verdicts, named by the times of their cycles."""
    found = [
        {name: row[name] for name in ("cluster", "day", "cycle", "rule", "verdict")} for row in rows
    ]
    found = [{**row, "moment": row["cycle"]} for row in found]
    verdicts, findings = (
        spark.session.createDataFrame(table, TABLES[name].schema)
        for name, table in (("verdicts", rows), ("findings", found))
    )
    write_case_files(verdicts, findings, str(folder), 9)


def test_faults_of_one_second_and_of_clusters_with_similar_names_are_apart(spark, tmp_path):
    def fault(cluster, microsecond, case):
        cycle = datetime(2026, 11, 20, 0, 35, 0, microsecond, tzinfo=UTC)
        said = {"rule": "SHED-04", "verdict": "violated", "evidence": "", "case": case}
        return {"cluster": cluster, "day": cycle.date(), "cycle": cycle, **said}

    rows = [fault("eu:1", 0, "{}"), fault("eu=1", 0, "[]"), fault("eu=1", 5, "1")]
    write(spark, rows, tmp_path)
    name = "SHED-04-eu_1-20261120T003500Z"
    written = {one.name: one.read_text() for one in (tmp_path / "cases").iterdir()}
    assert written == {f"{name}.json": "{}\n", f"{name}-2.json": "[]\n", f"{name}-3.json": "1\n"}


def test_rules_that_are_broken_at_one_moment_share_their_case(spark, tmp_path):
    cycle = datetime(2026, 11, 20, 0, 35, tzinfo=UTC)
    shared = {"cluster": "eu", "day": cycle.date(), "cycle": cycle, "verdict": "violated"}
    rows = [
        {**shared, "rule": "SHED-03", "evidence": "", "case": "{}"},
        {**shared, "rule": "SHED-04", "evidence": "", "case": None},
    ]
    write(spark, rows, tmp_path)
    written = {one.name[:7]: one.read_text() for one in (tmp_path / "cases").iterdir()}
    assert written == {"SHED-03": "{}\n", "SHED-04": "{}\n"}


def test_cases_of_an_earlier_audit_are_removed_if_there_are_no_faults(tmp_path):
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "SHED-04-eu-20261120T003500Z.json").write_text("{}\n")
    assert empty_case_folder(str(tmp_path))
    assert not list((tmp_path / "cases").iterdir())
    assert not empty_case_folder("s3a://bucket/audit")
