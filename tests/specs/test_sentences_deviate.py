"""Deviations that only few cases show are found in the cases drawn for their rule."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.drawing.drawing import draw
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reference.candidates import MAX_BUNDLES
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.splitting import RANGE, TOPICS
from pulsar_conformance.reference.threshold import SHEDDER_THRESHOLD

PROFILE = "documented-3.0"
DEFAULTS = specs.load().defaults(PROFILE)
MODEL = Model(PROFILE)
EXAMPLES = 100

WEIGHTS = [name for name in DEFAULTS if name.endswith("ResourceWeight")]


def breaks(rule, answer):
    """True if an implementation breaks the rule in one of 100 drawn cases."""
    evaluator = RuleEvaluator(DEFAULTS, Readings.of(PROFILE, specs.load().rules[rule].reading))
    share = -(-EXAMPLES // len(checks()[rule].parts))
    for part in checks()[rule].parts:
        for trial in draw(part, share, f"deviations/{rule}"):
            if trial_flaw(trial, DEFAULTS) is None:
                answers = [answer(*question) for question in trial.questions]
                if evaluator.judge(rule, trial, answers).violated:
                    return True
    return False


def seen_as(change):
    """Return the model, which answers `change(case)` in place of each case."""
    return lambda operation, case: MODEL.answer(operation, change(case))


def with_brokers(change):
    def changed(case):
        brokers = {name: change(case, one) for name, one in case["brokers"].items()}
        return {**case, "brokers": brokers}

    return seen_as(changed)


def threshold_of_ten(case):
    return {**case, "settings": {**case["settings"], SHEDDER_THRESHOLD: 10}}


def weighted(case, broker):
    """Return the broker's resources, weighted as for ThresholdShedder."""
    weight = {
        name.removeprefix("loadBalancer").removesuffix("ResourceWeight"): value
        for name, value in case["settings"].items()
        if name in WEIGHTS
    }
    names = {"CPU": "cpu", "Memory": "memory", "DirectMemory": "directMemory"}
    names |= {"BandwithIn": "bandwidthIn", "BandwithOut": "bandwidthOut"}
    lighter = {
        name: {**broker[name], "usage": broker[name]["usage"] * float(weight[key])}
        for key, name in names.items()
        if key in weight and name in broker
    }
    return {**broker, **lighter}


def remembered(_case, broker):
    """Return a broker whose usage is the highest that it ever had."""
    past = max(broker.get("usageHistory", ()), default=None)
    return broker if past is None else {**broker, "cpu": {"usage": past, "limit": 100}}


def stops_early(operation, case):
    """Split no bundle of a namespace that is within a few bundles of its maximum."""
    told = MODEL.answer(operation, case)
    most = int(case["settings"].get(MAX_BUNDLES, DEFAULTS[MAX_BUNDLES]))
    counts = case["namespaceBundles"]
    roomy = [one for one in told["split"] if counts[namespace_of(one)] < most - 3]
    return {"split": roomy, "unload": [one for one in told["unload"] if one in roomy]}


def many_by_range(operation, case):
    """Split by range instead of by topics if there are more than sixty topics."""
    if operation == "bundles.split" and len(case["topics"]) > 60:
        case = {**case, "algorithm": RANGE}
    return MODEL.answer(operation, case)


def always_by_topics(case):
    return {**case, "algorithm": TOPICS}


DEVIATIONS = {
    "the lower boundary by a fixed threshold": ("THRESHOLD-10", seen_as(threshold_of_ten)),
    "weights under OverloadShedder": ("OVERLOAD-01", with_brokers(weighted)),
    "history under OverloadShedder": ("OVERLOAD-04", with_brokers(remembered)),
    "topics near the maximum": ("SPLIT-01", stops_early),
    "sessions near the maximum": ("SPLIT-02", stops_early),
    "messages near the maximum": ("SPLIT-03", stops_early),
    "bandwidth near the maximum": ("SPLIT-04", stops_early),
    "more than sixty topics": ("SPLIT-11", many_by_range),
    "an algorithm that is named is ignored": ("SPLIT-17", seen_as(always_by_topics)),
}
"""For each deviation, the rule that it breaks, and the implementation."""


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_is_found(name):
    rule, answer = DEVIATIONS[name]
    assert breaks(rule, answer)


@pytest.mark.parametrize("rule", sorted({rule for rule, _ in DEVIATIONS.values()}))
def test_the_model_does_not_deviate(rule):
    assert not breaks(rule, MODEL.answer)
