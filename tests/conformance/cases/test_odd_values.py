"""`settings` lists values that are in force and hardly meant, and says what each does."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

PACKAGE = "org.apache.pulsar.broker.loadbalance."
EXTENSIBLE = f"loadManagerClassName={PACKAGE}extensions.ExtensibleLoadManagerImpl"
SIMPLE = f"loadManagerClassName={PACKAGE}impl.SimpleLoadManagerImpl"
BANDWIDTH = "loadBalancerNamespaceBundleMaxBandwidthMbytes"
NEGATIVE = "the limit overflows an int, and up to 4095 every bundle exceeds it"
OFF = "loadBalancerAutoBundleSplitEnabled=false"


@pytest.fixture
def told(tmp_path, capsys):
    """Return the status and the explanation of settings, as JSON and as text on one line."""

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
    assert f"the broker does not start with {name} " in text
    assert (status, found["withoutEffect"]) == (1, [])
    assert [one["name"] for one in found["doesNotStartWith"]] == [name]
    assert "without effect" not in text
