"""The page of an audit is self-contained, and shows the content of the tables."""

import io
import json
import re
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.page import series
from pulsar_conformance.audit.page.making import PAGE
from pulsar_conformance.audit.page.rendering import render_page
from pulsar_conformance.audit.tables.formatting import abridged
from pulsar_conformance.conformance.commands.main import main
from pyspark.sql import functions as F
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark
START = datetime(2026, 11, 28)
HISTORY = Path(__file__).parents[2] / "fixtures" / "history"
GUIDE = Path(__file__).parents[2] / "reports/site/guides/audit-a-fleet.md"
REPORT = "printed.txt"
FAR = re.compile(r"""(?:src|href)\s*=|@import|url\(|fetch\(|XMLHttpRequest|WebSocket""")


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_a_name_cannot_end_the_script():
    evil = "</script><script>alert(1)</script>"
    clusters = [{"name": evil, "times": [], "average": [], "limit": [], "brokers": []}]
    page = render_page({"clusters": clusters, "verdicts": [[evil] * 6]}, [evil])
    assert evil not in page
    assert data_of(page)["clusters"][0]["name"] == evil
    assert "&lt;/script&gt;" in page


def test_many_large_clusters_share_one_page():
    """The page has at most 100 brokers' lines per cluster, 60,000 points and 2,000 marks."""
    assert series.drawing_limits([]) == (300, 1000)
    assert series.drawing_limits([100]) == (300, 1000)
    assert series.drawing_limits([100] * 2) == (300, 1000)
    assert series.drawing_limits([250] * 6) == (100, 333)
    assert series.drawing_limits([3] * 6) == (300, 333)


def test_the_page_of_six_clusters_as_large_as_can_be_is_under_two_megabytes():
    points, marks = series.drawing_limits([series.MAX_BROKERS] * series.MAX_CLUSTERS)
    times = [1_795_132_800 + 864 * point for point in range(points)]
    told = "shop/events-001/0x0ccccccc_0x13333333; shedding: " + "the heaviest that may go " * 10
    cluster = {
        "name": "eu-1",
        "times": times,
        "average": [45.6] * points,
        "limit": [55.6] * points,
        "brokers": [
            {"name": f"broker-{number}:8080", "used": [62.5] * points}
            for number in range(series.MAX_BROKERS)
        ],
        "left_out": 150,
        "marks": [[times[0] + 0.5, "unload", "broker-1:8080", told, False]] * marks,
        "bundles": [["shop/events-001/0x0ccccccc_0x13333333", 8, "broker-1:8080 → " * 8]]
        * series.MAX_BUNDLES,
    }
    row = ["SHED-04", "violated", "eu-1", "2026-11-20 00:35:00", "unloaded lately " * 20, None]
    data = {"clusters": [cluster] * series.MAX_CLUSTERS, "verdicts": [row] * series.MAX_ROWS}
    assert len(render_page(data, ["6 clusters"]).encode()) < 2_000_000


def test_evidence_on_the_page_is_whole_where_few_verdicts_are_listed():
    assert series.evidence_length(0) == 3000
    assert series.evidence_length(100) == 3000
    assert series.evidence_length(series.MAX_ROWS) == 300


def test_a_text_that_is_too_long_keeps_its_beginning_and_its_end(spark):
    words = [f"word-{number}" for number in range(100)]
    texts = [" ".join(words), "short", None]
    rows = spark.session.createDataFrame([(one,) for one in texts], "text string")
    cut, *others = (row[0] for row in rows.select(abridged(F.col("text"), 300)).collect())
    assert others == texts[1:]
    assert 250 < len(cut) <= 301
    begin, end = (part.split() for part in cut.split("…"))
    assert begin == words[: len(begin)]
    assert end == words[-len(end) :]


# A mark has the time in seconds, and the broker, after u for an unload, s for the unload of a part
# after its bundle was split, or a for an assignment.
WAYS = {
    "and-back": "0u1 3a2 60u2 63a1",
    "back-by-unloads": "0u1 60u2 90u1",
    "kept": "0u1 3a1",
    "onward": "0u1 3a2 60u2 63a3",
    "in-two-logs": "0u1 2u1 3a2 4a2 60u2",
    "part-that-goes-later": "0s3 1a3 60a1",
    "part-in-two-logs": "0s3 2s3 3a3 60u3 63a1",
    "part-that-is-kept": "0s3 1a3 60u3 61a3",
    "part-that-comes-back": "0s3 1a1 60u1 61a3",
    "unloaded-and-assigned-at-once": "0u1 6a2 60u2 60a1",
    "assigned-and-unloaded-at-once": "0u1 6a2 6u2 60a3",
    "all-at-once": "0a1 6u1 6a2 6u2 6a1",
}

