"""The audit and a command are measured on the same files; the last day is as long as the first."""

import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.fleet.size import Fleet
from standins.sparks import spark

from bench import audits, days

pytestmark = pytest.mark.spark

assert spark

COPIES = "from pathlib import Path; Path('seen').write_text(Path('fl/part-0').read_text())"


def test_a_command_has_the_history_beside_it(tmp_path):
    history = tmp_path / "history"
    history.mkdir()
    (history / "part-0").write_text("a line\n")
    audits._run((sys.executable, "-c", COPIES), str(history), tmp_path / "aside")
    assert (tmp_path / "aside" / "seen").read_text() == "a line\n"
    assert [one.name for one in history.iterdir()] == ["part-0"]


def test_a_command_that_fails_is_no_measurement(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        audits._run((sys.executable, "-c", "raise SystemExit(3)"), ".", tmp_path / "aside")


def test_each_yardstick_has_its_own_ratio():
    measured = audits.Timing(1_000, 6.0, 4.0, 1.5)
    rows = list(audits._rows(measured, audits.Rounds(1, ("python", "apart/other.py"))))
    assert rows == [
        ("floor, 1,000 bundle samples", "4.0", "1"),
        ("  audit", "6.0", "1.50"),
        ("other.py, 1,000 bundle samples", "1.5", "1"),
        ("  audit", "6.0", "4.00"),
    ]
    assert list(audits._rows(measured, audits.Rounds(1))) == rows[:2]


def test_the_last_day_is_as_long_as_the_others(tmp_path, spark):
    fleet = Fleet(1, 2, 2, 2 * days.HOURS)
    lines = [
        sum(1 for part in day.glob("part-*") for _ in part.open())
        for day in days._by_day(spark.session, fleet, tmp_path)
    ]
    assert len(lines) == 2
    assert lines[1] > lines[0] * 0.9
