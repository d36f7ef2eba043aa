"""`settings FILE` without --to: deprecated names, and odd values beside a misspelt class."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl"
OLD_NAME, NEW_NAME = (f"loadBalancer{one}InResourceWeight" for one in ("Bandwith", "Bandwidth"))


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that explains settings as a release reads them."""

    def explain(release, *options, **settings):
        file = tmp_path / "broker.conf"
        file.write_text("\n".join(f"{name}={one}" for name, one in settings.items()), "utf-8")
        main(["settings", str(file), "--release", release, *options])
        out = capsys.readouterr().out
        return json.loads(out) if "--json" in options else " ".join(out.split())

    return explain


def test_a_name_that_is_deprecated_is_pointed_out(told):
    deprecated = f"deprecated: its name is now {NEW_NAME}"
    assert deprecated in told("4.2.4", **{OLD_NAME: "0.5"})
    assert told("4.2.4", "--json", **{OLD_NAME: "0.5"})["inForce"][OLD_NAME]["remark"] == deprecated
    assert "deprecated:" not in told("4.2.4", **{NEW_NAME: "0.5"})
    assert "deprecated:" not in told("3.0.7", **{OLD_NAME: "0.5"})


def test_a_deprecated_setting_without_a_successor_is_pointed_out(told):
    settings = {
        "loadManagerClassName": f"{PACKAGE}.SimpleLoadManagerImpl",
        "loadBalancerBrokerComfortLoadLevelPercentage": "50",
    }
    assert "the default is 65; deprecated)" in told("4.2.4", **settings)


@pytest.mark.parametrize("strategy", ["ThresholdShedder", "ThresholdShedderr"])
def test_odd_values_are_told_beside_a_misspelt_class(told, strategy):
    settings = {
        "loadBalancerLoadSheddingStrategy": f"{PACKAGE}.{strategy}",
        "loadBalancerBrokerOverloadedThresholdPercentage": "185",
        "loadBalancerSheddingIntervalMinutes": "-1",
    }
    text = told("4.2.4", **settings)
    assert ("in force once the broker starts" in text) is (strategy != "ThresholdShedder")
    assert "so placement takes no broker for overloaded" in text
    assert "cycles of shedding follow each other without a pause" in text


UNREADABLE = {"loadBalancerSheddingGracePeriodMinutes": "30m"}
SHEDDER = {"loadBalancerLoadSheddingStrategy": f"{PACKAGE}.TresholdShedder"}
LOAD_MANAGER = {"loadManagerClassName": f"{PACKAGE}.ModularLoadManagerImp"}
ONCE, SIMILAR = " once the broker starts", " once the broker starts with the most similar class"


@pytest.mark.parametrize(
    ("release", "settings", "once"),
    [
        ("3.0.7", UNREADABLE, ONCE),
        ("3.0.7", SHEDDER, ""),
        ("3.0.7", LOAD_MANAGER, ""),
        ("3.0.7", UNREADABLE | SHEDDER, ONCE),
        ("3.0.7", UNREADABLE | LOAD_MANAGER, ONCE),
        ("4.0.7", UNREADABLE | SHEDDER, ONCE),
        ("4.2.4", UNREADABLE, ONCE),
        ("4.2.4", SHEDDER, SIMILAR),
        ("4.2.4", UNREADABLE | SHEDDER, SIMILAR),
        ("4.2.4", UNREADABLE | LOAD_MANAGER, SIMILAR),
        ("4.2.4", UNREADABLE | {"loadBalancerLoadSheddingStrategy": f"{PACKAGE}.Qqq"}, ONCE),
    ],
)
@pytest.mark.parametrize("options", [(), ("--markdown",)])
def test_only_a_class_that_stops_the_broker_is_replaced_in_the_header(
    told, release, settings, once, options
):
    in_force = {"loadBalancerSheddingIntervalMinutes": "5"}
    text = told(release, *options, **settings, **in_force)
    assert f"in force{once}, with the defaults of Pulsar {release}" in text


def test_only_an_upgrade_that_was_asked_for_says_what_is_assumed_of_it(told):
    assumed = "Pulsar 5.0.0 is newer than 5.0.0-M1, whose behavior is assumed"
    settings = {"loadBalancerSheddingIntervalMinutes": "5"}
    text = told("4.2.4", **settings)
    assert "changes with Pulsar 5.0.0, of which only 5.0.0-M1 is known" in text
    assert assumed not in text
    assert assumed in told("4.2.4", "--to", "5.0.0", **settings)
