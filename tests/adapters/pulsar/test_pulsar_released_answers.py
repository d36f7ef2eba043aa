"""Answers of every release on averages, reports, load managers, placement and anti-affinity."""

import importlib.util
import shutil

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar import versions

NEEDED = ("java", "mvn")
HERE = all(map(shutil.which, NEEDED)) and importlib.util.find_spec("jpype") is not None
pytestmark = [
    pytest.mark.pulsar,
    pytest.mark.skipif(not HERE, reason="needs Java, Maven and the extra pulsar"),
]

PROFILE = "documented-3.0"
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
WHOLE = "t/ns/0x00000000_0xffffffff"
LEFT, RIGHT = "t/ns/0x00000000_0x80000000", "t/ns/0x80000000_0xffffffff"


@pytest.fixture(scope="module", params=list(versions.releases()))
def release(request):
    with connect(f"pulsar:{request.param}", PROFILE, {}) as connection:
        yield connection


def asked(release, operation, **case):
    [answer] = release.ask(operation, [case])
    return answer


def since(release, *least):
    """True if the release is `least` or later."""
    return [int(one) for one in release.hello.version.partition("-")[0].split(".")] >= list(least)


def averaged(release, values, short=10, long=1000):
    samples = [dict.fromkeys(RATES, value) for value in values]
    case = {"samples": samples, "shortSamples": short, "longSamples": long}
    return asked(release, "average.bundle", **case)


def test_a_window_that_is_not_full_is_the_mean(release):
    found = averaged(release, [10, 20, 60])
    for frame in ("shortTermData", "longTermData"):
        assert found[frame]["msgRateIn"] == pytest.approx(30)
        assert found[frame]["numSamples"] == 3
    assert found["shortTermData"]["maxSamples"] == 10


def test_a_full_window_lets_old_samples_fade(release):
    found = averaged(release, range(1, 12))
    assert found["shortTermData"]["msgThroughputOut"] == pytest.approx(6.05)
    assert found["shortTermData"]["numSamples"] == 10
    assert found["longTermData"]["msgThroughputOut"] == pytest.approx(6)


def test_a_bundle_without_samples_counts_with_what_is_assumed(release):
    found = averaged(release, [])["longTermData"]
    assert [found[name] for name in RATES] == [50, 50, 50_000, 50_000]
    assert found["numSamples"] == 0


def average(rate, samples=10):
    return {**dict.fromkeys(RATES, rate), "numSamples": samples}


def test_a_broker_is_the_sum_of_its_bundles(release):
    """The sum is 7 messages plus 50, assumed for the bundle that was never measured. A bundle that
    the broker does not own does not count.
    """
    known = {"shortTermData": average(3), "longTermData": average(7)}
    bundles = {LEFT: known, "t/other/0x00000000_0xffffffff": known}
    found = asked(release, "average.broker", bundles=bundles, owned=[LEFT, RIGHT])
    assert found["longTermData"]["msgRateIn"] == 57
    assert found["shortTermData"]["msgThroughputIn"] == 50_003


def test_a_report_is_whose_its_type_says(release):
    usage = {"usage": 20.0, "limit": 80.0}
    stats = {WHOLE: {"msgRateIn": 2.0, "topics": 3, "producerCount": 1, "consumerCount": 4}}
    modular = {"cpu": usage, "bundles": [WHOLE], "lastStats": stats, "numTopics": 3}
    found = asked(release, "report.read", report={**modular, "loadReportType": "LocalBrokerData"})
    assert found["manager"] == "modular"
    assert found["broker"]["cpu"] == usage
    assert found["broker"]["bundles"] == [WHOLE]
    assert found["broker"]["lastStats"][WHOLE]["topics"] == 3
    simple = {"systemResourceUsage": {"memory": usage}, "bundleStats": stats, "underLoaded": True}
    found = asked(release, "report.read", report=simple)
    assert found["manager"] == "simple"
    assert found["broker"]["memory"] == usage
    assert "cpu" not in found["broker"]
    assert found["broker"]["numProducers"] == 1


def test_what_was_not_measured_is_not_there(release):
    unmeasured = {"usage": -1.0, "limit": -1.0}
    found = asked(release, "report.read", report={"bandwidthIn": unmeasured})
    assert "bandwidthIn" not in found["broker"]


def test_what_cannot_be_read_is_refused(release):
    found = asked(release, "report.read", report={"cpu": "busy"})
    assert "ResourceUsage" in found["refused"]


PACKAGE = "org.apache.pulsar.broker.loadbalance"
SIMPLE, MODULAR = (f"{PACKAGE}.impl.{name}LoadManagerImpl" for name in ("Simple", "Modular"))
EXTENSIBLE = f"{PACKAGE}.extensions.ExtensibleLoadManagerImpl"
DOCUMENTED_EXTENSIBLE = f"{PACKAGE}.impl.ExtensibleLoadManagerImpl"
FAIL_FAST = (4, 2, 4)


def manager(release, conf, dynamic=None):
    """Return the load manager that runs, or None if the name is refused."""
    return asked(release, "manager.choose", conf=conf, dynamic=dynamic).get("manager")


