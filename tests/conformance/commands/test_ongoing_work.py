"""Commands that take long say what they do, also if standard error is not a terminal."""

import sys
import time

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import reporters
from pulsar_conformance.conformance.commands import changes
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.reporters import OngoingWork


@pytest.fixture
def hurried(monkeypatch):
    """Let a line of progress follow the one before at once."""
    monkeypatch.setattr(reporters, "SECONDS_BETWEEN_LINES", 0.01)


def slow_start(*_words, **_options):
    time.sleep(0.2)
    raise AdapterError("start", "it is not installed", "install it", "", "pulsar:3.0.7")


@pytest.mark.usefixtures("hurried")
def test_changes_says_which_release_it_starts(monkeypatch, capsys):
    monkeypatch.setattr(changes, "Implementation", slow_start)
    assert main(["changes", "3.0.7", "4.2.4", "--operation", "shed.select"]) == 2
    assert "starting 3.0.7, 0 s\n" in capsys.readouterr().err


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("words", "doing"),
    [
        (["--world", "two-sizes", "--cycles", "60"], "simulating"),
        (["--smallest", "LOOP-04", "--examples", "20", "--cycles", "20"], "searching with"),
    ],
)
def test_simulate_says_which_variant_it_simulates(capsys, words, doing):
    main(["simulate", *words])
    assert f"{doing} reference strategy=ThresholdShedder, 0 s\n" in capsys.readouterr().err


def test_short_work_prints_nothing(capsys):
    with OngoingWork() as work:
        work.show("starting 4.2.4")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("hurried")
def test_on_a_terminal_one_line_is_overwritten(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with OngoingWork() as work:
        work.show("starting 4.2.4")
        time.sleep(0.2)
        work.show("")
        time.sleep(0.1)
    err = capsys.readouterr().err
    assert "\rstarting 4.2.4, 0 s " in err
    assert "\n" not in err
    assert err.endswith("\r")
