"""CHANNEL-06 judges only the parts of a bundle that is being split."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.managers.channel import LOWER, UPPER, WHOLE, change_of
from pulsar_conformance.reference import Readings

PROFILE = "documented-5.0"
EVALUATOR = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
OWNED = {"state": "owned", "to": "a", "from": None}
BEGINS = change_of(WHOLE, "splitting", source="a")
ENDS = change_of(WHOLE, "deleted", source="a")
PART = change_of(UPPER, "owned", "a")
ELSEWHERE = change_of(f"shop/us/{UPPER.rpartition('/')[2]}", "owned", "a")


def outcome(units, changes, ignored):
    case = {"units": units, "changes": changes, "lookups": []}
    kept = {
        one["bundle"]: {name: one[name] for name in ("state", "to", "from")}
        for index, one in enumerate(changes)
        if index not in ignored
    }
    answer = {"units": units | kept, "ignored": ignored, "lookups": []}
    return EVALUATOR.judge("CHANNEL-06", Trial.of("channel.apply", case), [answer])


def test_a_part_must_count_while_the_bundle_is_being_split():
    assert outcome({WHOLE: OWNED}, [BEGINS, PART, ENDS], [1]).violated


@pytest.mark.parametrize(
    "changes", [[BEGINS, ENDS, PART], [BEGINS, ELSEWHERE, ENDS]], ids=("afterwards", "elsewhere")
)
def test_what_is_no_part_of_a_bundle_being_split_may_be_ignored(changes):
    ignored = [index for index, one in enumerate(changes) if one in (PART, ELSEWHERE)]
    assert not outcome({WHOLE: OWNED}, changes, ignored).violated


def test_a_wider_bundle_is_no_part():
    changes = [change_of(LOWER, "splitting", source="a"), change_of(WHOLE, "owned", "a")]
    assert not outcome({LOWER: OWNED}, changes, [1]).violated
