"""Mistakes in what an audit is asked, told before Spark starts."""

import pytest
from pulsar_conformance.conformance.cli import main

MISTAKES = {
    "no such strategy": (["--strategy", "LoudShedder"], "LoudShedder: there are OverloadShedder, "),
    "no time": (["--from", "yesterday"], "yesterday is no time in ISO 8601; write it as 2026-"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(mistake, capfd):
    words, told = MISTAKES[mistake]
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--input", "in", "--output", "out", *words])
    assert ended.value.code == 2
    assert told in capfd.readouterr().err
