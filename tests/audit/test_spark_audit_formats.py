"""Common forms of JSON and of times give the same records; other formats are refused by name."""

import bz2
import importlib
import json
import re

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input import files, lines
from pulsar_conformance.audit.input.parsing import parsed_records
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import report as reporting
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from standins.records import GOOD, history, line, reasons, told
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

RECORDS = [json.loads(text) for text in GOOD]
MAX_DOCUMENTS = {
    "a list on one line": json.dumps(RECORDS),
    "a list of lines": "[\n" + ",\n".join(map(json.dumps, RECORDS)) + "\n]\n",
    "a pretty list": json.dumps(RECORDS, indent=2),
    "lines": "\n".join(map(json.dumps, RECORDS)) + "\n",
}
TIMES = {
    "2026-11-20T10:00:00.5+0000": "2026-11-20T10:00:00.5Z",
    "2026-11-20T10:00:00,500Z": "2026-11-20T10:00:00.5Z",
    "2026-11-20 10:00:00,500 +0000": "2026-11-20T10:00:00.5Z",
    "2026-11-20T15:30:00.5+0530": "2026-11-20T10:00:00.5Z",
    1795168800500: "2026-11-20T10:00:00.5Z",
    "1795168800500": "2026-11-20T10:00:00.5Z",
}


@pytest.fixture(scope="module")
def session(spark):
    return spark.session


@pytest.mark.parametrize("form", MAX_DOCUMENTS)
def test_a_history_as_a_json_document_is_read_record_by_record(session, tmp_path, form):
    (tmp_path / "history.json").write_text(MAX_DOCUMENTS[form])
    assert reasons(told(session, tmp_path)) == {None: len(GOOD)}


def test_one_record_over_several_lines_is_one_line(session, tmp_path):
    for number, record in enumerate(RECORDS):
        (tmp_path / f"{number}.json").write_text(json.dumps(record, indent=4))
    assert reasons(told(session, tmp_path)) == {None: len(GOOD)}


def test_what_is_no_document_is_read_line_by_line(session, tmp_path, monkeypatch):
    (tmp_path / "two.json").write_text('{\n"kind": "cycle"\n}\n{}\n')
    (tmp_path / "numbers.json").write_text("[1, 2]\n")
    lost = reasons(told(session, tmp_path))
    assert lost == {"truncated-line": 1, "not-json": 1, "missing-kind": 1, "not-an-object": 3}
    monkeypatch.setattr(lines, "MAX_DOCUMENTS", 0)
    assert reasons(told(session, tmp_path))["not-an-object"] == 2


def test_times_as_logs_write_them_are_the_same(session, tmp_path):
    texts = [line("leader", at, broker=f"b{number}") for number, at in enumerate(TIMES)]
    folder = history(tmp_path, texts)
    assert reasons(told(session, folder)) == {None: len(TIMES)}
    found = lines.read_lines(session, str(folder), files.current_files(session, str(folder)))
    assert {row["at"].isoformat() for row in parsed_records(found).select("at").collect()} == {
        "2026-11-20T10:00:00.500000"
    }


def test_compressed_files_are_read_up_to_where_one_is_damaged(session, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    text = "\n".join(GOOD).encode() + b"\n"
    (tmp_path / "a.jsonl.bz2").write_bytes(bz2.compress(text))
    with arrow.CompressedOutputStream(str(tmp_path / "b.jsonl.zst"), "zstd") as packed:
        packed.write(text)
    (tmp_path / "c.jsonl.bz2").write_bytes(bz2.compress(text)[:-20])
    found = reasons(told(session, tmp_path))
    assert found.pop("damaged-gzip") == 1
    assert found == {None: len(GOOD), "duplicate": len(GOOD)}


def test_parquet_of_a_topic_of_kafka_holds_records_as_values(session, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    columns = {
        "key": [None] * len(GOOD),
        "value": [one.encode() for one in GOOD],
        "topic": ["history"] * len(GOOD),
        "partition": [0] * len(GOOD),
        "offset": list(range(len(GOOD))),
    }
    parquet.write_table(arrow.table(columns), str(tmp_path / "part-0.parquet"))
    assert reasons(told(session, tmp_path)) == {None: len(GOOD)}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("s3a://bucket/a", "Spark lacks .*hadoop-aws"),
        ("s3://bucket/a", "Spark cannot open this scheme; write s3a:// instead"),
        ("gs://bucket/a", "Spark lacks .*gcs-connector"),
        ("abfss://a@b.dfs.core.windows.net/c", "Spark lacks .*hadoop-azure"),
        ("hdfs://no-such-host.invalid:9/a", "the host in hdfs://no-such-host"),
        ("oss://bucket/a", "Spark cannot open oss://"),
    ],
)
def test_a_file_system_that_spark_cannot_open_is_named(session, tmp_path, path, problem):
    plan = AuditPlan.of("documented-3.0")
    how = reporting.ReportOptions(quiet=True)
    other = reporting.Counterfactual({}, None)
    with pytest.raises(AuditError, match=f"--input {re.escape(path)}: {problem}"):
        reporting.write_audit(session, path, str(tmp_path), plan, other, how)


def test_files_of_this_machine_are_listed_as_by_spark(session, tmp_path, monkeypatch):
    names = ["a.jsonl", "b.json.GZ", "day=1/c.parquet", "deep/er/d.tar", "_hidden/e.json", ".f"]
    for name in (*names, "empty.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("" if name.startswith("empty") else f"{name}\n")
    listed = files.current_files(session, str(tmp_path))
    assert listed.here
    assert listed.count == 4
    monkeypatch.setattr(files, "can_open_path", lambda *_: False)
    by_spark = files.current_files(session, str(tmp_path))
    assert not by_spark.here
    assert by_spark.kinds == listed.kinds
    assert by_spark.fingerprint == listed.fingerprint


def test_archives_are_quarantined_by_name(session, tmp_path):
    for name in ("a.tar", "b.tar.gz", "c.TGZ"):
        (tmp_path / name).write_bytes(b"x" * 1024)
    assert reasons(told(session, history(tmp_path, GOOD))) == {None: len(GOOD), "foreign-file": 3}


@pytest.mark.parametrize("log", ["_delta_log/00000.json", "metadata/v1.metadata.json"])
def test_tables_with_a_log_are_refused(session, tmp_path, log):
    folder = history(tmp_path / "in", GOOD)
    (folder / "table" / log).parent.mkdir(parents=True)
    (folder / "table" / log).write_text("{}")
    plan = AuditPlan.of("documented-3.0")
    with pytest.raises(AuditError, match="Delta Lake or Iceberg"):
        reporting.build_audit_tables(session, str(folder), str(tmp_path / "out"), plan, None)
