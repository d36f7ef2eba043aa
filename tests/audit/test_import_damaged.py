"""Errors about an imported history name the damaged line."""

import gzip
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main

HISTORY = Path(fixtures.__file__).parent / "histories" / "cluster-4.2.4-threshold.json.gz"
CUT = '{"kind":"cycle","cluster":"conformance'


@pytest.mark.parametrize(
    ("line", "at"), [(CUT, 0), (CUT, 10), (CUT, 40), ("cut", 10), ('"text"', 40)]
)
def test_a_line_that_is_no_json_object_is_named(tmp_path, capsys, line, at):
    lines = gzip.decompress(HISTORY.read_bytes()).decode().splitlines()[:40]
    lines.insert(at, line)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("\n".join(lines), "utf-8")
    assert main(["import", str(damaged), "--output", str(tmp_path / "history")]) == 2
    err = "".join(capsys.readouterr().err.split())
    assert f"damaged.jsonl:{at + 1}:thislineofahistoryisnotaJSONobject" in err
    assert not (tmp_path / "history").exists()


def test_a_log_without_a_line_of_a_load_balancer_is_not_sent_to_another_command(tmp_path, capsys):
    log = tmp_path / "broker.log"
    log.write_text("2026-11-20T10:00:00,000+0000 [main] INFO  Main - Starting\n", "utf-8")
    assert main(["import", str(log), "--output", str(tmp_path / "history")]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert "broker.log: it has no load report, no metric and no log line about load " in err
    assert "give load reports, results of Prometheus range queries, broker logs or histories" in err
    assert "it is a log" not in err
