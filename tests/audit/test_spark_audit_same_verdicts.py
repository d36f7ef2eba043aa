"""The same history in each supported form gives the same verdicts, or a note says what is
missing.
"""

import bz2
import gzip
import importlib
import json
from collections import defaultdict
from datetime import timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from pulsar_conformance.conformance.commands.main import main
from standins.exported import (
    CLUSTER,
    LOGGED,
    PLANNED,
    START,
    curl_folder,
    lines,
    own_records,
    series,
    stamp,
    znodes,
)
from standins.sparks import spark

pytestmark = [pytest.mark.spark, pytest.mark.thorough]
assert spark

PROFILE = "documented-3.0"
OWN = "lines"
CONF = {
    "loadBalancerLoadSheddingStrategy": "ThresholdShedder",
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.0,
    "loadBalancerSheddingIntervalMinutes": 5,
}
CYCLE = timedelta(minutes=6)
JUDGED = {"THRESHOLD-01", "THRESHOLD-02", "THRESHOLD-03", "SHED-02", "SHED-03"}


def records(cluster):
    """Return a history with settings, leader and cycles; in the second cycle, b1 stays at 80 %."""
    every = [
        {"kind": "settings", "at": stamp(START), "settings": CONF},
        {"kind": "leader", "at": stamp(START), "broker": "b1:8080"},
        {"kind": "cycle", "at": stamp(START + CYCLE)},
        {"kind": "cycle", "at": stamp(START + CYCLE + timedelta(minutes=5))},
        {"kind": "domain", "at": stamp(START + timedelta(minutes=14)), "name": "n", "members": []},
        *own_records(),
    ]
    return [{**one, "cluster": cluster} for one in every]


def text(cluster):
    return lines(records(cluster)).encode()


def with_times(cluster, form):
    return lines([{**one, "at": form(one["at"])} for one in records(cluster)]).encode()


def milliseconds(at):
    return round(1000 * (START.timestamp() + _seconds(at)))


def _seconds(at):
    return (type(START).fromisoformat(at) - START).total_seconds()


FORMS = {
    OWN: ("jsonl", text),
    "gzip": ("jsonl.gz", lambda name: gzip.compress(text(name))),
    "bzip2": ("jsonl.bz2", lambda name: bz2.compress(text(name))),
    "a list on one line": ("json", lambda name: json.dumps(records(name)).encode()),
    "a pretty list": ("json", lambda name: json.dumps(records(name), indent=2).encode()),
    "CRLF": ("jsonl", lambda name: text(name).replace(b"\n", b"\r\n")),
    "times as +0000": ("json", lambda name: with_times(name, lambda at: at.replace("Z", "+0000"))),
    "times with a comma": (
        "json",
        lambda name: with_times(name, lambda at: at.replace(".", ",").replace("T", " ")),
    ),
    "times in milliseconds": ("json", lambda name: with_times(name, milliseconds)),
}


def named(form):
    return form.replace(" ", "-").replace("+", "")


def write_with_arrow(folder):
    """Write JSON lines with Zstandard, and a Parquet file as Kafka's connectors write it."""
    arrow = pytest.importorskip("pyarrow")
    with arrow.CompressedOutputStream(str(folder / "z.jsonl.zst"), "zstd") as packed:
        packed.write(text("zstandard"))
    values = text("kafka").splitlines()
    columns = {"key": [None] * len(values), "value": values, "topic": ["t"] * len(values)}
    importlib.import_module("pyarrow.parquet").write_table(
        arrow.table(columns), str(folder / "kafka.parquet")
    )


def write_one_record_a_file(folder):
    for number, one in enumerate(records("files")):
        (folder / f"one-{number}.json").write_text(json.dumps(one, indent=1))


def write_imported(folder, capsys):
    """Import saved reports with a log, znodes with a log, and metrics; return the notes of each."""
    folder.mkdir()
    log, conf = folder / "broker.log", folder / "broker.conf"
    log.write_text(
        f"{stamp(START)} [main] INFO This broker was elected leader b1:8080\n"
        f"2026-11-20T10:06:00,000+0000 [main] INFO {PLANNED}\n"
        f"2026-11-20T10:06:01,000+0000 [main] INFO {LOGGED}\n"
    )
    conf.write_text("".join(f"{name}={value}\n" for name, value in CONF.items()))
    for name in ("curl", "znodes"):
        (folder / name).mkdir()
    answer = {"data": {"resultType": "matrix", "result": list(series())}}
    (folder / "query.json").write_text(json.dumps(answer))
    sources = {
        "curl": [curl_folder(folder / "curl"), log],
        "znodes": [znodes(folder / "znodes"), log],
        "metrics": [folder / "query.json"],
    }
    said = {}
    for name, paths in sources.items():
        words = ["import", *map(str, paths), "--cluster", name, "--conf", str(conf)]
        assert main([*words, "--output", str(folder / f"{name}-history")]) == 0
        said[name] = capsys.readouterr().err
    return said


@pytest.fixture
def audited(spark, tmp_path, capsys):
    """Audit all clusters; return the verdicts by cluster, and the notes of each import."""
    folder = tmp_path / "history"
    folder.mkdir()
    for form, (ending, content) in FORMS.items():
        (folder / f"{named(form)}.{ending}").write_bytes(content(named(form)))
    write_with_arrow(folder)
    write_one_record_a_file(folder)
    said = write_imported(tmp_path / "imported", capsys)
    for name in said:
        (tmp_path / "imported" / f"{name}-history").rename(folder / name)
    plan, output = AuditPlan.of(PROFILE), str(tmp_path / "out")
    made = build_audit_tables(spark.session, str(folder), output, plan, None)
    found = defaultdict(dict)
    for row in made["verdicts"].collect():
        found[row["cluster"]][str(row["cycle"]), row["rule"]] = row["verdict"]
    return found, said


def test_every_form_gives_the_same_verdicts_or_says_what_is_missing(audited):
    found, said = audited
    own = found[OWN]
    assert "not done though due" in own.values()
    assert {rule for _, rule in own} >= JUDGED
    direct = {named(form) for form in FORMS} | {"zstandard", "kafka", "files"}
    assert {cluster: found[cluster] for cluster in direct} == dict.fromkeys(direct, own)
    assert CLUSTER not in found
    for name, told in said.items():
        assert "not known:" in told
        known = {key: one for key, one in found[name].items() if one != "undecided"}
        same = {key: own[key] for key in known if key in own}
        assert {key: known[key] for key in same} == same, name
        assert not {"violated", "not done though due"} & (known.keys() - same.keys())
