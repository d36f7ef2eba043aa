"""The benchmark measures on the same cases, and prints tables that fit into a terminal."""

from dataclasses import replace

import pytest
from pulsar_conformance.adapters.names import connect

from bench import layout, rates
from bench.__main__ import main

PROFILE = "documented-3.0"


class Watched:
    """A connection that records the cases that it is asked."""

    def __init__(self, offers=None):
        self._inner = connect("reference", PROFILE, {})
        self.hello = self._inner.hello if offers is None else offers(self._inner.hello)
        self.asked = []

    def ask(self, operation, cases):
        self.asked.append((operation, tuple(map(str, cases))))
        return self._inner.ask(operation, cases)


def test_everybody_is_asked_the_same(monkeypatch):
    monkeypatch.setattr(rates, "OPERATIONS", ("usage.max", "shed.select"))
    able = {"one": Watched(), "other": Watched()}
    told = []
    found = rates.measure(able, 7, 2, told.append)
    assert able["one"].asked == able["other"].asked
    assert {operation for operation, _ in able["one"].asked} == {"usage.max", "shed.select"}
    assert {len(cases) for _, cases in able["one"].asked} == {7}
    assert {*found} == {(o, a) for o in ("usage.max", "shed.select") for a in able}
    assert all(rate > 0 for rate in found.values())
    assert len(told) == 2


def test_a_strategy_that_one_lacks_is_asked_of_nobody():
    few = Watched(lambda hello: replace(hello, strategies=("OverloadShedder",)))
    cases = rates.cases_of("shed.select", [Watched().hello, few.hello], 50)
    assert cases
    named = {str(case["strategy"]).rpartition(".")[2] for case in cases}
    assert named <= {"OverloadShedder", "None"}


def test_a_slow_implementation_is_asked_less(monkeypatch):
    monkeypatch.setattr(rates, "OPERATIONS", ("usage.max",))
    monkeypatch.setattr(rates, "ENOUGH", 0)
    slow = Watched()
    rates.measure({"slow": slow}, 3, 5, lambda _: None)
    _warm, *rounds = slow.asked
    assert len(rounds) == 1


def test_a_command_that_is_not_there_is_reported_before_anything_is_measured(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--beside", "no-such-command", "script.py"])
    assert ended.value.code == 2
    assert "--beside no-such-command: there is no such command" in capsys.readouterr().err


def test_the_table_fits_80_columns():
    found = {("usage.max", "reference"): 20_000.0, ("usage.max", "exec:x"): 36.4}
    lines = layout.of_rates(found, {"reference": "reference 0.1.0", "exec:x": "x" * 30})
    assert max(map(len, lines)) <= layout.WIDTH
    first, second = (line.split() for line in lines if "reference" in line or "xxx" in line)
    assert first == ["usage.max", "reference", "0.1.0", "20,000", "1"]
    assert second == ["x" * 30, "36", "0.00182"]


def test_an_unknown_implementation_is_one_clear_message(capsys):
    assert main(["engines", "--adapter", "nobody"]) == 2
    said = capsys.readouterr()
    assert "nobody" in said.err
    assert not said.out
