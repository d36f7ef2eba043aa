"""The worked examples are in order, and model, checks and hand calculation agree on them."""

import shutil
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.validation import check_answers
from pulsar_conformance.conformance import checks
from pulsar_conformance.conformance.judge import Court
from pulsar_conformance.conformance.legal import bad_trial
from pulsar_conformance.conformance.trial import Question, Trial
from pulsar_conformance.fixtures import Example, allows, matches, rules_without_example
from pulsar_conformance.reference import Model
from pulsar_conformance.specs import SpecError

SPECS = specs.load()
EXAMPLES = fixtures.examples()
BUNDLED = Path(fixtures.__file__).parent
assert checks.__all__, "importing the checks registers them"

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)


def trial_of(example: Example) -> Trial:
    return Trial(tuple(Question(*question) for question in example.questions))


def profiles_of(example: Example) -> list[str]:
    """The profiles in which a run would ask the example."""
    trial = trial_of(example)
    return [
        profile
        for profile in SPECS.profiles
        if any(profile in SPECS.rules[rule].profiles for rule in example.rules)
        and bad_trial(trial, SPECS.defaults(profile)) is None
    ]


def readings_of(example: Example, profile: str) -> list[dict[str, str]]:
    """The profile's readings, and those with one more taken the other way."""
    usual = {**SPECS.default_readings(profile), **example.readings}
    free = [reading for reading in SPECS.readings.values() if reading.id not in example.readings]
    others = [
        {**usual, reading.id: value}
        for reading in free
        for value in reading.values
        if value != usual[reading.id]
    ]
    return [usual, *others]


@cache
def model_of(profile: str, readings: tuple[tuple[str, str], ...]) -> Model:
    return Model(profile, dict(readings))


def model_under(profile: str, readings: dict[str, str]) -> Model:
    return model_of(profile, tuple(readings.items()))


def word(example: Example, rule: str, model: Model, answers) -> str:
    outcome = Court(model.defaults, model.readings).judge(rule, trial_of(example), list(answers))
    return f"{outcome.word}: {outcome.allowed}" if outcome.violated else outcome.word


def judging(example: Example, profile: str, readings: dict[str, str]) -> list[str]:
    rules = (SPECS.rules[rule] for rule in example.rules)
    return [one.id for one in rules if profile in one.profiles and one.applies(readings)]


def test_every_testable_rule_has_an_example():
    assert rules_without_example(SPECS, EXAMPLES) == ()


FOLLOWED = {name for name, one in SPECS.profiles.items() if one.kind != "released"}
"""The profiles that the model follows."""


def test_a_rule_that_loses_its_only_example_is_noticed():
    for rule in SPECS.rules.values():
        naming = [example for example in EXAMPLES if rule.id in example.rules]
        if len(naming) == 1:
            others = [example for example in EXAMPLES if example is not naming[0]]
            assert rule.id in rules_without_example(SPECS, others)
    testable = [rule for rule in SPECS.rules.values() if rule.untestable is None]
    followed = tuple(rule.id for rule in testable if FOLLOWED.intersection(rule.profiles))
    assert rules_without_example(SPECS, ()) == followed


def test_every_rule_is_reached_in_each_of_its_profiles():
    reached = {
        (rule, profile)
        for example in EXAMPLES
        for profile in profiles_of(example)
        for rule in judging(example, profile, readings_of(example, profile)[0])
    }
    testable = [rule for rule in SPECS.rules.values() if rule.untestable is None]
    wanted = {(rule.id, one) for rule in testable for one in FOLLOWED.intersection(rule.profiles)}
    assert wanted <= reached


@each_example
def test_the_case_is_legal_in_a_profile(example):
    assert profiles_of(example)


@each_example
def test_the_allowed_answers_are_answers(example):
    for allowed in example.allowed or ():
        for (operation, _case), answer in zip(example.questions, allowed, strict=True):
            check_answers(operation, [answer])


@each_example
def test_the_model_answers_as_worked_by_hand(example):
    for profile in profiles_of(example):
        for readings in readings_of(example, profile):
            model = model_under(profile, readings)
            answers = [model.answer(*question) for question in example.questions]
            assert allows(example, answers), (profile, readings, answers)
            words = [
                word(example, rule, model, answers) for rule in judging(example, profile, readings)
            ]
            assert not any("violated" in one for one in words), (profile, readings, words)


