"""The cases that show the failures in a report are stored next to the report."""

import json
from pathlib import Path

from pulsar_conformance.conformance.commands.main import main
from standins.streams import stream_of

ROOT = Path(__file__).parents[2]
NAME = "reference-0.1.0-documented-3.0"
REFERENCE = ROOT / "reports" / "published" / f"{NAME}.json"
RULE = "OVERLOAD-02"


def line_of(report):
    """Return the report's verdict on the rule."""
    return next(line for line in report["verdicts"] if line["rule"] == RULE)


def broken_stream(**failure):
    """Write to the current folder the verdict stream of a run in which one rule fails."""
    report = json.loads(REFERENCE.read_text("utf-8"))
    whole = {"size": "1 case", "derivation": [], "allowed": "<= 3", "answered": "4", **failure}
    line_of(report).update(verdict="fail", failure=whole, why="")
    return stream_of(report)


def test_a_report_has_the_cases_of_its_failures_beside_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    case = Path(".conformance/cases/shed.select/0123456789ab.json")
    case.parent.mkdir(parents=True)
    case.write_text('{"ask": "shed.select", "case": {}}')
    again = f"pulsar-conformance run --adapter mine --replay {case}"
    stream = broken_stream(case_file=str(case), again=again)
    words = ["--project", "mine", "--contact", "me@example.org", "--to", "shown"]
    assert main(["report", "make", stream, *words]) == 0
    copied = Path(f"shown/cases/{NAME}/shed.select/0123456789ab.json")
    assert copied.read_bytes() == case.read_bytes()
    report = Path(f"shown/{NAME}.json")
    failure = line_of(json.loads(report.read_text()))["failure"]
    assert failure["case_file"] == str(copied)
    assert failure["again"] == f"pulsar-conformance run --adapter mine --replay {copied}"
    assert main(["report", "verify", str(report)]) == 0
    assert "not in this folder" not in capsys.readouterr().err
    case.unlink()
    assert main(["report", "make", stream, *words]) == 0
    assert f"the cases of {RULE} are not in this folder" in capsys.readouterr().err
    assert not copied.exists()