CAUSES = {"u": "shedding", "s": "split"}


def test_only_bundles_that_came_back_to_a_broker_are_listed(spark):
    rows = [
        ("eu", START + timedelta(seconds=int(at)), kind, f"b{broker}", bundle, CAUSES.get(kind))
        for bundle, way in WAYS.items()
        for at, kind, broker in re.findall(r"(\d+)([usa])(\d)", way)
    ]
    columns = "cluster string, at timestamp, kind string, broker string, bundle string"
    columns += ", cause string"
    every = spark.session.createDataFrame(rows, columns)
    done = every.withColumn("kind", F.lit("assigned")).where(every.kind == "a")
    tables = {"unloads": every.where("kind != 'a'").drop("kind"), "actions": done}
    assert series.returning_bundles(tables, "eu") == [
        ["back-by-unloads", 3, "b1 → b2 → b1"],
        ["all-at-once", 2, "b1 → b2 → b1"],
        ["and-back", 2, "b1 → b2 → b1"],
        ["part-that-comes-back", 2, "b3 → b1 → b3"],
        ["unloaded-and-assigned-at-once", 2, "b1 → b2 → b1"],
        ["kept", 1, "b1 → b1"],
        ["part-that-is-kept", 1, "b3 → b3"],
    ]


@pytest.mark.parametrize(
    ("strategy", "used"), [("ThresholdShedder", 40.0), ("OverloadShedder", 90.0)]
)
def test_usage_is_drawn_as_the_strategy_compares_it(strategy, used, spark):
    percent = "struct<cpu double, memory double, directMemory double, bandwidthIn double, "
    schema = f"percent {percent}bandwidthOut double>, used double, present double, strategy string"
    row = ((50.0, 0.0, 90.0, 1.0, 1.0), 40.0, 45.0, strategy)
    drawn = spark.session.createDataFrame([row], schema).select(series.shedding_usage())
    assert drawn.collect()[0][0] == used


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    output = tmp_path_factory.mktemp("audit") / "out"
    words = ["audit", "--input", str(HISTORY), "--output", str(output), "--spark", CORES]
    printed = io.StringIO()
    with redirect_stdout(printed):
        assert main(words) == 1
    (output / REPORT).write_text(printed.getvalue(), "utf-8")
    return words, output


def test_the_report_is_the_one_that_the_guide_shows(audited):
    output = audited[1]
    shown = re.search(r"^```text\n(393 lines read.*?)^```", GUIDE.read_text("utf-8"), re.M | re.S)
    printed = (output / REPORT).read_text("utf-8").replace(str(output), "reports/out/audit")
    assert printed.split() == shown[1].split()


def test_the_page_has_what_the_tables_say_and_needs_nothing_else(audited, spark):
    page = (audited[1] / PAGE).read_text("utf-8")
    assert not FAR.search(page)
    assert len(page.encode()) < 2_000_000
    found = data_of(page)
    (cluster,) = found["clusters"]
    assert cluster["name"] == "fleet-1"
    ran = spark.session.read.parquet(str(audited[1] / "cycles")).select(F.unix_seconds("cycle"))
    assert len(cluster["times"]) == 72
    assert cluster["times"] == sorted(row[0] for row in ran.collect())
    assert cluster["about"] == ""
    assert len(cluster["brokers"]) == 4
    assert all(len(one["used"]) == 72 for one in cluster["brokers"])
    assert all(0 <= used <= 100 for one in cluster["brokers"] for used in one["used"] if used)
    wrong = [mark for mark in cluster["marks"] if mark[4]]
    assert len(wrong) == 1
    assert "SHED-04" in wrong[0][3]
    unloads = [mark for mark in cluster["marks"] if mark[1] == "unload"]
    causes = {mark[3].split("; ")[1].partition(":")[0] for mark in unloads}
    assert causes == {"shedding", "admin", "split"}
    assert found["verdicts"][0][:3] == ["SHED-04", "violated", "fleet-1"]
    assert cluster["bundles"] == []  # The parts of the split bundle did not return.


def test_amounts_of_an_unload_name_the_documents_that_they_are_by(audited, spark):
    """Release 3.0 would shed 448.48 KB/s in this cycle, as the answer to --broker says."""
    found = data_of((audited[1] / PAGE).read_text("utf-8"))
    told = "over by 3.65 points, needs 966.86 KB/s, running sum 0 B/s"
    told += ", by the arithmetic of documented-3.0"
    marks = [mark[3] for mark in found["clusters"][0]["marks"]]
    assert f"shop/events-001/0x0ccccccc_0x13333333; shedding: recorded; {told}" in marks
    assert found["amounts_by"] == "documented-3.0"
    kept = spark.session.read.parquet(str(audited[1] / "decisions")).where("need is not null")
    assert {row["why"].endswith(told[-38:]) for row in kept.where("movable").collect()} == {True}