@each_example
def test_the_rules_reach_their_guard(example):
    for profile in profiles_of(example):
        usual = readings_of(example, profile)[0]
        model = model_under(profile, usual)
        answers = [model.answer(*question) for question in example.questions]
        for rule in judging(example, profile, usual):
            assert word(example, rule, model, answers) == "allowed", (rule, profile)


@each_example
def test_the_rules_allow_every_answer_worked_by_hand(example):
    for profile in profiles_of(example):
        for readings in readings_of(example, profile):
            model = model_under(profile, readings)
            for allowed in example.allowed or ():
                for rule in judging(example, profile, readings):
                    found = word(example, rule, model, allowed)
                    assert "violated" not in found, (rule, profile, readings, allowed)


@each_example
def test_declining_is_not_what_was_worked(example):
    for declined in ("unsupported", "failed"):
        answers = [{declined: "not today"} for _question in example.questions]
        assert allows(example, answers) == (example.allowed is None)


def test_every_worked_number_of_the_documents_is_there():
    written = " ".join(line for example in EXAMPLES for line in example.arithmetic)
    for number in ("(95 - 85) + 5 = 15 %", "(40 + 10 + 10) / 3 = 20", "80 x 10 / 11 = 72.73"):
        assert number in written


A = {"broker": "b1", "bundle": "t/ns/0x00000000_0x80000000"}
B = {"broker": "b1", "bundle": "t/ns/0x80000000_0xffffffff"}
OTHER = {"broker": "b2", "bundle": "t/us/0x00000000_0xffffffff"}
TO_B1 = {"bundle": "t/ns/0x00000000_0x80000000", "to": "b1"}
TO_B2 = {"bundle": "t/ns/0x80000000_0xffffffff", "to": "b2"}

SAME = {
    "free text": ("bundles.locate", {"bundles": ["x"]}, {"bundles": ["x"], "why": "so"}),
    "brokers in any order": ("shed.select", {"unload": [A, OTHER]}, {"unload": [OTHER, A]}),
    "a share of a point": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 95.0000001, "resource": "cpu"},
    ),
    "a float's 0.8": ("usage.nic", {"gbps": 0.8}, {"gbps": 0.800000011920929}),
    "candidates in any order": (
        "bundles.split_candidates",
        {"split": ["x", "y"], "unload": ["x", "y"]},
        {"split": ["y", "x"], "unload": ["x", "y"]},
    ),
    "more settings": (
        "settings.defaults",
        {"settings": {"a": 1}},
        {"settings": {"a": 1.0, "b": 2}},
    ),
    "an empty setting left out": ("settings.defaults", {"settings": {"a": ""}}, {"settings": {}}),
    "domains that are not told": (
        "place.anti_affinity",
        {"broker": "b1", "domains": ["d1", "d2"], "candidates": ["b1", "b2"]},
        {"broker": "b1", "candidates": ["b2", "b1"]},
    ),
    "moves of a step in any order": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B1, TO_B2]}]},
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B2, TO_B1], "leader": "b2"}]},
    ),
    "an event ignored for any reason": (
        "cluster.replay",
        {"steps": [{"ignored": "*"}]},
        {"steps": [{"ignored": "it is up", "owners": {}}]},
    ),
    "any reason": ("bundles.split", {"refused": "*"}, {"refused": "for admins alone"}),
}

