"""The worked examples are valid, and the model, the checks and the hand calculation agree
on them.
"""

import re
from dataclasses import replace
from functools import cache

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.validation import check_answers
from pulsar_conformance.conformance.cases.legality import example_allows, trial_flaw
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.explain.derivations import provided_example
from pulsar_conformance.fixtures import Example, rules_without_example
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.context import Context

SPECS = specs.load()
EXAMPLES = fixtures.examples()

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)


def trial_of(example: Example) -> Trial:
    return Trial(tuple(Question(*question) for question in example.questions))


NAMES = {name: {rule.id for rule in SPECS.rules_of(name)} for name in SPECS.profiles}
"""The rules of each profile; for a release, only the rules that name its profile."""
NAMES |= {
    name: {rule.id for rule in SPECS.rules.values() if name in rule.profiles}
    for name, one in SPECS.profiles.items()
    if one.released
}


def profiles_of(example: Example) -> list[str]:
    """Return the profiles in which a run would ask the example."""
    trial = trial_of(example)
    return [
        profile
        for profile in SPECS.profiles
        if any(rule in NAMES[profile] for rule in example.rules)
        and example.holds_in(SPECS, profile)
        and trial_flaw(trial, SPECS.defaults(profile)) is None
    ]


class Noted(Readings):
    """Readings that note in `names` which of them are looked up, also in changed copies."""

    def __init__(self, choices, names=None):
        super().__init__(choices)
        object.__setattr__(self, "names", set() if names is None else names)

    def __getitem__(self, name):
        self.names.add(name)
        return super().__getitem__(name)

    def with_value(self, name, value):
        return Noted({**self.choices, name: value}, self.names)


def readings_of(example: Example, profile: str) -> list[dict[str, str]]:
    """Return the profile's readings, and these readings with one of them changed.

    Readings that neither the model nor a rule about the example looks up change nothing, and are
    left out unless other rules of the example apply under them.
    """
    usual, *others = every_reading_of(example, profile)
    noted, rules = Noted(usual), judging(example, profile, usual)
    model = Model(profile, context=replace(Context.of(profile, usual, False), readings=noted))
    answers = [model.answer(*question) for question in example.questions]
    evaluator = RuleEvaluator(model.defaults, noted)
    for answered in (answers, *(example.allowed or ())):
        for rule in rules:
            evaluator.judge(rule, trial_of(example), list(answered))
    concerned = [
        one
        for one in others
        if any(one[name] != usual[name] for name in noted.names)
        or judging(example, profile, one) != rules
    ]
    return [usual, *concerned]


def every_reading_of(example: Example, profile: str) -> list[dict[str, str]]:
    """Return the profile's readings, and these readings with one of them changed."""
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
    outcome = RuleEvaluator(model.defaults, model.readings).judge(
        rule, trial_of(example), list(answers)
    )
    return f"{outcome.word}: {outcome.allowed}" if outcome.violated else outcome.word


def judging(example: Example, profile: str, readings: dict[str, str]) -> list[str]:
    rules = (SPECS.rules[rule] for rule in example.rules)
    return [one.id for one in rules if one.id in NAMES[profile] and one.applies(readings)]


def test_every_testable_rule_has_an_example():
    assert rules_without_example(SPECS, EXAMPLES) == ()


FOLLOWED = {name for name, one in SPECS.profiles.items() if one.kind != "released"}
"""The profiles of documents, which the model follows."""


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
        for rule in judging(example, profile, every_reading_of(example, profile)[0])
    }
    testable = [rule for rule in SPECS.rules.values() if rule.untestable is None]
    wanted = {(rule.id, one) for rule in testable for one in FOLLOWED if rule.id in NAMES[one]}
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
            assert example_allows(example, answers), (profile, readings, answers)
            words = [
                word(example, rule, model, answers) for rule in judging(example, profile, readings)
            ]
            assert not any("violated" in one for one in words), (profile, readings, words)


@each_example
def test_the_rules_reach_their_guard(example):
    for profile in profiles_of(example):
        usual = every_reading_of(example, profile)[0]
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


CHANGED = [
    (example, profile, rule)
    for example in fixtures.examples()
    for profile, rules in example.changed_in.items()
    for rule in rules
]


# The checks of THRESHOLD-20 do not judge what the busiest broker sheds for an idle one.
@pytest.mark.parametrize(
    ("example", "profile", "rule"), CHANGED, ids=[f"{one.id}-{rule}" for one, _, rule in CHANGED]
)
def test_other_answers_are_right_because_of_a_rule_of_later_documents(example, profile, rule):
    before = SPECS.profile(profile).based_on
    assert rule in NAMES[profile] - NAMES[before]
    model = model_under(profile, example.readings)
    worked = [model_under(before, example.readings).answer(*one) for one in example.questions]
    assert [model.answer(*one) for one in example.questions] != worked
    if {*SPECS.rules[rule].operations} & trial_of(example).operations:
        assert word(example, rule, model, worked) != "allowed"


@each_example
def test_declining_is_not_what_was_worked(example):
    for declined in ("unsupported", "failed"):
        answers = [{declined: "not today"} for _question in example.questions]
        assert example_allows(example, answers) == (example.allowed is None)


def test_every_worked_number_of_the_documents_is_there():
    written = " ".join(line for example in EXAMPLES for line in example.arithmetic)
    for number in ("(95 - 85) + 5 = 15 %", "(40 + 10 + 10) / 3 = 20", "80 x 10 / 11 = 72.73"):
        assert number in written


def test_long_lists_are_expanded():
    [example] = [example for example in EXAMPLES if example.id == "bundle-advice-1000-topics"]
    [(_operation, case)] = example.questions
    assert len(case["topics"]) == len(set(case["topics"])) == 1000
    assert case["topics"][:2] == [f"persistent://public/default/topic-{n}" for n in (0, 1)]
    assert len(case["boundaries"]) == 65
    assert case["boundaries"][:2] == ["0x00000000", "0x04000000"]
    assert case["boundaries"][-1] == "0xffffffff"


VERSION = re.compile(r"\b(?:[Ss]ince|of|[Uu]p to) \d\.\d")
"""Version in a line that names a rule of other documents than those of the example's profile."""


@pytest.mark.parametrize("example", fixtures.examples(), ids=lambda example: example.id)
def test_rules_that_a_calculation_names_hold_in_its_profile(example):
    known = specs.load()
    held = {rule.id for rule in known.rules_of(provided_example(example, {}).profile)}
    for line in (*example.arithmetic, example.judged_by_rules or ""):
        named = known.rules.keys() & re.findall(r"[A-Z]+-\d\d", line)
        assert named <= held or VERSION.search(line), line


# Two examples about load reports also have a rule that no document states.
def test_an_example_is_answered_by_a_profile_with_all_of_its_rules():
    rules = {name: {rule.id for rule in SPECS.rules_of(name)} for name in SPECS.profiles}
    missing = {
        example.id
        for example in EXAMPLES
        if not rules[provided_example(example, {}).profile].issuperset(example.rules)
    }
    assert missing == {"report-modular-sample", "report-with-more"}
    assert not any(
        held.issuperset(example.rules)
        for example in EXAMPLES
        if example.id in missing
        for held in rules.values()
    )


def test_a_fifth_by_hand_is_a_fifth_by_the_model(capsys):
    assert main(["explain", "uniform-less-than-the-difference"]) == 0
    assert "500 MB/s x 0.2 = 100 MB/s" in " ".join(capsys.readouterr().out.split())
