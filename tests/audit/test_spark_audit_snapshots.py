"""Histories that were imported only from load reports."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.commands.main import main
from standins.snapshots import MOVED, save_snapshots
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark


@pytest.fixture
def audited(spark, tmp_path, capsys):
    def run(count, *words):
        save_snapshots(tmp_path / "saved", count)
        history = str(tmp_path / "history")
        assert main(["import", str(tmp_path / "saved"), "--output", history]) == 0
        capsys.readouterr()
        output = ("--output", str(tmp_path / "out"), "--spark", CORES)
        status = main(["audit", "--input", history, *output, *words])
        said = capsys.readouterr()
        return status, *(" ".join(one.split()) for one in said)

    return run


def test_of_a_single_snapshot_nothing_is_audited(audited):
    status, out, err = audited(1)
    assert status == 2
    assert "nothing could be audited" in out
    assert "or load reports of several times" in err


@pytest.mark.parametrize(
    "asked", [("--why", MOVED), pytest.param(("--broker", "broker-1"), marks=pytest.mark.thorough)]
)
def test_the_arithmetic_of_a_move_is_that_before_it(audited, asked):
    """broker-1 is at 72 % with the bundle, and at 36 % in its next report without it."""
    status, out, _ = audited(2, *asked)
    assert status == 0
    assert "the reports of this cycle already show the move, so the previous cycle is shown:" in out
    assert "usage 72 % of cpu" in out
    assert f"goes {MOVED} = 30 MB/s" in out
    assert "usage 36 % of cpu" not in out
