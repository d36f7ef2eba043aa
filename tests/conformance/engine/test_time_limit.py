"""`--time-limit`, in every command that asks an implementation questions."""

import argparse
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters import Limits
from pulsar_conformance.adapters.arguments import limits_within, parse_seconds
from pulsar_conformance.conformance.commands.main import main
from sampling import one_in
from standins.examples import EXAMPLES

BROKEN = Path(__file__).parents[2] / "standins" / "broken.py"
HANGS = f"exec:{sys.executable} {BROKEN} hangs_in_a_batch"
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
SHORT = ("--time-limit", "0.5")
WAITED = "wrote nothing for 0.5"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_limit_is_for_a_batch_and_its_cases_in_proportion():
    usual, longer, shorter = Limits(), limits_within(200), limits_within(2)
    assert limits_within(None) == usual
    assert (longer.base, shorter.base) == (200, 2)
    assert longer.per_case == pytest.approx(usual.per_case * 10)
    assert shorter.per_case == pytest.approx(usual.per_case / 10)
    assert (longer.start, shorter.start) == (300, 5)
    assert (longer.end, shorter.end) == (usual.end, 1)
    assert limits_within(20) == usual
    assert longer.output_bytes == usual.output_bytes


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf"])
def test_what_is_no_time_is_reported(text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"{text} is not a duration; give seconds"):
        parse_seconds(text)


@pytest.mark.parametrize("command", ["run", "ask", "check", "diff"])
def test_what_is_no_number_is_reported(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([command, "--time-limit", "soon"])
    assert left.value.code == 2
    assert "--time-limit: soon is not a duration; give seconds" in capsys.readouterr().err


def test_ask_check_and_diff_wait_no_longer(monkeypatch, capfd):
    question = json.dumps({"ask": "shed.select", "case": EXAMPLES["shed.select"][0]})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(question.encode())))
    diff = ["diff", HANGS, "reference", "--operation", "shed.select", "--examples", "1", *SHORT]
    for words in (["ask", HANGS, *SHORT], ["check", HANGS, *SHORT], diff):
        assert main(words) == 2
        out, err = capfd.readouterr()
        assert WAITED in out + err


@pytest.mark.parametrize("workers", one_in(2, [(("--", "-n", "2"),), ((),)]))
def test_a_run_waits_no_longer_whatever_asks(workers):
    words = ["run", "--adapter", HANGS, "--rules", "OVERLOAD-0[12]", "--examples", "1", *SHORT]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words, *workers], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert WAITED in " ".join(done.stdout.split())
    assert "2 error" in done.stdout
