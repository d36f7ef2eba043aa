"""The bundled specifications are valid."""

import re

import pytest
from pulsar_conformance import specs
from pulsar_conformance.specs import Specs, UnknownName
from pulsar_conformance.specs.broker import broker_settings


@pytest.fixture(scope="module")
def bundled() -> Specs:
    return specs.load()


def test_the_bundled_data_is_in_order(bundled: Specs) -> None:
    assert list(bundled.profiles) == [
        "documented-3.0",
        "documented-2.10",
        "documented-2.4",
        "unwritten-3.0",
        "documented-4.0",
        "documented-4.2",
        "documented-5.0",
        "released-2.4",
        "released-2.10",
        "released-3.0",
        "released-4.0",
        "released-4.2",
        "released-5.0",
    ]
    for profile in bundled.profiles:
        assert bundled.rules_of(profile)
        assert set(bundled.default_readings(profile)) == set(bundled.readings)
    assert [rule.id for rule in bundled.rules_of("unwritten-3.0")] == [
        "BUNDLE-11",
        "BUNDLE-12",
        "BUNDLE-13",
        "PLACE-14",
        "REPORT-08",
        "ANSWER-01",
        "ANSWER-02",
        "ANSWER-03",
        "ANSWER-04",
        "ANSWER-05",
        "ANSWER-06",
    ]


def test_rules_stand_in_the_order_of_their_areas(bundled: Specs) -> None:
    areas = [rule.area for rule in bundled.rules.values()]
    assert areas == sorted(areas, key=specs.AREAS.index)
    for area in set(areas):
        ids = [rule.id for rule in bundled.rules.values() if rule.area == area]
        assert ids == [f"{area}-{number:02}" for number in range(1, len(ids) + 1)]


def test_every_setting_of_a_config_rule_has_its_default(bundled: Specs) -> None:
    for rule in bundled.rules.values():
        if rule.area == "CONFIG":
            (setting,) = rule.settings
            for profile in rule.profiles:
                assert setting in bundled.defaults(profile)
    with_default = {name for name, one in bundled.settings.items() if one.defaults}
    claimed = {rule.settings[0] for rule in bundled.rules.values() if rule.area == "CONFIG"}
    assert claimed == {*with_default, *bundled.annotated}


def test_every_annotation_of_a_release_is_a_rule_about_its_default(bundled: Specs) -> None:
    for profile, release in (("documented-4.0", "4.0.7"), ("documented-5.0", "5.0.0-M1")):
        every = (rule for rule in bundled.rules_of(profile) if rule.area == "CONFIG")
        rules = [rule for rule in every if rule.settings[0] in bundled.annotated]
        known = {name: one.default(release) for name, one in broker_settings().items()}
        known |= bundled.profile(profile).defaults
        annotated = {name: known[name] for name in bundled.annotated if known[name] is not None}
        defaults = bundled.defaults(profile)
        assert {rule.settings[0]: defaults[rule.settings[0]] for rule in rules} == annotated


def test_defaults_and_readings_follow_the_profile(bundled: Specs) -> None:
    newest, older = bundled.defaults("documented-3.0"), bundled.defaults("documented-2.10")
    assert newest["loadBalancerCPUResourceWeight"] == 1
    assert "loadBalancerCPUResourceWeight" not in older
    assert older["loadBalancerOverrideBrokerNicSpeedGbps"] == ""
    assert bundled.defaults("documented-2.4") == {}
    released = bundled.defaults("released-3.0")
    assert released == {**released, **newest}
    assert released["loadBalancerHistoryResourcePercentage"] == 0.9
    assert "minUnloadMessage" not in released
    assert bundled.profile("released-3.0").hidden["minUnloadMessage"] == 1000
    assert bundled.ways_of("released-3.0")["threshold-amount"] == "over-limit"
    assert bundled.ways_of("documented-3.0")["threshold-amount"] == "below-average"
    assert bundled.default_readings("documented-3.0")["split-key"] == "default"
    assert bundled.default_readings("documented-2.10")["split-key"] == "supported"


def test_readings_choose_rules(bundled: Specs) -> None:
    margin, one = bundled.rules["OVERLOAD-02"], bundled.rules["OVERLOAD-05"]
    readings = bundled.default_readings("documented-3.0")
    assert margin.applies(readings)
    assert not one.applies(readings)
    assert one.applies({**readings, "overload-amount": "one"})


def test_unknown_names_are_reported_with_those_that_there_are(bundled: Specs) -> None:
    with pytest.raises(
        UnknownName, match=r"documented-9\.9 is not a profile; choose from documented-"
    ):
        bundled.profile("documented-9.9")
    with pytest.raises(UnknownName, match=r"overload-amont is not a reading; .*overload-amount"):
        bundled.check_readings({"overload-amont": "one"})
    with pytest.raises(
        UnknownName, match="two is not a value of overload-amount; choose from margin"
    ):
        bundled.check_readings({"overload-amount": "two"})
    bundled.check_readings({"overload-amount": "one"})


@pytest.mark.parametrize("name", ["documents", "settings", "readings", "profiles", "rules"])
def test_schemas_are_schemas(name: str) -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(specs.schema(name))


def test_no_reason_denies_documents_that_a_rule_rests_on(bundled: Specs) -> None:
    for rule in bundled.rules.values():
        denied = re.search(
            r"^(The documents (do not|name no)|No document (says|states))", rule.why or ""
        )
        assert not (rule.sources and denied), rule.id
