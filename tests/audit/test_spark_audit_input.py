"""Every line of a history is used, or quarantined with the reason; no line stops a run."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input import gzipped, lines
from pulsar_conformance.audit.input.files import current_files
from pulsar_conformance.audit.input.gzipped import compressed_lines, is_intact_gzip
from pulsar_conformance.audit.input.lines import read_lines
from pulsar_conformance.audit.input.parsing import (
    REQUIRED,
    SHEDDING,
    SHUTDOWN,
    _without_byte_order_mark,
)
from pulsar_conformance.audit.input.paths import escape_existing_path
from pulsar_conformance.audit.input.reasons import REASONS
from pulsar_conformance.audit.input.records import parse_each_line, quarantine, records
from pulsar_conformance.audit.pipeline.tables import SILVER
from pyspark.sql import functions as F
from standins.exported import example_records
from standins.records import (
    GOOD,
    HALVES,
    STATS,
    WHOLE,
    as_bytes,
    data,
    history,
    line,
    load,
    reasons,
    report,
    said,
    told,
)
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

DAMAGED = {
    b'{"kind":"cycle","cluster":"\xff"}': "not-utf8",
    "": "empty-line",
    " \t": "empty-line",
    report("2026-11-20T12:00:00Z")[:200]: "truncated-line",
    "[1, 2]": "not-an-object",
    "null": "not-an-object",
    "17": "not-an-object",
    "WARN could not write": "not-json",
    report("2026-11-20T12:01:00Z") + "}": "not-json",
    report("2026-11-20T12:04:00Z") + "]}": "not-json",
    line("cycle", "2026-11-20T12:05:00Z").replace('"', "'"): "not-json",
    report("2026-11-20T12:02:00Z") + report("2026-11-20T12:03:00Z"): "not-json",
    "\0\0\0\0": "not-json",
    '{"kind":"cycle",' + '"z":' + "[" * 5000 + "]" * 5000 + "}": "not-json",
    report("2026-11-20T12:04:00Z") + "," + report("2026-11-20T12:05:00Z"): "several-records",
    "{}": "missing-kind",
    line("load_reports"): "unknown-kind",
    '{"kind":{"a":1}}': "unknown-kind",
    line("cycle", cluster=None): "bad-cluster",
    line("cycle", cluster="../../etc"): "bad-cluster",
    line("cycle", cluster="c" * 300): "bad-cluster",
    line("cycle", at=None): "unreadable-time",
    line("cycle", at="2026-11-20T10:00:00"): "unreadable-time",
    line("cycle", at="2026-02-30T10:00:00Z"): "unreadable-time",
    line("cycle", at="1970-01-01T00:00:07Z"): "impossible-time",
    line("cycle", at="9999-01-01T00:00:00Z"): "impossible-time",
    report("2026-11-20T13:00:00Z", msgRateIn="many"): "ill-typed-field",
    report("2026-11-20T13:01:00Z", bundles="t/ns"): "ill-typed-field",
    report("2026-11-20T13:02:00Z", lastStats={WHOLE: 7}): "ill-typed-field",
    line("load_report", report=said()): "bad-broker",
    line("leader", broker=""): "bad-broker",
    line("leader", broker={"name": "b1"}): "ill-typed-field",
    line("leader", broker=7): "ill-typed-field",
    line("cycle", cluster=5): "ill-typed-field",
    line("domain", name=5, members=["b1:8080"]): "ill-typed-field",
    line("domain", name="rack", members=[5]): "ill-typed-field",
    line("leader", broker="b9:8080")
    + '],"one":['
    + line("leader", broker="b8:8080"): "not-strict-json",
    '{"cluster":"eu-9",' + line("cycle")[1:]: "not-strict-json",
    line("cycle", cluster="__HIVE_DEFAULT_PARTITION__"): "bad-cluster",
    line("cycle", at="2100-01-01T00:00:00Z"): "impossible-time",
    line("settings", settings={"loadBalancerSheddingGracePeriodMinutes": "NaN"}): "bad-setting",
    line(
        "settings", settings={"loadBalancerSheddingGracePeriodMinutes": "Infinity"}
    ): "bad-setting",
    line("settings", settings={"loadBalancerSheddingGracePeriodMinutes": "30d"}): "bad-setting",
    line("unloaded", broker="b1:8080", bundle=WHOLE, cause="whim"): "bad-cause",
    line("split", bundle=WHOLE, into=HALVES, cause="shedding"): "bad-cause",
    line("unloaded", broker="b1:8080"): "bad-bundle",
    line("unloaded", broker="b1:8080", bundle="t/ns/0x0_0x8"): "bad-bundle",
    line("unloaded", broker="b1:8080", bundle="t/0x00000000_0x80000000"): "bad-bundle",
    line("unloaded", broker="b1:8080", bundle=WHOLE + "\n"): "bad-bundle",
    line("unloaded", broker="b1:8080", bundle="t/ns/0x80000000_0x10000000"): "bad-bundle",
    report("2026-11-20T13:03:00Z", bundles=["ns"]): "bad-bundle",
    report("2026-11-20T13:04:00Z", lastStats={"ns": STATS}): "bad-bundle",
    line("load_report", broker="b1:8080"): "missing-field",
    line("load_report", broker="b1:8080", report={"webServiceUrl": "x"}): "missing-field",
    report("2026-11-20T13:05:00Z", cpu={"usage": 5}): "missing-field",
    data(): "missing-field",
    line("load_data", broker="b1:8080"): "missing-field",
    load(weightedMaxEMA=None): "missing-field",
    load(weightedMaxEMA=-0.5): "bad-number",
    load(topBundlesLoadData=[{"bundleName": "ns", "stats": STATS}]): "bad-bundle",
    line("owners"): "missing-field",
    line("domain", name="rack-2"): "missing-field",
    line("settings"): "missing-field",
    report("2026-11-20T13:06:00Z", msgRateIn=float("nan")): "bad-number",
    report("2026-11-20T13:07:00Z", msgRateIn="NaN"): "bad-number",
    report("2026-11-20T13:08:00Z", cpu={"usage": -4.5, "limit": 100}): "bad-number",
    report("2026-11-20T13:09:00Z", msgThroughputOut=4e300): "bad-number",
    report("2026-11-20T13:10:00Z", lastStats={WHOLE: {**STATS, "topics": -1}}): "bad-number",
    report("2026-11-20T13:11:00Z", lastStats={WHOLE: {**STATS, "topics": 0.5}}): "bad-number",
    line("owners", "2026-11-20T14:00:00Z").replace("}", ',"owners":{"b":[],"b":[]}}'): "two-values",
    line("split", bundle=WHOLE, into=HALVES[:1]): "bad-split",
    line("split", bundle=HALVES[0], into=HALVES): "bad-split",
    line("settings", settings={"loadBalancerSheddingEnabled": "on"}): "bad-setting",
    line(
        "settings", settings={"loadBalancerBrokerThresholdShedderPercentage": "ten"}
    ): "bad-setting",
    GOOD[0]: "duplicate",
    GOOD[6].replace("{", '{"words": 1, '): "conflicting",
}
"""Damaged lines, which are mixed with good ones, and the reason for each."""


@pytest.fixture(scope="module")
def session(spark):
    return spark.session


def test_each_damage_has_its_reason_and_every_line_is_there(session, tmp_path):
    rows = told(session, history(tmp_path, [*GOOD, *DAMAGED]))
    assert len(rows) == len(GOOD) + len(DAMAGED)
    assert {line for _, line, used, _ in rows if used} == {line.rstrip("\r") for line in GOOD}
    lost = {line: why for _, line, used, why in rows if not used}
    expected = {as_bytes(line).decode(errors="replace"): why for line, why in DAMAGED.items()}
    assert {line: why for line, why in lost.items() if expected.get(line) != why} == {}


def test_only_damaged_lines_are_searched_for_fields(session, tmp_path, capsys):
    (tmp_path / "lines").write_text(GOOD[0] + "\n")
    text, none = session.read.text(str(tmp_path)), F.lit(None).cast("string")
    lines = text.select(F.lit("lines").alias("file"), F.col("value").alias("line"), none)
    length = session.conf.get("spark.sql.maxPlanStringLength")
    session.conf.set("spark.sql.maxPlanStringLength", "1000000")
    parse_each_line(lines.toDF("file", "line", "damage")).explain(extended=True)
    session.conf.set("spark.sql.maxPlanStringLength", length)
    plan = capsys.readouterr().out
    assert "regexp_extract" in plan
    assert "_common_expr" not in plan  # Spark computes such a column for every line.


def test_every_reason_is_tried(session):
    of_files = {"damaged-gzip", "damaged-parquet", "foreign-file", "stray-time"}
    assert set(DAMAGED.values()) | of_files == set(REASONS)


def test_the_page_has_every_rule():
    guides = Path(__file__).parents[2] / "reports" / "site" / "guides"
    page = (guides / "audit-a-fleet.md").read_text("utf-8")
    for name, reason in REASONS.items():
        assert f"| `{name}` | {reason.rule} |" in page


def test_the_guide_has_an_example_of_every_record(session, tmp_path):
    examples = example_records()
    told = [json.loads(one) for one in examples]
    assert {one["kind"] for one in told} == set(REQUIRED)
    assert {SHEDDING, SHUTDOWN} <= {one.get("cause") for one in told}
    folder = str(history(tmp_path, examples))
    rows = records(read_lines(session, folder, current_files(session, folder)))
    assert [(row.line, row.reason) for row in quarantine(rows).collect()] == []
    assert rows.where("used").count() == len(examples)


def test_used_and_quarantined_are_all(session, tmp_path):
    folder = str(history(tmp_path, [*GOOD, *DAMAGED]))
    rows = records(read_lines(session, folder, current_files(session, folder)))
    assert quarantine(rows).where("reason is null").count() == 0
    used, lost = rows.where("used").count(), quarantine(rows).count()
    assert used + lost == len(GOOD) + len(DAMAGED)


def squeezed(texts):
    return gzip.compress(b"".join(as_bytes(text) + b"\n" for text in texts))


def test_gzip_files_are_used_up_to_where_they_are_damaged(session, tmp_path):
    many = [report(f"2026-11-20T{n // 60:02}:{n % 60:02}:00Z", broker=f"b{n}") for n in range(600)]
    whole = squeezed(many)
    wrong_sum = whole[:-8] + b"\0\0\0\0" + whole[-4:]
    files = {
        "whole.gz": whole,
        "in-two.gz": squeezed(many[:2]) + squeezed(["\ufeff" + many[2], many[3]]) + b"\0" * 512,
        "no-newline.gz": gzip.compress(b"\xef\xbb\xbf" + GOOD[6].encode()),
        "cut-off.gz": whole[: len(whole) // 2],
        "wrong-sum.gz": wrong_sum,
        "no-gzip.gz": b"kind: cycle\n",
        "begun.gz": whole[:5],
        "nothing.gz": b"",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    rows = told(session, tmp_path)
    damaged = [name for name, _, _, why in rows if why == "damaged-gzip"]
    assert sorted(damaged) == ["begun.gz", "cut-off.gz", "no-gzip.gz", "wrong-sum.gz"]
    of = Counter(name for name, _, _, why in rows if why != "damaged-gzip")
    assert of["whole.gz"] == of["wrong-sum.gz"] == 600
    assert of["in-two.gz"] == 4
    assert of["no-newline.gz"] == 1
    assert 100 < of["cut-off.gz"] < 600
    assert set(reasons(rows)) == {None, "duplicate", "damaged-gzip"}
    assert reasons(rows)[None] == 601


PACKED = {
    "lines": b"one\r\n\n{}\ntwo\n",
    "mark-and-no-newline": b"\xef\xbb\xbf{}\n\xff\nlast",
    "nothing": b"",
}


def test_spark_reads_intact_gzip_files_as_python_does(session, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "compressed_lines", None)
    for form, content in PACKED.items():
        members = gzip.compress(b"a\nb") + gzip.compress(b"c\n" + content)
        (tmp_path / f"{form}.gz").write_bytes(gzip.compress(content))
        (tmp_path / f"{form}-in-members.gz").write_bytes(members)
    path = str(tmp_path)
    by_spark = _rows_of(read_lines(session, path, current_files(session, path)))
    assert by_spark == _rows_of(compressed_lines(session, path))
    assert len(by_spark) == 20


def _rows_of(read):
    return sorted(
        map(str, read.withColumn("line", _without_byte_order_mark(F.col("line"))).collect())
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-9],
        lambda whole: whole[:-8] + b"\1" * 8,
        lambda whole: whole + b"\0" * 512,
        lambda whole: whole + b"more",
    ],
)
def test_a_gzip_file_is_intact_if_it_consists_of_complete_members(tmp_path, damage, monkeypatch):
    file, whole = tmp_path / "one.gz", squeezed(GOOD)
    file.write_bytes(whole + whole)
    assert is_intact_gzip(str(file))
    monkeypatch.setattr(gzipped, "MAX_INSPECTED_BYTES", 100)
    assert not is_intact_gzip(str(file))
    monkeypatch.undo()
    file.write_bytes(damage(whole))
    assert not is_intact_gzip(str(file))
    assert not is_intact_gzip(str(tmp_path / "none.gz"))
    assert not is_intact_gzip(str(file.rename(tmp_path / "one.bz2")))


def test_a_folder_names_the_cluster(session, tmp_path):
    folder = tmp_path / "cluster=eu%201" / "day=1"
    folder.mkdir(parents=True)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table([["cycle"], ["2026-11-20T10:00:00Z"]], ["kind", "at"])
    parquet.write_table(table, str(folder / "one.parquet"))
    other = tmp_path / "cluster=eu-2"
    other.mkdir()
    parquet.write_table(table, str(other / "two.parquet"))
    assert reasons(told(session, tmp_path)) == {None: 1, "bad-cluster": 1}


def test_files_of_other_formats_are_reported(session, tmp_path):
    (tmp_path / "more.jsonl.xz").write_bytes(b"BZh9")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "old.7z").write_bytes(b"\x28")
    rows = told(session, history(tmp_path, GOOD))
    assert reasons(rows) == {None: len(GOOD), "foreign-file": 2}


def silver(session, folder):
    """Return each silver table of a history, as sorted rows."""
    rows = records(read_lines(session, str(folder), current_files(session, str(folder)))).cache()
    made = {name: table.build(rows).drop("day").collect() for name, table in SILVER.items()}
    rows.unpersist()
    return {name: sorted(map(repr, table)) for name, table in made.items()}


def test_another_layout_of_late_and_repeated_records_gives_the_same_tables(session, tmp_path):
    times = [f"2026-11-{day}T{hour:02}:59:30Z" for day in (20, 21) for hour in (0, 12, 23)]
    some = [report(at, broker) for at in times for broker in ("b1:8080", "b2:8080")]
    other = report(times[0], "b1:8080", msgRateIn=99)
    texts = [*GOOD, *some, other, *(text for text in DAMAGED if text)]
    one = history(tmp_path / "one", texts)
    two = history(tmp_path / "two" / "late", [*some[::-1], *texts[::2], *GOOD])
    (two.parent / "b.json.gz").write_bytes(squeezed(texts[1::2]))
    expected = silver(session, one)
    assert all(expected.values())
    assert silver(session, two.parent) == expected


def test_what_is_not_said_is_summed_or_nothing(session, tmp_path):
    broker = {"usage": 1, "limit": 4}
    simple = {
        "systemResourceUsage": {"cpu": broker, "memory": {"usage": 9, "limit": -1}},
        "msgThroughputIn": 1.5,
        "msgRateIn": 7,
        "bundleStats": {WHOLE: {"msgThroughputIn": 10, "msgRateOut": 3}},
    }
    texts = [line("load_report", broker="b1", report=simple)]
    texts.append(line("load_report", broker="b2", report={"cpu": broker, "bundles": HALVES * 2}))
    folder = str(history(tmp_path, texts))
    rows = records(read_lines(session, folder, current_files(session, folder)))
    one, two = SILVER["broker_samples"].build(rows).orderBy("broker").collect()
    assert one["percent"].asDict() == {**dict.fromkeys(one["percent"].__fields__, 0), "cpu": 25}
    assert (one["msgRateIn"], one["msgRateOut"], one["msgThroughputIn"]) == (7, 3, 10)
    assert one["bundles"] == [WHOLE]
    assert (two["msgRateIn"], two["bundles"]) == (0, HALVES)
    (sample,) = SILVER["bundle_samples"].build(rows).collect()
    assert (sample["msgRateIn"], sample["msgRateOut"], sample["topics"]) == (0, 3, 0)


def test_names_with_what_spark_takes_for_more_are_read(session, tmp_path):
    folder = tmp_path / "a[1] b"
    folder.mkdir()
    (folder / "log-2026-11-20T10:00:00Z.json").write_text("\n".join(GOOD[:9]))
    (folder / "rest-{1}?.json.gz").write_bytes(gzip.compress("\n".join(GOOD[9:]).encode()))
    rows = told(session, escape_existing_path(str(folder)))
    assert reasons(rows) == {None: len(GOOD)}
