"""`settings` lists values that are in force but hardly intended, with the effect of each."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.broker import broker_data, broker_settings, every_release
from pulsar_conformance.specs.judged import default_in_version, has_setting
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.odd_values import effects_of_value, odd_values

PACKAGE = "org.apache.pulsar.broker.loadbalance."
EXTENSIBLE = f"loadManagerClassName={PACKAGE}extensions.ExtensibleLoadManagerImpl"
SIMPLE = f"loadManagerClassName={PACKAGE}impl.SimpleLoadManagerImpl"
BANDWIDTH = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
NEGATIVE = "the limit overflows an int, and up to 4095 every bundle exceeds it"
OFF = "loadBalancerAutoBundleSplitEnabled=false"


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that runs `settings`: it returns status, JSON, and text on one line."""

    def tell(release, *lines):
        file = tmp_path / "broker.conf"
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        status = main(["settings", str(file), "--release", release])
        text = " ".join(capsys.readouterr().out.split())
        main(["settings", str(file), "--release", release, "--json"])
        return status, json.loads(capsys.readouterr().out), text

    return tell


# BundleSplitterTask and DefaultNamespaceBundleSplitStrategyImpl multiply by the int
# LoadManagerShared.MIBI in 3.0.0, 4.0.7 and 4.2.4, SimpleLoadManagerImpl by a long.
@pytest.mark.parametrize("release", ["2.10.5", "3.0.7", "4.2.4"])
@pytest.mark.parametrize(
    ("limit", "lines", "says"),
    [
        (2047, (), ""),
        (2048, (), NEGATIVE),
        (4095, (), NEGATIVE),
        (4096, (), "every bundle exceeds a remainder of 0 or above 2047"),
        (2048, (SIMPLE,), ""),
    ],
)
def test_a_limit_that_overflows_is_in_force_and_out_of_range(told, release, limit, lines, says):
    status, found, text = told(release, f"{BANDWIDTH}={limit}", *lines)
    assert found["inForce"][BANDWIDTH]["value"] == limit
    assert found["withoutEffect"] == []
    assert status == (1 if says else 0)
    assert f"out of range {BANDWIDTH} = {limit} " in text or not says
    assert says in text


def test_the_extensible_load_manager_overflows_too(told):
    assert NEGATIVE in told("3.0.7", f"{BANDWIDTH}=2048", EXTENSIBLE)[2]
    status, found, _ = told("3.0.7", f"{BANDWIDTH}=2048", OFF)
    assert (status, found["outOfRange"]) == (1, [])
    assert [one["name"] for one in found["withoutEffect"]] == [BANDWIDTH]


@pytest.mark.parametrize("command", ["case", "explain"])
def test_a_case_names_a_limit_that_overflows_among_odd_values(tmp_path, capsys, command):
    file = tmp_path / "broker.conf"
    file.write_text(f"{BANDWIDTH}=2048\n", "utf-8")
    reports = "fixtures/reports/three-brokers/modular"
    main([command, reports, "--conf", str(file), "--release", "3.0.7"])
    err = " ".join(capsys.readouterr().err.split())
    assert f"{BANDWIDTH}=2048: from 2048 MiB/s on, {NEGATIVE}" in err
    assert "without effect" not in err


def test_what_works_otherwise_than_meant_is_not_said_to_be_without_effect(told):
    name = "loadBalancerSheddingIntervalMinutes"
    _, found, text = told("4.2.4", f"{name}=0", EXTENSIBLE, "loadBalancerSheddingEnabled=false")
    assert f"out of range {name} = 0 " in text
    assert "an elected leader retries for ever" in found["inForce"][name]["remark"]
    name = "defaultNamespaceBundleSplitAlgorithm"
    status, found, text = told("4.2.4", f"{name}=specified_positions_divide")
    assert f"in force, but it fails {name} = specified_positions_divide " in text
    assert (status, found["withoutEffect"]) == (1, [])
    assert name in found["inForce"]