DIFFERENT = {
    "a bundle more": ("shed.select", {"unload": [A]}, {"unload": [A, B]}),
    "bundles in another order": ("shed.select", {"unload": [A, B]}, {"unload": [B, A]}),
    "another broker": ("shed.select", {"unload": [A]}, {"unload": [{**A, "broker": "b2"}]}),
    "a bundle twice": ("shed.select", {"unload": [A]}, {"unload": [A, A]}),
    "two points": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 97, "resource": "cpu"},
    ),
    "another resource": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 95, "resource": "memory"},
    ),
    "another speed": ("usage.nic", {"gbps": 0.8}, {"gbps": 0.8005}),
    "a split that stays": (
        "bundles.split_candidates",
        {"split": ["x"], "unload": ["x"]},
        {"split": ["x"], "unload": []},
    ),
    "no broker": ("place.select", {"broker": "b1"}, {"broker": None}),
    "another broker for a namespace": ("place.anti_affinity", {"broker": "b1"}, {"broker": "b2"}),
    "other domains": (
        "place.anti_affinity",
        {"broker": "b1", "domains": ["d1"]},
        {"broker": "b1", "domains": ["d1", "d2"]},
    ),
    "bundles the other way": ("bundles.locate", {"bundles": ["x", "y"]}, {"bundles": ["y", "x"]}),
    "other boundaries": ("bundles.create", {"boundaries": ["a", "b"]}, {"boundaries": ["a"]}),
    "no number": ("settings.defaults", {"settings": {"a": 1}}, {"settings": {"a": True}}),
    "no setting": ("settings.defaults", {"settings": {"a": 1}}, {"settings": {}}),
    "a setting where none is": (
        "settings.defaults",
        {"settings": {"a": ""}},
        {"settings": {"a": 10}},
    ),
    "another owner": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}}]},
        {"steps": [{"owners": {"x": "b2"}}]},
    ),
    "a step too few": ("cluster.replay", {"steps": [{"owners": {}}]}, {"steps": []}),
    "a move more": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}}]},
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B1]}]},
    ),
    "another leader": (
        "cluster.replay",
        {"steps": [{"owners": {}, "leader": "b1"}]},
        {"steps": [{"owners": {}, "leader": "b2"}]},
    ),
    "an event refused that is ignored": (
        "cluster.replay",
        {"steps": [{"ignored": "*"}]},
        {"steps": [{"refused": "no"}]},
    ),
    "an answer where one is refused": ("bundles.split", {"refused": "*"}, {"bundles": ["x"]}),
    "a refusal where one is answered": ("bundles.split", {"bundles": ["x"]}, {"refused": "no"}),
    "a failure where one is refused": ("bundles.split", {"refused": "*"}, {"failed": "no"}),
}


@pytest.mark.parametrize(("operation", "allowed", "answer"), SAME.values(), ids=SAME)
def test_matching_answers(operation, allowed, answer):
    assert matches(operation, allowed, answer)


@pytest.mark.parametrize(("operation", "allowed", "answer"), DIFFERENT.values(), ids=DIFFERENT)
def test_wrong_answers_do_not_match(operation, allowed, answer):
    assert not matches(operation, allowed, answer)


def test_a_trial_needs_an_answer_to_each_question():
    [example] = [example for example in EXAMPLES if example.id == "overload-others-do-not-matter"]
    first, second = example.allowed
    assert allows(example, first)
    assert not allows(example, first[:1])
    assert not allows(example, (first[0], second[1]))


def test_nothing_worked_out_allows_anything():
    without = replace(EXAMPLES[0], allowed=None)
    assert allows(without, [{"boundaries": []}])


@dataclass(frozen=True)
class Mistake:
    """An edit of overload.yaml, the line that must be named, and what must be said."""

    before: str
    after: str
    at: str
    """The beginning of the line, in the edited file, that the error points at."""
    says: str


