"""Histories that were imported only from load reports."""

import re

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.verdicts.checks.shed import OWNER_UNKNOWN
from pulsar_conformance.conformance.commands.main import main
from standins.snapshots import MOVED, save_snapshots
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark


@pytest.fixture
def audited(spark, tmp_path, capsys):
    def run(count, *words):
        history = tmp_path / "history"
        if not history.exists():
            save_snapshots(tmp_path / "saved", count)
            assert main(["import", str(tmp_path / "saved"), "--output", str(history)]) == 0
            capsys.readouterr()
        output = ("--output", str(tmp_path / "out"), "--spark", CORES)
        status = main(["audit", "--input", str(history), *output, *words])
        said = capsys.readouterr()
        return status, *(" ".join(one.split()) for one in said)

    return run


def test_of_a_single_snapshot_nothing_is_audited(audited):
    status, out, err = audited(1)
    assert status == 2
    assert "nothing could be audited" in out
    assert "or load reports of several times" in err


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [("--why", MOVED), ("--broker", "broker-1")])
def test_the_arithmetic_of_a_move_is_that_before_it(audited, asked):
    """broker-1 is at 72 % with the bundle, and at 36 % in its next report without it."""
    status, out, _ = audited(2, *asked)
    assert status == 0
    assert "the reports of this cycle already show the move, so the previous cycle is shown:" in out
    assert "usage 72 % of cpu" in out
    assert f"goes {MOVED} = 30 MB/s" in out
    assert "usage 36 % of cpu" not in out


def test_the_report_says_why_the_owner_is_not_known_and_how_to_see_the_arithmetic(audited):
    status, out, _ = audited(2)
    assert status == 0
    options = re.search(
        rf"SHED-02 undecided, first in .*? {OWNER_UNKNOWN} see (--broker \S+ --at \S+)", out
    )
    _, shown, _ = audited(2, *options[1].split())
    assert f"shed {MOVED}, not in its last report; {OWNER_UNKNOWN}" in shown
    assert "knowledge is not recorded" not in shown
    assert "so the previous cycle is shown:" in shown
    assert f"goes {MOVED} = 30 MB/s" in shown