def test_nor_is_what_keeps_a_broker_from_starting(told):
    name = "loadBalancerHostUsageCheckIntervalMinutes"
    status, found, text = told("4.2.4", f"{name}=0")
    assert f"the broker does not start with these {name} " in text
    assert (status, found["withoutEffect"]) == (1, [])
    assert [one["name"] for one in found["doesNotStartWith"]] == [name]
    assert "without effect" not in text


OVERLOADED = "loadBalancerBrokerOverloadedThresholdPercentage"
POINTS = "loadBalancerBrokerThresholdShedderPercentage"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
REPORTED = "loadBalancerReportUpdateMaxIntervalMinutes"
SESSIONS = "loadBalancerNamespaceBundleMaxSessions"
SHEDDER = "loadBalancerLoadSheddingStrategy"
OVERLOAD, UNIFORM, AVERAGE = (
    f"{SHEDDER}={PACKAGE}impl.{one}Shedder" for one in ("Overload", "UniformLoad", "Avg")
)
AVERAGE_BOTH = (AVERAGE, f"loadBalancerLoadPlacementStrategy={PACKAGE}impl.AvgShedder")
RATE, TIMES = (
    "loadBalancerMsgRateDifferenceShedderThreshold",
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
)


# The code of 3.0.0, 4.0.7 and 4.2.4; specs/odd_values.yaml says where the reason is not plain.
@pytest.mark.parametrize(
    ("release", "line", "others", "says"),
    [
        ("4.2.4", f"{POINTS}=-5", (), "even brokers below the average usage are over the limit"),
        ("4.2.4", f"{POINTS}=150", (), "so ThresholdShedder sheds nothing"),
        ("4.2.4", f"{GRACE}=-30", (), "it counts as 0"),
        ("4.2.4", f"{GRACE}=-30", (SIMPLE,), "what follows is not known"),
        ("4.2.4", f"{REPORTED}=0", (), "a broker reports at each check"),
        ("4.2.4", f"{REPORTED}=0", (EXTENSIBLE,), "a broker reports at each check"),
        ("3.0.7", f"{OVERLOADED}=150", (), "so placement takes no broker for overloaded"),
        ("3.0.7", f"{OVERLOADED}=150", (OVERLOAD,), "so OverloadShedder sheds nothing"),
        ("3.0.7", f"{OVERLOADED}=150", (EXTENSIBLE,), "so no broker counts as overloaded"),
        ("3.0.7", f"{OVERLOADED}=-1", (), "placement takes every broker in use for overloaded"),
        ("2.9.1", f"{SESSIONS}=-1", (), "it does not switch the limit off"),
        ("4.2.4", "loadBalancerNamespaceBundleMaxTopics=-1", (), "it does not switch the limit"),
        ("4.2.4", "maxUnloadPercentage=20", (UNIFORM,), "it is a share"),
        ("4.2.4", "maxUnloadBundleNumPerShedding=0", (UNIFORM,), "only -1 means no limit"),
        ("4.2.4", f"{TIMES}=0.5", (UNIFORM,), "brokers never count as even"),
        ("4.2.4", "loadBalancerAvgShedderLowThreshold=140", AVERAGE_BOTH, "sheds nothing"),
        ("4.2.4", "loadBalancerBrokerLoadTargetStd=25", (EXTENSIBLE,), "shares of 1"),
        ("4.2.4", "loadBalancerBrokerMaxTopics=0", (EXTENSIBLE,), "no bundle finds an owner"),
        ("4.2.4", "loadBalancerOverrideBrokerNicSpeedGbps=10000", (), "it is in Gbit/s"),
    ],
)
def test_a_value_that_is_hardly_meant_is_out_of_range(told, release, line, others, says):
    status, found, text = told(release, line, *others)
    assert status == 1
    assert f"out of range {line.replace('=', ' = ')} " in text
    assert says in text
    assert line.partition("=")[0] in found["inForce"]


