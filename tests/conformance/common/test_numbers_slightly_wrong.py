"""Drawn cases show a slightly wrong number in the model, and the rule that states it fails."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings
from sampling import one_in
from standins.mistakes import (
    function_off,
    level_off,
    mistaken,
    number,
    placement_threshold_off,
    window_off,
)

PROFILE, EXAMPLES, SEED = "documented-3.0", 100, 7
MEASURES = [{"shed-measure": measure} for measure in ("throughput", "message-rate")]
TARGETS = [
    {"threshold-target": target, "threshold-released": released, **measure}
    for target, measure in zip(("points", "percent"), MEASURES, strict=True)
    for released in ("traffic", "usage")
]
BOUNDS = [{"lower-boundary": bound} for bound in ("average-minus-threshold", "average-minus-10")]
WINDOWS = [{"window": window} for window in ("sliding", "fading")]
OVER, UNDER = 0.5, -0.5

MISTAKES = [
    *(
        (rule, measure, number("overload", "MARGIN", margin))
        for rule, margin in (
            ("OVERLOAD-02", 4),
            ("OVERLOAD-02", 4.5),
            ("OVERLOAD-03", 5.5),
            ("OVERLOAD-03", 6),
        )
        for measure in MEASURES
    ),
    *(
        (rule, target, number("threshold", "BELOW_AVERAGE", below))
        for rule, below in (
            ("THRESHOLD-03", 4),
            ("THRESHOLD-03", 4.5),
            ("THRESHOLD-04", 5.5),
            ("THRESHOLD-04", 6),
        )
        for target in TARGETS
    ),
    *(
        (rule, bound, number("threshold", "LOWER_BOUNDARY_LOAD", load))
        for rule, load in (("THRESHOLD-10", 9), ("THRESHOLD-09", 11))
        for bound in BOUNDS
        if bound["lower-boundary"] != "average-minus-threshold"
    ),
    *(
        (rule, BOUNDS[1], level_off("bound", off))
        for rule, off in (("THRESHOLD-10", 1), ("THRESHOLD-09", -1))
    ),
    *(("DATA-02", window, window_off(off)) for off in (-1, 1) for window in WINDOWS),
    *(("DATA-04", {}, number("cluster", "NEVER_MEASURED_MESSAGES", rate)) for rate in (49, 51)),
    ("OVERLOAD-01", {}, function_off("overload", "threshold_of", OVER)),
    ("OVERLOAD-04", {}, function_off("overload", "threshold_of", UNDER)),
    ("OVERLOAD-10", {}, function_off("overload", "threshold_of", OVER)),
    ("OVERLOAD-10", {}, function_off("overload", "threshold_of", UNDER)),
    ("THRESHOLD-01", {}, level_off("threshold", OVER)),
    ("THRESHOLD-02", {}, level_off("threshold", UNDER)),
    ("PLACE-04", {}, placement_threshold_off(OVER)),
    ("PLACE-02", {}, placement_threshold_off(UNDER)),
    ("PLACE-09", {}, placement_threshold_off(OVER)),
    ("PLACE-10", {}, placement_threshold_off(OVER)),
    ("PLACE-10", {}, placement_threshold_off(UNDER)),
]


def cases_that_show(rule, readings, change, seed):
    """Return how many of the cases drawn for the rule show the mistake."""
    readings = {**readings, **specs.load().rules[rule].reading}
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE, readings))
    model = mistaken(change, PROFILE, readings)
    trials = draw_trials(rule, PROFILE, seed, EXAMPLES)
    answers = [[model.answer(*question) for question in trial.questions] for trial in trials]
    return sum(
        evaluator.judge(rule, trial, answer).violated
        for trial, answer in zip(trials, answers, strict=True)
    )


@pytest.mark.parametrize(("rule", "readings", "change"), one_in(3, MISTAKES))
def test_a_slightly_wrong_number_breaks_the_rule_that_states_it(rule, readings, change):
    assert cases_that_show(rule, readings, change, SEED)
