"""Settings under keys of YAML files that no program reads: each is named with its line."""

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

MANAGER = "loadManagerClassName"
SHEDDING = "loadBalancerSheddingEnabled"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
READ = f'configData: {{{SHEDDING}: "false"}}'


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "given.yaml"
        file.write_text(text)
        return read_settings(file)

    return reading


def named(found):
    return [(one.place.rpartition(":")[2], one.name, one.why) for one in found]


HELM = f"broker:\n  {READ}\n  additionalClusterConfigs:\n    {MANAGER}: a.B\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (HELM, "4", "broker.additionalClusterConfigs is not read; write it under broker.config"),
        (f"broker:\n  {READ}\n  {MANAGER}: a.B\n", "3", "broker is not read; write it under broke"),
        (f"pulsar:\n  broker:\n    {READ}\n    x:\n    - {MANAGER}: a.B\n", "5", "pulsar.broker.x"),
        (
            "services:\n  broker:\n    labels:\n"
            f"      {MANAGER}: a.B\n    environment:\n      {SHEDDING}: 'false'\n",
            "4",
            "services.broker.labels is not read; write it under environment",
        ),
        (
            f"kind: ConfigMap\nmetadata: {{name: broker}}\ndata: {{{SHEDDING}: 'false'}}\n"
            f"settings:\n  {MANAGER}: a.B\n",
            "5",
            "settings is not read; write it under data",
        ),
        (
            "kind: HelmRelease\nmetadata: {name: a}\nspec:\n  values:\n    broker:\n"
            f"      {READ}\n      extra:\n        {MANAGER}: a.B\n",
            "8",
            "spec.values.broker.extra is not read; write it under broker.configData",
        ),
        (
            "kind: Application\nmetadata: {name: a}\nspec:\n  source:\n    helm:\n"
            f"      valuesObject:\n        broker:\n          {READ}\n          {MANAGER}: a.B\n",
            "9",
            "broker is not read; write it under broker.configData",
        ),
    ],
)
def test_a_setting_under_a_key_that_is_not_read_has_no_effect(read, text, line, why):
    found = read(text)
    assert (found.values, found.unread) == ({SHEDDING: False}, ())
    [(place, name, said)] = named(found.without_effect())
    assert (place, name) == (line, MANAGER)
    assert said.startswith(why)


def test_the_settings_beside_one_that_is_not_read_are_counted(read):
    lines = ["maxMessageSize: 5", "clusterName: eu", f"{MANAGER}: a.B"]
    block = "".join(f"    {line}\n" for line in lines)
    found = read(f"broker:\n  {READ}\n  additionalClusterConfigs:\n{block}")
    [(_, _, said)] = named(found.without_effect())
    assert said.endswith("write it under broker.configData, like 2 other settings beside it")


@pytest.mark.parametrize("rest", ["", f"  {READ}\n"])
def test_the_commands_name_it(tmp_path, capsys, rest):
    file = tmp_path / "values.yaml"
    file.write_text(f"broker:\n  extra:\n    {MANAGER}: a.B\n{rest}")
    assert main(["settings", str(file), "--release", "3.0.7"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"without effect {MANAGER} ({file}:3): broker.extra is not read" in out
    assert any("broker.extra is not read" in one for one in read_settings(file).notes())


@pytest.mark.parametrize(
    "text",
    [
        f"kind: PulsarBroker\nmetadata: {{name: a}}\nspec:\n  extra: {{{MANAGER}: a.B}}\n"
        f"  config: {{custom: {{{SHEDDING}: 'false'}}}}\n",
        f"broker:\n  {READ}\n  variables: {{PULSAR_PREFIX_{MANAGER}: a.B}}\n",
    ],
)
def test_a_key_that_an_operator_or_a_chart_may_read_is_not_known(read, text):
    found = read(text)
    assert (found.values, found.without_effect()) == ({SHEDDING: False}, [])
    [(_, name, why)] = named(found.still_unknown())
    assert name == MANAGER
    assert "is not read; write it under" in why


@pytest.mark.parametrize(
    "other",
    [
        f"proxy: {{extra: {{{MANAGER}: a.B}}}}\n",
        f"pulsar-proxy: {{extra: {{{MANAGER}: a.B}}}}\n",
        f"book_keeper: {{x: {{zookeeper: {{{MANAGER}: a.B}}}}}}\n",
        "broker: {extra: {clusterName: eu, loadBalancerMood: good}}\n",
        "broker: {env: [{name: clusterName, value: eu}], service: {type: LoadBalancer}}\n",
    ],
)
def test_keys_of_other_components_and_other_settings_are_not_named(read, other):
    found = read(f"{other}---\nbroker: {{{READ}}}\n")
    assert (found.values, found.unused, found.unread) == ({SHEDDING: False}, (), ())


@pytest.mark.parametrize(
    "text",
    [
        f"common: &c\n  {SHEDDING}: 'false'\nbroker:\n  configData: *c\n",
        f"common: &c\n  {SHEDDING}: 'false'\nbroker:\n  configData:\n    <<: *c\n",
        f"x-common: &c\n  {SHEDDING}: 'false'\nservices: {{broker: {{environment: *c}}}}\n",
    ],
)
def test_an_anchor_of_settings_that_are_read_is_not_named(read, text):
    found = read(text)
    assert (found.values, found.unused, found.unread) == ({SHEDDING: False}, (), ())


def test_a_misplaced_setting_does_not_override_the_one_that_is_read(read):
    text = f"broker:\n  {READ}\n  extra: {{{SHEDDING}: 'true', {GRACE}: 5}}\n"
    found = read(text)
    assert found.values == {SHEDDING: False}
    assert {one.name for one in found.unused} == {SHEDDING, GRACE}


def test_services_that_differ_in_misplaced_settings_alone_are_one(read):
    one = f"environment: {{{SHEDDING}: 'false'}}"
    text = f"services:\n  a: {{{one}, labels: {{{GRACE}: 5}}}}\n  b: {{{one}}}\n"
    assert read(text).values == {SHEDDING: False}


AT_THE_TOP = f"""{SHEDDING}: true
brokerServicePurgeInactiveFrequencyInSeconds: 60
failureDomain:
  enabled: true
  domains:
    domain-az1: [broker-0, broker-1]
rack: {{a: 1}}
nothing: {{}}
"""


def test_keys_beside_settings_at_the_top_are_named_and_others_counted(read):
    """No setting of a broker is an object; failure domains are created with pulsar-admin."""
    found = read(AT_THE_TOP)
    assert found.values == {SHEDDING: True}
    assert found.others == 1
    assert named(found.still_unknown()) == [
        (
            "3",
            "failureDomain",
            "there is no such setting; the most similar name is failureDomainsEnabled",
        ),
        (
            "7",
            "rack",
            "it is not read: a setting of a broker has a single value, not a mapping or a list",
        ),
        (
            "8",
            "nothing",
            "it is not read: a setting of a broker has a single value, not a mapping or a list",
        ),
    ]


def test_settings_at_the_top_may_stand_beside_a_section_that_is_read(read):
    found = read(f"{SHEDDING}: true\nbroker:\n  configData: {{{GRACE}: 5}}\nzookeeper: {{a: 1}}\n")
    assert found.values == {SHEDDING: True, GRACE: 5}
    assert not found.still_unknown()