@pytest.mark.parametrize(
    ("release", "lines"),
    [
        ("4.2.4", (f"{GRACE}=0", f"{POINTS}=0", f"{OVERLOADED}=100")),
        ("3.0.7", (f"{SESSIONS}=-1", f"{POINTS}=50", f"{REPORTED}=1")),
        ("4.2.4", (UNIFORM, f"{RATE}=150", f"{TIMES}=0", "minUnloadMessage=0")),
        ("4.2.4", (UNIFORM, f"{RATE}=-1", "maxUnloadBundleNumPerShedding=-1")),
        ("4.2.4", ("loadBalancerReportUpdateThresholdPercentage=300",)),
        ("4.2.4", ("loadBalancerMaxNumberOfBundlesInBundleLoadReport=-1",)),
        ("4.2.4", ("loadBalancerOverrideBrokerNicSpeedGbps=100",)),
    ],
)
def test_a_value_with_a_meaning_is_not(told, release, lines):
    status, found, _ = told(release, *lines)
    assert (status, found["outOfRange"]) == (0, [])


# TransferShedder keeps the modular load manager from starting; the rest counts once it starts.
def test_values_are_out_of_range_beside_a_strategy_of_another_load_manager(told):
    transfer = "org.apache.pulsar.broker.loadbalance.extensions.scheduler.TransferShedder"
    strategy = f"loadBalancerLoadSheddingStrategy={transfer}"
    _, found, text = told("4.2.4", strategy, f"{GRACE}=-1", "loadBalancerBrokerMaxTopics=0")
    assert len(found["outOfRange"]) == 2
    assert "TransferShedder belongs to the extensible load manager" in text


def test_a_name_that_begins_another_is_misspelt(told):
    _, _, text = told("4.2.4", "flowOrQpsDifferenceThreshold=5", "clusterName=x")
    assert "the most similar name is flowOrQpsDifferenceThresholdPercentage" in text
    assert "not listed: 1 setting outside load balancing" in text


def test_what_is_not_in_force_is_not_out_of_range(told):
    _, found, _ = told("4.2.4", f"{POINTS}=150", OVERLOAD)
    assert (found["outOfRange"], [one["name"] for one in found["withoutEffect"]]) == ([], [POINTS])


def test_whether_a_value_is_odd_has_been_decided_for_every_number():
    documented = {name for name, one in load().settings.items() if one.range}
    documented |= {one.name for one in broker_settings().values() if one.replaces in documented}
    numbers = {one.name for one in broker_settings().values() if one.type in ("integer", "number")}
    assert numbers - {*odd_values(), *broker_data()["periods"], *documented} == set()
    assert odd_values().keys() <= broker_settings().keys()


def test_no_default_is_odd_whatever_is_in_force():
    parts = {one for way in load().ways.values() for one in way.parts}
    for release in every_release():
        for name, setting in broker_settings().items():
            if has_setting(setting, release):
                default = default_in_version(setting, release)
                assert [*effects_of_value(name, default, release, parts)] == [], (release, name)


def test_every_part_and_way_of_a_row_is_one_that_exists():
    known = {one for way in load().ways.values() for one in way.parts} | {"extensible"}
    for name, rows in odd_values().items():
        for row in rows:
            assert known.issuperset(row.parts), name
            assert all(one in load().ways[way].alternatives for way, one in row.ways.items()), name


# ServiceUnitStateChannelImpl refuses a delay that is shorter than the time that it waits.
@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (("loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds=20",), True),
        (("loadBalancerInFlightServiceUnitStateWaitingTimeInMillis=3600001",), True),
        (("loadBalancerServiceUnitStateTombstoneDelayTimeInSeconds=30",), False),
    ],
)
def test_two_periods_that_the_channel_refuses_keep_a_broker_from_starting(told, lines, named):
    status, found, _ = told("4.2.4", *lines, EXTENSIBLE)
    assert [one["name"] for one in found["doesNotStartWith"]] == [
        line.partition("=")[0] for line in lines if named
    ]
    assert status == named
    assert told("4.2.4", *lines)[1]["doesNotStartWith"] == []