def test_broker_conf_names_the_manager(release):
    assert manager(release, SIMPLE) == "simple"
    assert manager(release, MODULAR) == "modular"
    assert manager(release, None) == "modular"
    assert manager(release, EXTENSIBLE) == ("extensible" if since(release, 3) else "simple")


@pytest.mark.parametrize("mistake", [DOCUMENTED_EXTENSIBLE, "com.acme.Absent", "java.lang.String"])
def test_a_mistake_gives_the_simple_one_or_no_broker(release, mistake):
    assert manager(release, mistake) == (None if since(release, *FAIL_FAST) else "simple")


def test_blanks_are_the_loaders_business(release):
    assert manager(release, "") == "modular"
    assert manager(release, f"{MODULAR} ") == ("modular" if since(release, 2, 10, 5) else "simple")


def test_a_dynamic_setting_decides(release):
    assert manager(release, MODULAR, SIMPLE) == "simple"
    assert manager(release, SIMPLE, MODULAR) == "modular"


def test_the_admin_api_turns_down_a_class_that_is_not_there(release):
    found = asked(release, "manager.choose", conf=MODULAR, dynamic="com.acme.Absent")
    assert "Invalid dynamic-config value" in found["refused"]


def broker(percent, *bundles):
    return {"cpu": {"usage": percent, "limit": 100}, "bundles": list(bundles)}


def placing(brokers, bundles=(), **more):
    case = {"settings": {}, "bundle": WHOLE, "candidates": list(brokers), "brokers": brokers}
    return {**case, "bundles": dict(bundles), "preallocated": {}, **more}


def carrying(rate):
    return {"longTermData": average(rate), "shortTermData": average(0)}


def test_the_least_long_term_rate_takes_it_whatever_the_usage(release):
    brokers = {"b1": broker(80, LEFT), "b2": broker(10, RIGHT)}
    case = placing(brokers, {LEFT: carrying(100), RIGHT: carrying(150)})
    assert asked(release, "place.select", **case) == {"broker": "b1"}


def test_what_is_preallocated_counts_and_what_was_never_measured(release):
    """b1's 90 messages are fewer than b2's assumed 100; with 20 preallocated, b1 has more."""
    brokers = {"b1": broker(0, LEFT), "b2": broker(0, RIGHT)}
    other = "t/other/0x00000000_0xffffffff"
    case = placing(brokers, {LEFT: carrying(45), other: carrying(10)})
    assert asked(release, "place.select", **case) == {"broker": "b1"}
    case = {**case, "preallocated": {"b1": [other]}}
    assert asked(release, "place.select", **case) == {"broker": "b2"}


def test_an_overloaded_broker_is_left_out(release):
    brokers = {"b1": broker(90), "b2": broker(50, LEFT)}
    case = placing(brokers, {LEFT: carrying(1000)})
    assert asked(release, "place.select", **case) == {"broker": "b2"}
    case["settings"] = {"loadBalancerBrokerOverloadedThresholdPercentage": 95}
    assert asked(release, "place.select", **case) == {"broker": "b1"}


def test_of_overloaded_brokers_each_takes_it_now_and_then(release):
    case = placing({name: broker(90) for name in ("b1", "b2", "b3")})
    answers = release.ask("place.select", [case] * 6)
    assert {one["broker"] for one in answers} == {"b1", "b2", "b3"}


def test_nobody_takes_it_where_nobody_may(release):
    assert asked(release, "place.select", **placing({})) == {"broker": None}


DOMAINS = {"d1": ["b1", "b2"], "d2": ["b3", "b4"]}
GROUPS = {f"t/n{number}": "g" for number in range(1, 6)}


def kept_apart(release, owned, **more):
    case = {"settings": {}, "domains": DOMAINS, "groups": GROUPS, "owned": owned}
    brokers = [name for names in DOMAINS.values() for name in names]
    found = asked(
        release,
        "place.anti_affinity",
        **{**case, "candidates": brokers, "namespace": "t/n5", **more},
    )
    assert found["broker"] in found["candidates"]
    return found["candidates"]


@pytest.mark.parametrize(
    ("owned", "candidates"),
    [
        ({}, ["b1", "b2", "b3", "b4"]),
        ({"b1": ["t/n1"]}, ["b3", "b4"]),
        ({"b1": ["t/n1"], "b3": ["t/n2"]}, ["b2", "b4"]),
        ({"b1": ["t/n1"], "b3": ["t/n2"], "b2": ["t/n3"]}, ["b4"]),
        ({"b1": ["t/n1", "t/n2"], "b3": ["t/n3"], "b4": ["t/n4"]}, ["b2"]),
    ],
)
def test_a_group_is_kept_apart(release, owned, candidates):
    assert kept_apart(release, owned) == candidates


def test_without_domains_brokers_are_levelled(release):
    owned = {"b1": ["t/n1"]}
    assert kept_apart(release, owned, domains={}) == ["b2", "b3", "b4"]
    off = {"failureDomainsEnabled": False}
    assert kept_apart(release, owned, settings=off) == ["b2", "b3", "b4"]


def test_a_namespace_of_no_group_goes_anywhere(release):
    found = kept_apart(release, {"b1": ["t/n1"]}, namespace="t/alone")
    assert found == ["b1", "b2", "b3", "b4"]
