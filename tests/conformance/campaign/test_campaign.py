"""Campaigns and bounded worlds: the cases that they cover, the faults that they find, and how parts
are merged.
"""

import gc
import json
import os
import pickle
import tracemalloc
from functools import partial
from itertools import product
from math import comb
from pathlib import Path

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.campaign import search, worlds
from pulsar_conformance.conformance.campaign.worlds import bounded_worlds, multisets
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.cases.saved import Campaign, SearchResult, load_saved
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common import GC_THRESHOLDS
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.plan import Plan
from standins.rarely import Rarest

TESTS = Path(__file__).parents[2]
STREAM = Path("reports/out/verdicts.jsonl")
FEW_USAGES = (86, 100)
RULE = "OVERLOAD-02"
"""The rule that an overloaded broker sheds its excess plus 5 points."""
SHEDDING_RULES = {RULE, "OVERLOAD-01", "OVERLOAD-09"}
"""The rules that an overloaded broker breaks if it sheds nothing."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


@pytest.fixture
def small(monkeypatch):
    """Reduce the bounded worlds to one: two brokers at 86 or 100 %, two bundles of three kinds."""
    settings = [{"loadBalancerBrokerOverloadedThresholdPercentage": 85}]
    world = worlds.shedding_world("OverloadShedder", FEW_USAGES, "two usages", settings, 2, 2)
    monkeypatch.setattr(search, "bounded_worlds", lambda: (world,))
    monkeypatch.setattr(search, "SECTION", 50)
    return world


def verdicts():
    lines = map(json.loads, STREAM.read_text("utf-8").splitlines())
    return {line["rule"]: line for line in lines if line["kind"] == "verdict"}


def broken():
    return {name for name, one in verdicts().items() if one["verdict"] == "fail"}


def test_a_world_has_every_cluster_up_to_renaming(small):
    """A broker with 0, 1 or 2 bundles of 3 kinds, at 2 usages, has 2, 6 or 12 states.

    One broker has 2 + 6 + 12 states. Two brokers have 3 without bundles, 2 x 6 with one bundle,
    2 x 12 with two bundles on one broker, and 21 with one bundle each.
    """
    assert small.size == 20 + 3 + 12 + 24 + comb(6 + 1, 2)
    keys = list(small.keys())
    assert len(set(map(repr, keys))) == len(keys)


def test_sections_cover_a_world_without_overlap(small):
    whole = [one.fingerprint for one in small.trials(0, small.size)]
    halves = [*small.trials(0, 40), *small.trials(40, small.size)]
    assert [one.fingerprint for one in halves] == whole
    assert len(set(whole)) == len(whole)


def test_parts_cover_all_worlds_and_become_small_at_the_end(tmp_path):
    """At the end, a core waits for a part of at most 1,250 cases instead of 10,000."""
    plan = Plan.make(["reference"], ["documented-3.0"], root=tmp_path)
    every = bounded_worlds()
    parts = search.parts_of(plan, every, 0)
    for world in every:
        own = [one for one in parts if one.world == world.name]
        assert [one.start for one in own[1:]] == [one.stop for one in own[:-1]]
        assert (own[0].start, own[-1].stop) == (0, world.size)
    sizes = [one.stop - one.start for one in parts]
    assert max(sizes) == search.SECTION
    assert max(sizes[-2:]) <= search.LAST_SECTION
    assert len(parts) < 1.1 * sum(sizes) / search.SECTION + len(every)


def test_multisets_are_counted_as_combinations_with_repetition():
    assert len(list(multisets("abc", 4))) == sum(comb(3 + size - 1, size) for size in range(5))


@pytest.mark.parametrize("world", bounded_worlds(), ids=lambda one: one.name)
def test_every_world_has_legal_cases_only(world):
    defaults = specs.load().defaults("documented-3.0")
    for start in (0, world.size // 3, world.size - 3):
        for trial in world.trials(start, start + 3):
            assert trial_flaw(trial, defaults) is None


def test_the_worlds_have_a_million_cases_of_six_operations():
    every = bounded_worlds()
    assert sum(one.size for one in every) >= 1_000_000
    assert len({one.operation for one in every}) >= 6


def test_the_model_breaks_no_rule_in_a_whole_world(small, capsys):
    assert main(["run", "--adapter", "reference", "--exhaustive"]) == 0
    said = capsys.readouterr().out
    assert f"{small.size} cases in 2 parts" in said
    assert "no counterexample up to 2 brokers and 2 bundles of 3 kinds, two usages" in said
    found = verdicts()[RULE]
    assert (found["verdict"], found["drawn"]) == ("pass", small.size)
    assert 0 < found["reached"] < small.size


def test_one_wrong_case_of_a_world_is_found_and_reduced(small, capsys):
    """A broker at 100 % is 15 points over: (15 + 5) % of two equal bundles is one bundle."""
    adapter = "python:standins.rarely:Seldom"
    assert main(["run", "--adapter", adapter, "--exhaustive"]) == 1
    assert "no counterexample" not in capsys.readouterr().out
    assert broken() == SHEDDING_RULES
    failure = verdicts()[RULE]["failure"]
    assert failure["size"] == "2 brokers, 2 bundles"
    again = failure["again"][failure["again"].index("--adapter") :].split()
    assert main(["run", *again]) == 1


def counts(*adapters):
    """Return verdict and numbers of drawn and reached cases, by implementation and rule."""
    options = [word for one in adapters for word in ("--adapter", one)]
    main(["run", *options, "--exhaustive"])
    lines = map(json.loads, STREAM.read_text("utf-8").splitlines())
    found = [line for line in lines if line["kind"] == "verdict"]
    return {
        (one["implementation"], one["rule"]): [
            one.get(name) for name in ("verdict", "drawn", "reached")
        ]
        for one in found
    }


@pytest.mark.parametrize(
    ("other", "models"),
    [("python:standins.variants:Traffic", 1), ("python:standins.variants:One", 2)],
)
@pytest.mark.usefixtures("small")
def test_the_model_is_judged_once_for_all_that_agree_on_the_readings_it_consults(
    other, models, monkeypatch
):
    """The world of OverloadShedder depends on the amount shed, not on ThresholdShedder's order."""
    alone = counts("reference") | counts(other)
    monkeypatch.setattr(search, "SECTION", 1000)
    made = []

    class Counted(search.JudgedModel):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(search, "JudgedModel", Counted)
    assert counts("reference", other) == alone
    assert len(made) == models


