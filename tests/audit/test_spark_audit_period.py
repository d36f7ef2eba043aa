"""Counts and verdicts of an audit at the ends of a period and of a history."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.page.making import PAGE
from pulsar_conformance.audit.tables import cycles
from pulsar_conformance.conformance.commands.main import main
from standins.exported import START, report, stamp
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark
GUIDE = Path(__file__).parents[2] / "reports/site/guides/audit-a-fleet.md"
SETTINGS = {
    "loadBalancerLoadSheddingStrategy": "ThresholdShedder",
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.0,
    "lowerBoundarySheddingEnabled": False,
}
NAMES = ("b1", "b2", "b3")
OWNED = {
    name: [f"t/ns/0x{2 * place + one:x}0000000_0x{2 * place + one + 1:x}0000000" for one in (0, 1)]
    for place, name in enumerate(NAMES)
}
MOVED, CUT = OWNED["b1"]


def reported(minute, usages):
    for name, usage in zip(NAMES, usages, strict=True):
        said = {**report("b1:8080", minute, OWNED[name]), "cpu": {"usage": usage, "limit": 100}}
        yield minute, {"kind": "load_report", "broker": f"{name}:8080", "report": said}


def hours(first, *, calm):
    """Yield three hours of a cluster whose brokers carry the same load."""
    yield first, {"kind": "settings", "settings": SETTINGS}
    yield first, {"kind": "leader", "broker": "b3:8080"}
    for hour, owner, other in ((0, "b1", "b2"), (60, "b2", "b1"), (120, "b1", "b2")):
        yield from reported(hour + 9, calm)
        yield hour + 10, {"kind": "cycle"}
        unload = {"kind": "unloaded", "bundle": MOVED, "broker": f"{owner}:8080"}
        yield hour + 10.1, {**unload, "cause": "admin"}
        yield hour + 10.2, {"kind": "assigned", "bundle": MOVED, "broker": f"{other}:8080"}
        if hour != 60:
            middle = ["0x10000000_0x18000000", "0x18000000_0x20000000"]
            into = [f"t/ns/{part}" for part in middle]
            yield hour + 12, {"kind": "split", "bundle": CUT, "into": into, "cause": "admin"}
            yield hour + 14, {"kind": "leader", "broker": "b1:8080" if hour else "b2:8080"}


def laden(after):
    """Yield one cycle in which b1 should shed and does not, and minutes of later reports."""
    yield 61, {"kind": "settings", "settings": SETTINGS}
    yield 61, {"kind": "leader", "broker": "b3:8080"}
    yield from reported(64, (90, 20, 20))
    yield 65, {"kind": "cycle"}
    for minute in after:
        yield from reported(minute, (90, 20, 20))


CLUSTERS = {
    "period": list(hours(0, calm=(40, 40, 40))),
    "ends": list(laden(())),
    "goes-on": list(laden((69,))),
}


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    """Audit the second hour; return the report, the summary, the page's data and the verdicts."""
    folder = tmp_path_factory.mktemp("period")
    lines = [
        json.dumps({"cluster": cluster, "at": stamp(START + timedelta(minutes=minute)), **record})
        for cluster, records in CLUSTERS.items()
        for minute, record in records
    ]
    (folder / "history.jsonl").write_text("\n".join(lines) + "\n")
    out, summary = folder / "out", folder / "summary.json"
    words = ["audit", "--input", str(folder / "history.jsonl"), "--output", str(out)]
    words += ["--from", "2026-11-20T11:00", "--to", "2026-11-20T12:00:00Z", "--spark", CORES]
    assert main([*words, "--judge-by", "documented-3.0", "--json", str(summary)]) == 1
    page = (out / PAGE).read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    text = re.search(r'<pre id="report">(.*?)</pre>', page, re.DOTALL)[1]
    rows = spark.session.read.parquet(str(out / "verdicts")).collect()
    verdicts = {(row["cluster"], row["rule"]): row for row in rows}
    return text, json.loads(summary.read_text()), data, verdicts


def test_the_report_counts_what_was_in_the_period(audited):
    text, found, *_ = audited
    assert "period from 2026-11-20T11:00:00Z to 2026-11-20T12:00:00Z" in text
    assert "3 clusters, 3 shedding cycles\n1 unload, 0 of them" in text
    assert found["unloads"]["causes"] == {"admin": 1}
    assert found["splits"] == 0
    assert found["leaders"] == {"count": 0, "first": []}


def test_the_page_shows_what_was_in_the_period(audited):
    data = audited[2]
    unloads = {row[0]: row[4] for row in data["fleet"]}
    assert unloads == {"period": 1, "ends": 0, "goes-on": 0}
    (cluster,) = (one for one in data["clusters"] if one["name"] == "period")
    assert [mark[1:3] for mark in cluster["marks"]] == [["unload", "b2:8080"]]
    assert len(cluster["times"]) == 1
    assert cluster["bundles"] == []  # It returned to b2 only after the period.


def test_without_later_records_only_what_would_be_a_fault_is_undecided(audited):
    verdicts = audited[3]
    for cluster, lacking in (("goes-on", "not done though due"), ("ends", "undecided")):
        assert verdicts[cluster, "THRESHOLD-01"]["verdict"] == lacking
        for rule in ("SHED-02", "SHED-03", "THRESHOLD-02"):
            assert verdicts[cluster, rule]["verdict"] == "allowed"
    assert verdicts["ends", "THRESHOLD-01"]["evidence"].endswith(cycles.NOTHING_RECORDED_AFTER)
    told = " ".join(GUIDE.read_text("utf-8").split())
    for point in (cycles.NOTHING_RECORDED_AFTER, cycles.CUT_SHORT):
        assert f'"{point}"' in told
