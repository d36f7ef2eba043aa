"""Explanations of cases whose strategy no document describes, and times since unloads."""

import json

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator

PROFILE = "documented-3.0"
MINE = "com.example.MyShedder"
LARGEST = "shop/eu/0x40000000_0x80000000"
"""The bundle that the examples unload, or unloaded, first."""

SETTING = "loadBalancerLoadSheddingStrategy"
OPTION = f"{SETTING}=OverloadShedder"


@pytest.fixture
def explained(tmp_path, capsys):
    """Return a function that explains an example's case under another strategy."""

    def explain(name, *options, settings=None):
        [(operation, case)] = fixtures.example_named(name).questions
        case = {**case, "strategy": MINE, "settings": settings or {}}
        file = tmp_path / "case.json"
        file.write_text(json.dumps({"ask": operation, "case": case}), "utf-8")
        status = main(["explain", str(file), *options])
        text = " ".join(capsys.readouterr().out.split())
        assert f"unsupported {MINE} is not documented" in text
        assert status == 2, "there is no answer"
        return text

    return explain


def test_a_cycle_says_which_bundles_have_to_stay(explained):
    text = explained("shed-grace-29-minutes")
    assert f"stays {LARGEST} = 100 MB/s, unloaded 29 minutes ago, grace 30" in text
    assert "0x00000000_0x40000000 = 60 MB/s, no unload in the last 30 minutes is given" in text
    assert "% of cpu, the busiest resource, unweighted" in text


def test_consecutive_cycles_say_how_long_ago_each_was(explained):
    text = explained("shed-row-back-within-grace")
    assert "cycle 2 29 minutes later grace what cycle 1 unloaded stays: 29 minutes ago" in text
    later = explained("shed-row-back-after-grace")
    assert "grace what cycle 1 unloaded may go: 31 minutes ago, grace 30" in later


def test_only_the_chosen_bundle_is_shown(explained):
    text = explained("shed-grace-29-minutes", "--bundle", LARGEST)
    assert text.count("shop/eu/0x") == 1


def test_nothing_goes_with_shedding_off(explained):
    off = explained("shed-grace-29-minutes", settings={"loadBalancerSheddingEnabled": False})
    assert "loadBalancerSheddingEnabled is not true: nothing is unloaded" in off


def test_a_bundle_that_a_later_cycle_unloads_again_is_given_with_the_time():
    example = fixtures.example_named("shed-row-back-within-grace")
    again = {"unload": [{"broker": "b1", "bundle": LARGEST}]}
    known = specs.load()
    evaluator = RuleEvaluator(known.defaults(PROFILE), known.default_readings(PROFILE))
    trial = Trial.asking(example.questions)
    found = evaluator.judge("SHED-16", trial, [{"cycles": [again, again]}])
    assert found.violated
    assert "an earlier cycle unloaded them within the last 30 minutes" in str(found.allowed)
    assert f"{LARGEST}, unloaded 29 minutes ago" in str(found.answered)


def trial_of(name, case):
    """Return the questions of an example, as a saved case, with changes of their cases."""
    lines = [
        {"ask": operation, "case": {**own, **case}}
        for operation, own in fixtures.example_named(name).questions
    ]
    return lines[0] if len(lines) == 1 else {"trial": lines}


@pytest.mark.parametrize("name", ["overload-95-over-85", "shed-row-back-within-grace", "two"])
@pytest.mark.parametrize(
    "own", [{"strategy": MINE}, {"strategy": None, "settings": {SETTING: MINE}}]
)
def test_a_strategy_of_ones_own_leads_to_a_documented_one(name, own, tmp_path, capsys):
    file = tmp_path / "case.json"
    content = trial_of("overload-95-over-85" if name == "two" else name, own)
    file.write_text(json.dumps({"trial": [content] * 2} if name == "two" else content))
    assert main(["explain", str(file)]) == 2
    printed = capsys.readouterr().out
    lines = ["to see what a documented strategy decides, add", f"  --setting {OPTION}"]
    assert printed.splitlines()[-2:] == lines
    assert "--judge-by" not in printed
    assert main(["explain", str(file), "--setting", OPTION]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "answer unsupported" not in text
    assert "unload shop/eu/0x" in text


def test_a_strategy_on_the_command_line_replaces_that_of_the_case(tmp_path, capsys):
    file = tmp_path / "case.json"
    file.write_text(json.dumps(trial_of("overload-95-over-85", {"strategy": "ThresholdShedder"})))
    assert main(["explain", str(file), "--setting", OPTION]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "to shed (95 - 85) + 5 = 15 %" in text
    assert "documented strategy decides" not in text


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ("TresholdShedder", "TresholdShedder is known; did you mean ThresholdShedder?"),
        ("org.apache.pulsar.broker.loadbalance.impl.OverloadSheder", "OverloadShedder?"),
        ("Nothing", "no shedding strategy Nothing is known\n"),
        (MINE, None),
        ("TransferShedder", None),
    ],
)
def test_a_misspelt_strategy_is_named_with_the_most_similar_one(tmp_path, capsys, strategy, told):
    [(operation, case)] = fixtures.example_named("shed-grace-29-minutes").questions
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": operation, "case": {**case, "strategy": strategy}}), "utf-8")
    main(["explain", str(file)])
    out = capsys.readouterr().out
    assert ("no shedding strategy" in out) == (told is not None)
    assert told is None or told in out or told in " ".join(out.split())