def test_campaigns_draw_the_cases_of_a_run_and_more(capsys):
    """The first part has the seed of the run, and therefore draws the same cases."""
    words = ["run", "--adapter", "reference", "--rules", "USAGE-01", "--seed", "7"]
    assert main([*words, "--examples", "1000"]) == 0
    once = verdicts()["USAGE-01"]
    assert main([*words, "--campaign", "1000"]) == 0
    campaign = verdicts()["USAGE-01"]
    assert campaign["drawn"] == once["drawn"]
    assert "1000 cases for each rule in 1 part" in capsys.readouterr().out


def test_an_interrupted_campaign_goes_on_where_it_stopped(small, tmp_path):
    words = ["run", "--adapter", "reference", "--exhaustive"]
    assert main(words) == 0
    whole = STREAM.read_bytes()
    [first, *others] = sorted((tmp_path / "reports/out/campaign").glob("*/*.json"))
    kept = first.stat().st_mtime_ns
    for one in others:
        one.unlink()
    assert main([*words, "--resume"]) == 0
    assert first.stat().st_mtime_ns == kept
    assert STREAM.read_bytes() == whole


KIBIBYTES_OF_A_PART = 1500
"""Kibibytes that a part may keep: about 800 in limited caches of numbers, but not the 5,700 of its
cases and answers.
"""


@pytest.mark.thorough
def test_a_part_of_drawn_cases_leaves_nothing_behind(tmp_path):
    """The part's cases and answers are freed, even if garbage is rarely collected."""
    plan = Plan.make(["reference"], ["documented-3.0"], rules=["USAGE-01"], root=tmp_path)
    parts = search.parts_of(plan, [], 4 * search.PART)
    readings = {("reference", "documented-3.0"): {}}
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    tracemalloc.start()
    try:
        kept = []
        for part in parts:
            search.search_part(plan, readings, part.text)
            kept.append(tracemalloc.get_traced_memory()[0] / 1024)
    finally:
        tracemalloc.stop()
        gc.set_threshold(*before)
    assert kept[-1] - kept[1] < 2 * KIBIBYTES_OF_A_PART


def test_a_task_gets_no_answers_of_the_run_that_found_the_readings(tmp_path):
    """Each task gets its own copy of the plan, which would have 14 MB with these answers."""
    adapter = "python:standins.variants:Undeclared"
    plan = Plan.make([adapter], ["documented-3.0"], rules=["USAGE-0*"], root=tmp_path)
    readings = search.readings_of(plan)
    assert readings
    parts, sizes = search.parts_of(plan, [], 1), []

    def asked(work, texts):
        sizes.append(len(pickle.dumps(work)))
        return [(text, work(text)) for text in texts]

    stored = search.StoredParts(tmp_path, plan, readings, resume=False)
    search.search(plan, parts, readings, stored, asked)
    assert sizes[0] < 10_000


def test_many_parts_are_asked_in_two_processes_with_the_same_results(tmp_path, monkeypatch):
    plan = Plan.make(["reference", "python:standins.rarely:Seldom"], ["documented-3.0"])
    readings = search.readings_of(plan)
    starts = range(0, 80, 10)
    parts = [
        search.Part("documented-3.0", "shed.select OverloadShedder", one, one + 10)
        for one in starts
    ]
    assert len(parts) == search.MANY_PARTS
    found = {}
    for name, many in (("one", len(parts) + 1), ("two", len(parts))):
        monkeypatch.setattr(search, "MANY_PARTS", many)
        stored = search.StoredParts(tmp_path / name, plan, readings, resume=False)
        found[name] = search.search(plan, parts, readings, stored)
    assert found["one"] == found["two"]
    assert found["two"]["reference", "documented-3.0", RULE].drawn == 80


