"""A derivation gives the reason for a decision, in the unit that the decision compares."""

import json
from fractions import Fraction

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.transfer import too_soon_text

LEFT, RIGHT = "t/ns/0x00000000_0x40000000", "t/ns/0x40000000_0x80000000"
MINIMUM = "loadBalancerBundleUnloadMinThroughputThreshold"


@pytest.fixture
def explained(capsys):
    """Return a function that explains an example and returns the output as one line."""

    def told(name, *options):
        assert main(["explain", name, *options]) == 0
        return " ".join(capsys.readouterr().out.split())

    return told


def averages(megabytes, messages=1000):
    short = {"msgThroughputIn": megabytes * 1e6, "msgRateIn": messages, "numSamples": 10}
    return {"shortTermData": short, "longTermData": short}


def threshold_cycle(loads, unloaded, *, idle=10, **settings):
    """Return a cycle with a broker at 80 %, whose bundles have these MB/s, and an idle broker."""
    bundles = dict(zip((LEFT, RIGHT), map(averages, loads), strict=False))
    busy = {"cpu": {"usage": 80, "limit": 100}, "msgThroughputIn": sum(loads) * 1e6}
    brokers = {"busy": busy | {"bundles": [*bundles]}}
    brokers["idle"] = {"cpu": {"usage": idle, "limit": 100}, "bundles": []}
    case = {"strategy": "ThresholdShedder", "settings": settings, "brokers": brokers}
    return case | {"bundles": bundles, "recentlyUnloaded": unloaded}


def decision_on(case, broker="busy"):
    steps = iter(Model("documented-4.0").derive("shed.select", case).steps)
    next(step for step in steps if step.label == broker)
    return next(step.text for step in steps if step.label.strip() == "decision")


@pytest.mark.parametrize(
    ("loads", "unloaded", "reason"),
    [
        ((90, 10), {LEFT: 5, RIGHT: 5}, "may move none of its bundles, each unloaded within"),
        ((90, 9), {LEFT: 5}, "may move only bundles with 9 MB/s together, no more than 10 MB/s"),
        ((12, 6), {}, "would shed no more than 10 MB/s"),
        ((), {}, "has no bundles"),
    ],
)
def test_the_reason_is_the_one_that_decides(loads, unloaded, reason):
    told = decision_on(threshold_cycle(loads, unloaded))
    assert told.startswith(f"busy {reason}")
    assert (MINIMUM in told) == ("no more than" in told)


def test_the_busiest_broker_relieves_nobody_if_all_its_bundles_were_unloaded():
    settings = {"lowerBoundarySheddingEnabled": True}
    settings["loadBalancerBrokerThresholdShedderPercentage"] = 36
    case = threshold_cycle((90, 10), {LEFT: 5, RIGHT: 5}, idle=0, **settings)
    case["brokers"]["other"] = {"cpu": {"usage": 80, "limit": 100}, "bundles": []}
    told = decision_on(case)
    assert "busy is below 89.33 %, and for idle may move none of its bundles" in told
    assert "idle" not in decision_on(case, "other")


def test_an_example_in_which_nothing_may_move_says_so(explained):
    told = explained("threshold-smoothed-in-a-row")
    assert "each unloaded within the last 30 minutes: it keeps all" in told
    assert MINIMUM not in told


@pytest.mark.parametrize("name", ["overload-most-messages", "overload-95-over-85-one"])
def test_what_is_most_expensive_is_counted_in_the_unit_that_decides(explained, name):
    [example] = [one for one in fixtures.examples() if one.id == name]
    unit = {"message-rate": "msg/s", "throughput": "MB/s"}
    steps = explained(name).split("by the model,")[1]
    measure = example.readings.get("expensive-measure", "message-rate")
    other = next(text for key, text in unit.items() if key != measure)
    assert unit[measure] in steps
    assert other not in steps


def test_bundles_are_listed_in_the_order_of_what_decides(explained):
    steps = explained("overload-most-messages").split("by the model,")[1]
    assert steps.index("goes shop/eu") < steps.index("stays shop/eu")


@pytest.mark.parametrize(
    ("name", "passed", "delay"),
    [
        ("transfer-delay", 120, 180),
        ("transfer-early-data", 170, 180),
        ("transfer-within-the-delay", 180, 182),
    ],
)
def test_the_delay_after_an_unload_is_told_in_a_sentence(explained, name, passed, delay):
    needed = f"after its last unload; {delay} are needed (loadBalanceSheddingDelayInSeconds)"
    assert f"a reported its load {passed} seconds {needed}" in explained(name)