MISTAKES = {
    "broken YAML": Mistake(
        "rules: [OVERLOAD-03]",
        "rules: [OVERLOAD-03",
        "  source: {document: load-balance-3.0, section: Shed load automatically}#2",
        "not YAML",
    ),
    "unknown rule": Mistake(
        "rules: [OVERLOAD-03]",
        "rules: [OVERLOAD-99]",
        "  rules: [OVERLOAD-99",
        "overload-95-over-85-no-more: unknown rule 'OVERLOAD-99'; there are",
    ),
    "rule without a check": Mistake(
        "rules: [OVERLOAD-03]", "rules: [DATA-11]", "  rules: [DATA-11", "DATA-11 is untestable"
    ),
    "rule of another operation": Mistake(
        "rules: [OVERLOAD-07]",
        "rules: [USAGE-01]",
        "  rules: [USAGE-01",
        "USAGE-01 is about usage.max, which is not asked",
    ),
    "rule of another reading": Mistake(
        "readings: {overload-amount: one}",
        "readings: {overload-amount: margin}",
        "  rules: [OVERLOAD-05",
        "OVERLOAD-05 holds only under overload-amount: one; say so in readings",
    ),
    "unknown reading": Mistake(
        "readings: {overload-trigger: reaches}",
        "readings: {overload-triger: reaches}",
        "  readings: {overload-triger",
        "unknown reading 'overload-triger'; there are",
    ),
    "unknown value": Mistake(
        "readings: {overload-trigger: reaches}",
        "readings: {overload-trigger: touches}",
        "  readings: {overload-trigger: touches",
        "unknown value of overload-trigger 'touches'; there are exceeds, reaches",
    ),
    "unknown document": Mistake(
        "document: load-balance-3.0, section: Shed",
        "document: load-balance-9.9, section: Shed",
        "  source: {document: load-balance-9.9",
        "unknown document 'load-balance-9.9'; there are",
    ),
    "unknown section": Mistake(
        "section: Shed load automatically",
        "section: Shed load by hand",
        "  source: {document: load-balance-3.0, section: Shed load by hand",
        "unknown section of load-balance-3.0 'Shed load by hand'; there are",
    ),
    "an id twice": Mistake(
        "id: overload-most-bytes",
        "id: overload-95-over-85",
        "- id: overload-95-over-85#2",
        "overload-95-over-85 is given twice, first in examples/overload.yaml:3",
    ),
    "unknown key": Mistake(
        "title: Of two", "titel: Of two", "  titel:", "unknown key 'titel'; there are"
    ),
    "unknown operation": Mistake(
        "ask: shed.select", "ask: shed.selekt", "  ask: shed.selekt", '"shed.selekt" is none of'
    ),
    "no answer": Mistake(
        "  allowed:\n    - unload: [*first, *second]\n",
        "",
        "- id: overload-95-over-85-no-more",
        "give either every allowed answer, or judged_by_rules: why there is none",
    ),
    "no arithmetic": Mistake(
        '  arithmetic:\n    - "95 > 85, but 1 bundle < 2"',
        "  arithmetic: []",
        "  arithmetic: []",
        "at least 1 must be given",
    ),
    "an answer too few": Mistake(
        "    - [{unload: []}, {unload: []}]",
        "    - [{unload: []}]",
        "    - [{unload: []}]",
        "an allowed answer is a list of 2 answers",
    ),
    "answers where one is": Mistake(
        "    - unload: [*first, *second]\n",
        "    - [{unload: [*first, *second]}]\n",
        "    - [{unload: [*first, *second]}]",
        "an allowed answer is one answer",
    ),
    "ask and trial": Mistake(
        "  trial:\n", "  ask: shed.select\n  trial:\n", "- id: overload-others", "give either ask"
    ),
    "times without a reason": Mistake(
        "  ask: shed.select\n  case: *eight-bundles\n  allowed:\n    - unload: [*first, *second]\n",
        "  ask: shed.select\n  case: *eight-bundles\n  times: 60\n  allowed:\n"
        "    - unload: [*first, *second]\n",
        "  times: 60",
        "times goes with ask, and with judged_by_rules",
    ),
    "expanded and written": Mistake(
        "  case: *at-75\n",
        "  case: {topics: []}\n  expand: {topics: {pattern: 'x-{n}', count: 2}}\n",
        "  expand: {topics",
        "topics is written in the case, too; keep one",
    ),
}


def line_of(text: str, beginning: str) -> int:
    beginning, _, which = beginning.partition("#")
    found = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(beginning)]
    exact = [n for n in found if text.splitlines()[n - 1] == beginning] if which else found
    return exact[int(which or 1) - 1]


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_line(tmp_path, mistake):
    shutil.copytree(BUNDLED / "examples", tmp_path / "examples")
    path = tmp_path / "examples" / "overload.yaml"
    text = path.read_text("utf-8")
    assert mistake.before in text
    edited = text.replace(mistake.before, mistake.after, 1)
    path.write_text(edited, "utf-8")
    with pytest.raises(SpecError) as raised:
        fixtures.load_from(tmp_path, SPECS)
    place = f"examples/overload.yaml:{line_of(edited, mistake.at)}: "
    assert str(raised.value).startswith(place)
    assert mistake.says in str(raised.value)


def test_a_file_of_no_area_is_told(tmp_path):
    shutil.copytree(BUNDLED / "examples", tmp_path / "examples")
    (tmp_path / "examples" / "overlaod.yaml").write_text("[]", "utf-8")
    with pytest.raises(SpecError, match=r"examples/overlaod\.yaml:1: unknown area 'overlaod'"):
        fixtures.load_from(tmp_path, SPECS)


def test_long_lists_are_expanded():
    [example] = [example for example in EXAMPLES if example.id == "bundle-advice-1000-topics"]
    [(_operation, case)] = example.questions
    assert len(case["topics"]) == len(set(case["topics"])) == 1000
    assert case["topics"][:2] == [f"persistent://public/default/topic-{n}" for n in (0, 1)]
    assert len(case["boundaries"]) == 65
    assert case["boundaries"][:2] == ["0x00000000", "0x04000000"]
    assert case["boundaries"][-1] == "0xffffffff"