def test_a_cycle_has_too_much_load_only_if_something_had_to_be_unloaded(spark):
    """A broker between its target and its limit needs not shed, though its need is above 0."""

    def rows(schema, *values):
        return spark.session.createDataFrame([("eu", START, *one) for one in values], schema)

    key = "cluster string, cycle timestamp"
    tables = {
        "verdicts": rows(f"{key}, rule string, verdict string", ("SHED-02", "allowed")),
        "unloads": rows(f"{key}, bundle string", ("t/ns/0x0_0x1",)),
        "broker_usage": rows(f"{key}, broker string", ("b1",)),
        "decisions": rows(f"{key}, moment timestamp, need double, chosen boolean"),
    }
    unchosen, chosen = ((START, 5.0, one) for one in (False, True))
    schema = tables["decisions"].schema
    for each, due in (((unchosen,), 0), ((unchosen, chosen), 1)):
        tables["decisions"] = rows(schema, *each)
        assert series.fleet_rows(tables) == [["eu", 1, 0, "", 1, due]]


def test_what_happened_to_a_bundle_and_at_a_broker(audited, capsys):
    words, output = audited
    (found,) = data_of((output / PAGE).read_text("utf-8"))["clusters"]
    (wrong,) = (mark for mark in found["marks"] if mark[4])
    bundle = wrong[3].partition(";")[0]
    assert main([*words, "--why", bundle]) == 0
    said = capsys.readouterr()
    assert "rows" not in said.err
    told = said.out
    text = " ".join(told.split())
    assert re.search(
        r"SHED-04 violated: .* unloaded 29\.\d+ minutes before the cycle, grace 30", text
    )
    assert re.search(r"unloaded 29\.\d+ minutes ago, grace 30", text)
    assert "unloaded by" in told
    assert re.search(rf"stays +{bundle}, \S+ keeps all", told)
    assert main([*words, "--broker", wrong[2], "--at", "2026-11-20T01:00:00Z"]) == 0
    told = capsys.readouterr().out
    assert "cycle of 2026-11-20T01:00:00Z" in told
    assert main([*words, "--broker", "broker-3:8080", "--at", "2026-11-20T00:06:00Z"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "of broker-3:8080, which was shed; no rule forbids that: the rules that judge" in text
    assert main([*words, "--why", "t/ns/0x00000000_0x00000001"]) == 2
    assert "no load report or unload names it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--at", "2026-11-20"], "--at needs --why BUNDLE or --broker NAME"),
        (["--cluster", "eu"], "--cluster needs --why BUNDLE or --broker NAME"),
        (
            ["--why", "t/ns/0x00000000_0x80000000", "--json", "x"],
            "--json cannot be combined with --why",
        ),
        (["--spark", "foo"], "'foo' is not a Spark target"),
        (["--spark", "local[x]"], "'local[x]' is not a Spark target"),
    ],
)
def test_options_that_cannot_be(more, told, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["audit", "--input", str(HISTORY), "--output", str(tmp_path / "out"), *more]
    assert main(words) == 2
    shown = capsys.readouterr().err
    assert told in shown
    assert "Traceback" not in shown


@pytest.mark.thorough
def test_a_cluster_counts_though_its_only_cycle_came_before_the_reports(spark, tmp_path, capsys):
    bundle = "t/ns/0x00000000_0xffffffff"
    report = {"cpu": {"usage": 5, "limit": 100}, "bundles": [bundle]}
    rows = [
        {"kind": "cycle", "at": "2026-11-27T23:12:01Z"},
        {"kind": "unloaded", "at": "2026-11-27T23:12:02Z", "bundle": bundle, "broker": "b1:8080"},
        {
            "kind": "load_report",
            "at": "2026-11-28T00:00:01Z",
            "broker": "b1:8080",
            "report": report,
        },
    ]
    history = tmp_path / "history.jsonl"
    history.write_text("".join(json.dumps({"cluster": "eu", **row}) + "\n" for row in rows))
    words = ["audit", "--input", str(history), "--output", str(tmp_path / "out"), "--spark", CORES]
    main(words)
    out = capsys.readouterr().out
    assert "1 cluster, 0 shedding cycles" in out
    assert "1 unload, 0 of them" in out
