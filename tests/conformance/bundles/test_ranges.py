"""Partitions are distributed over bundles like independent topics."""

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings

PROFILE, RULE, EXAMPLES = "documented-3.0", "BUNDLE-07", 20
MODEL = Model(PROFILE)


def outcomes(rename):
    """Return the judgments of an implementation that hashes each topic's name after `rename`."""
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
    found = []
    for trial in draw_trials(RULE, PROFILE, 7, EXAMPLES):
        [(operation, case)] = trial.questions
        answer = MODEL.answer(operation, {**case, "topics": list(map(rename, case["topics"]))})
        found.append(evaluator.judge(RULE, trial, [answer]).word)
    return found


def glued(topic):
    """Return the name of partition 2k for the partitions 2k and 2k + 1."""
    stem, _, number = topic.rpartition("-")
    return f"{stem}-{int(number) // 2 * 2}"


def test_partitions_by_their_own_names_are_allowed():
    assert set(outcomes(lambda topic: topic)) == {"allowed"}


def test_partitions_that_are_together_in_every_topic_are_found():
    assert outcomes(glued).count("violated") >= EXAMPLES // 2


def test_partitions_may_all_be_in_a_bundle_that_is_much_wider_than_the_others():
    narrow = [f"0x{number:08x}" for number in range(16)]
    topics = [f"persistent://shop/web/orders-partition-{number}" for number in range(16)]
    case = {"boundaries": [*narrow, "0xffffffff"], "topics": topics}
    answer = MODEL.answer("bundles.locate", case)
    assert len(set(answer["bundles"])) == 1
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
    assert evaluator.judge(RULE, Trial.of("bundles.locate", case), [answer]).word == "not_reached"