def trial(number):
    return Trial.of("shed.select", {"number": number})


def test_parts_are_merged_in_order_and_the_first_faults_are_kept():
    key = ("it", "documented-3.0", RULE)
    faults = [trial(number) for number in range(search.MAX_KEPT + 1)]
    parts = [{key: SearchResult(10, 5, (one,))} for one in faults]
    [merged] = search.merge_parts(parts).values()
    assert merged.faults == tuple(faults[:-1])
    assert (merged.drawn, merged.reached) == (10 * len(parts), 5 * len(parts) + 1)


def test_an_implementation_that_cannot_be_asked_is_an_error(small, capsys):
    assert main(["run", "--adapter", "exec:false", "--exhaustive"]) == 2
    assert "no counterexample" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--exhaustive", "--campaign", "10"], "--exhaustive and --campaign: choose one of them"),
        (["--campaign", "0"], "--campaign 0: at least one case must be drawn"),
        (["--exhaustive", "nothing"], "--exhaustive nothing: there is no such world;"),
        (["--exhaustive", "usage.*", "--rules", "SPLIT-*"], "none of the selected rules"),
    ],
)
def test_mistakes_in_the_options_of_a_campaign(words, message, capsys):
    assert main(["run", "--adapter", "reference", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.thorough
def test_a_fault_of_one_case_in_a_whole_world_is_found():
    """The world of OverloadShedder has 83,282 cases, of which one is answered wrongly."""
    adapter = "python:standins.rarely:Rarely"
    assert main(["run", "--adapter", adapter, "--exhaustive", "shed.select Over*"]) == 1
    assert broken() == SHEDDING_RULES


RARE = 100_000
"""A fault is rare if it changes at most one answer in this number."""


@pytest.mark.thorough
def test_a_fault_that_one_case_in_a_hundred_thousand_shows_is_found_and_reduced():
    """The world of ThresholdShedder has 166,564 cases, of which one is answered wrongly."""
    rarest = Rarest("documented-3.0", {})
    world = next(one for one in bounded_worlds() if one.strategy == Rarest.strategy)
    asked = [question for one in world.trials(0, world.size) for question in one.questions]
    wrong = [case for _, case in asked if rarest.is_wrong(case)]
    assert [rarest.answer(world.operation, one) for one in wrong] == [{"unload": []}]
    assert rarest.model.answer(world.operation, wrong[0])["unload"]
    assert len(asked) >= RARE
    words = ["--adapter", "python:standins.rarely:Rarest", "--rules", "THRESHOLD-0[1-3]"]
    assert main(["run", *words, "--exhaustive", world.name]) == 1
    assert broken() == {"THRESHOLD-01", "THRESHOLD-03"}
    failure = verdicts()["THRESHOLD-01"]["failure"]
    assert failure["size"] == "3 brokers, 5 bundles"
    [file] = Path(".conformance/cases/shed.select").iterdir()
    assert len(json.dumps(load_saved(file).trial.questions[0][1])) < len(json.dumps(wrong[0]))
    again = failure["again"][failure["again"].index("--adapter") :].split()
    assert main(["run", *again]) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("adapter", ["sample:java", "sample:javascript", "sample:go"])
def test_samples_agree_with_the_model_in_whole_worlds(adapter):
    assert main(["run", "--adapter", adapter, "--exhaustive"]) == 0


KIBIBYTES_OF_A_MILLION = 400


def _answered(result, _work, texts):
    return product(texts, [result])


def test_the_driver_keeps_a_name_of_each_part_and_no_result(tmp_path):
    """A million cases per rule are a thousand parts, whose results are in files."""
    plan = Plan.make(["reference"], ["documented-3.0"], rules=["USAGE-01"], root=tmp_path)
    readings = {("reference", "documented-3.0"): {}}
    found = {("reference", "documented-3.0", "USAGE-01"): SearchResult(search.PART, search.PART)}
    result = json.dumps(Campaign({}, found).as_json()["found"])

    def peak_of_one(cases):
        stored = search.StoredParts(tmp_path / str(cases), plan, readings, resume=False)
        parts = search.parts_of(plan, [], cases)
        tracemalloc.start()
        asked = partial(_answered, result)
        merged = search.search(plan, parts, readings, stored, asked)
        kept = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert [one.drawn for one in merged.values()] == [cases]
        return kept / 1024

    def peak(cases):
        """Return the lower of two peaks, as Python's table of names may grow by megabytes."""
        return min(peak_of_one(cases), peak_of_one(cases))

    assert peak(100_000) < peak(1_000_000) < KIBIBYTES_OF_A_MILLION
