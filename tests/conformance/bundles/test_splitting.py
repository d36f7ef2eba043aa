"""Splits: the parts of a bundle may be in any order, since no document states one."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Question, Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.ranges import hash_of, hex_of

PROFILE, EXAMPLES, SEED = "documented-3.0", 30, 7
RULES = [
    rule.id
    for rule in specs.load().rules_of(PROFILE)
    if "bundles.split" in rule.operations and rule.untestable is None
]


def backwards(answer):
    return {**answer, "bundles": answer["bundles"][::-1]} if "bundles" in answer else answer


@pytest.mark.parametrize("rule", RULES)
def test_parts_may_be_listed_in_any_order(rule):
    readings = specs.load().rules[rule].reading
    model = Model(PROFILE, readings)
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, readings))
    outcomes = set()
    for trial in draw_trials(rule, PROFILE, SEED, EXAMPLES):
        answers = [model.answer(*question) for question in trial.questions]
        split = [
            backwards(answer) if question.operation == "bundles.split" else answer
            for question, answer in zip(trial.questions, answers, strict=True)
        ]
        outcomes.add(evaluator.judge(rule, trial, split).word)
    assert outcomes <= {"allowed", "not_reached"}
    assert "allowed" in outcomes


def test_parts_that_are_no_ranges_are_reported():
    case = {
        "bundle": "0x00000000_0xffffffff",
        "algorithm": "range_equally_divide",
        "by": "admin",
        "settings": {},
        "topics": [],
        "positions": [],
    }
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    answer = {"bundles": ["0x80000000_0xffffffff", "0x80000000_0x00000000"]}
    outcome = evaluator.judge("SPLIT-14", Trial.of("bundles.split", case), [answer])
    assert outcome.word == "violated"


def test_a_bundle_of_one_hash_need_not_be_split():
    case = {
        "bundle": "0x00000000_0x00000001",
        "algorithm": "range_equally_divide",
        "by": "admin",
        "settings": {},
        "topics": [],
        "positions": [],
    }
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    parts = {"bundles": ["0x00000000_0x00000001"]}
    outcome = evaluator.judge("SPLIT-10", Trial.of("bundles.split", case), [parts])
    assert outcome.word == "not_reached"


A, B, C = sorted((f"persistent://t/ns/{name}" for name in "abc"), key=hash_of)


@pytest.mark.parametrize(
    ("topics", "below"),
    [([A, A, B], {2}), ([A, B, B], {1}), ([A, B, B, C], {1, 3}), ([A, A, A, B, C], {3})],
)
def test_topics_with_the_same_hash_are_not_parted(topics, below):
    """The topics are divided as evenly as their hashes permit, and no other boundary is nearer to
    half.
    """
    split = {
        "bundle": "0x00000000_0xffffffff",
        "algorithm": "topic_count_equally_divide",
        "by": "admin",
        "settings": {},
        "topics": topics,
        "positions": [],
    }
    ends = sorted({0, 0xFFFFFFFF, *map(hash_of, topics)})
    located = {"boundaries": [*map(hex_of, ends)], "topics": topics}
    trial = Trial((Question("bundles.split", split), Question("bundles.locate", located)))
    answers = [Model(PROFILE).answer(*question) for question in trial.questions]
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, {}))
    assert evaluator.judge("SPLIT-11", trial, answers).word == "allowed"
    for cut in map(hash_of, topics):
        name = hex_of(cut)
        parts = {"bundles": [f"0x00000000_{name}", f"{name}_0xffffffff"]}
        word = evaluator.judge("SPLIT-11", trial, [parts, answers[1]]).word
        allowed = sum(hash_of(topic) < cut for topic in topics) in below
        assert word == ("allowed" if allowed else "violated"), name
