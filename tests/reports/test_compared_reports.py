"""Which pairs of verdicts `report diff` calls better, worse or neither."""

import copy
import json
from itertools import product
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reports.table import WORDS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "reports" / "published" / "reference-0.1.0-documented-3.0.json"
RULE = "OVERLOAD-02"
LISTED = "listed as a known deviation, but"

KEPT = {"pass": {"verdict": "pass"}}
KEPT["unexpected_pass"] = {"verdict": "unexpected_pass", "why": f"{LISTED} pass: heap memory"}
BROKEN = {name: {"verdict": name} for name in ("fail", "known_deviation")}
BROKEN["warning"] = {"verdict": "fail", "level": "should"}
UNCLEAR = {name: {"verdict": name} for name in ("undecided", "unexercised", "error")}
APART = {"not_applicable": {"verdict": "not_applicable"}, "not there": None}
GROUPS = {"kept": KEPT, "broken": BROKEN, "unclear": UNCLEAR, "apart": APART}
VERDICTS = {name: line for group in GROUPS.values() for name, line in group.items()}
GROUP_OF = {name: of for of, group in GROUPS.items() for name in group}

DIRECTIONS = {
    ("kept", "broken"): "worse",
    ("kept", "unclear"): "worse",
    ("unclear", "broken"): "worse",
    ("broken", "kept"): "better",
    ("unclear", "kept"): "better",
}


def written(file, changes):
    """Write the model's report with another verdict on the rule; `None` leaves the rule out."""
    report = copy.deepcopy(json.loads(REFERENCE.read_text("utf-8")))
    if changes is None:
        report["verdicts"] = [line for line in report["verdicts"] if line["rule"] != RULE]
    for line in report["verdicts"]:
        if line["rule"] == RULE:
            line.update(changes)
    file.write_text(json.dumps(report))
    return str(file)


@pytest.fixture
def compared(tmp_path, capsys):
    """Return a function that compares two verdicts, and returns the status and the lines."""

    def compare(before, after):
        files = (tmp_path / "before.json", tmp_path / "after.json")
        names = [written(*pair) for pair in zip(files, (before, after), strict=True)]
        status = main(["report", "diff", *names])
        return status, capsys.readouterr().out.splitlines()

    return compare


def test_every_verdict_has_its_place_in_the_table():
    assert set(VERDICTS) == {*WORDS, "not there"}


@pytest.mark.parametrize(("before", "after"), [*product(VERDICTS, repeat=2)])
def test_whether_a_rule_is_kept_decides_what_is_better_or_worse(before, after, compared):
    status, lines = compared(VERDICTS[before], VERDICTS[after])
    direction = DIRECTIONS.get((GROUP_OF[before], GROUP_OF[after]), "other")
    expected = "no verdict has changed" if before == after else f"{direction}: 1"
    assert lines[0] == expected
    assert status == (expected == "worse: 1")
    stale = [line for line in lines if "the list of known deviations is out of date" in line]
    assert len(stale) == (after == "unexpected_pass")


@pytest.mark.parametrize(
    ("word", "before", "direction"),
    [
        ("not applicable", "known_deviation", "other"),
        ("not applicable", "pass", "other"),
        ("unexercised", "known_deviation", "other"),
        ("undecided", "pass", "worse"),
        ("pass", "known_deviation", "better"),
    ],
)
def test_a_listed_rule_that_is_not_broken_counts_as_without_the_list(
    word, before, direction, compared
):
    listed = {"verdict": "unexpected_pass", "why": f"{LISTED} {word}: heap memory"}
    status, lines = compared(VERDICTS[before], listed)
    assert lines[0] == f"{direction}: 1"
    assert status == (direction == "worse")
    assert lines[-1].endswith(
        f"after.json: the list of known deviations is out of date: the run does not find {RULE} "
        "broken"
    )