def test_load_data_from_before_the_unload_are_said_to_be():
    told = too_soon_text("a", Fraction(-5), Fraction(180))
    assert told.startswith("a has not reported its load since its last unload; 180 are needed")


def test_a_release_tells_which_bundles_are_swapped(explained):
    """In 4.2.4, a bundle of 600 KB/s exceeds 550 KB/s, and goes in exchange for one of 100 KB/s."""
    told = explained("transfer-twelve-percent", "--judge-by", "released-4.2")
    assert "(12 - 1) / 2 / 12 of 1.2 MB/s = 550 KB/s from a to d; a bundle beyond it" in told
    swapped = "from d to a, in exchange for shop/eu/0x01000000_0x02000000"
    assert told.count(swapped) == 3
    assert "5 settings have the defaults of released-4.2" in told
    assert "The answer by hand is different. Pulsar 4.2.4: A broker" in told


def test_boundaries_that_the_document_prints_otherwise_are_compared_with_it():
    """Each of the three examples says that the document averages hexadecimal digits as decimals."""
    cases = [one for one in fixtures.examples() if one.id.startswith("split-by-flow-case-")]
    assert len(cases) == 3
    for one in cases:
        printed = [line for line in one.arithmetic if line.startswith("printed: 0x")]
        assert len(printed) == 1, one.id
        assert "as if they were decimal" in printed[0]
        assert not json.dumps(one.arithmetic).count(" t4 ")


def test_an_example_is_explained_by_a_release_with_its_own_defaults(capsys):
    """The default of 4.2 is used, since the documents of its profile give no such setting."""
    words = ["explain", "--example", "transfer-deviation", "--judge-by", "released-4.2", "--all"]
    assert main(words) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "loadBalancerBrokerLoadTargetStd is not set: 0.25, the default of released-4.2" in told


def test_settings_that_a_profile_does_not_describe_are_named():
    [example] = [one for one in fixtures.examples() if one.id == "transfer-deviation"]
    with pytest.raises(saved.BadCase) as wrong:
        saved.derivations_for(example.id, Trial.asking(example.questions), Model("released-4.2"))
    assert "released-4.2 does not describe loadBalancerBrokerLoadTargetStd" in str(wrong.value)
    assert "add --judge-by documented-4.2" in str(wrong.value)


def test_the_bundle_that_stays_names_the_equal_one_that_goes(explained):
    readings = ("--reading", "shed-measure=message-rate")
    told = explained("shed-unmeasured-binary", *readings)
    stays = "stays shop/eu/0x40000000_0x80000000 = 100 msg/s, assumed as it was never measured, "
    equal = "shop/eu/0x00000000_0x40000000 carries as much and comes first by name"
    assert f"{stays}enough has gone; {equal}" in told
    assert "carries as much" not in explained("shed-unmeasured-binary")


def test_more_messages_than_a_half_are_said_not_to_be_limited():
    [(operation, case)] = fixtures.example_named("uniform-just-over-50-percent").questions
    changed = json.loads(json.dumps(case))
    changed["brokers"]["b1"]["msgRateIn"] = 66000
    for bundle, messages in zip(case["brokers"]["b1"]["bundles"], (50000, 16000), strict=True):
        changed["bundles"][bundle]["shortTermData"]["msgRateIn"] = messages
    in_messages = [
        {step.label.strip(): step.text for step in Model("documented-3.0").derive(*one).steps}
        for one in ((operation, case), (operation, changed))
    ]
    exceeded = "and what goes carries 16000 msg/s: more, but only bytes are limited"
    assert in_messages[0]["in messages"].endswith("what goes carries 10000 msg/s")
    assert in_messages[1]["in messages"].endswith(exceeded)


def test_the_only_candidate_left_is_not_called_the_least(explained):
    told = explained("place-only-one-at-the-threshold")
    assert "100 msg/s long-term, assumed as it was never measured threshold" in told
    assert "decision b1: the only one that is not left out" in told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "isolation-page-shared",
            "cluster.local:8080 primary for no namespace: shared may take it",
        ),
        (
            "isolation-page-secondary",
            "0 primary brokers, 1 needed: secondary ones may take it, too",
        ),
        ("isolation-page-primary", "1 primary broker, 1 needed: no secondary one takes it"),
    ],
)
def test_isolation_policies_are_applied_to_each_broker(explained, name, told):
    assert told in explained(name)


def test_an_empty_default_is_shown_as_empty_text(explained):
    assert 'loadBalancerOverrideBrokerNicSpeedGbps ""' in explained("config-nic-speed")
