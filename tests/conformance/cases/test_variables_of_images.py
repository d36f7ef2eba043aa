"""Environment variables of Pulsar's image: which need the prefix to reach broker.conf."""

from base64 import b64encode

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

UNLISTED = "minUnloadMessage"
LISTED = "loadBalancerSheddingIntervalMinutes"
BOTH = f'{{{UNLISTED}: "7", {LISTED}: "5"}}'
COMMAND = 'sh -c "bin/apply-config-from-env.py conf/broker.conf && bin/pulsar broker"'


@pytest.fixture
def read(tmp_path):
    def reading(text, name="given.yaml", release="4.2.4"):
        file = tmp_path / name
        file.write_text(text)
        return read_settings(file, release)

    return reading


def compose(image, command="", variables=BOTH):
    ran = f"command: {command}, " if command else ""
    return f"services: {{broker: {{{image}{ran}environment: {variables}}}}}\n"


def workload(container, name="broker"):
    spec = f"spec: {{containers: [{{name: broker, {container}}}]}}"
    return f"kind: StatefulSet\nmetadata: {{name: {name}}}\n{spec}\n"


def config_map(data):
    return f"---\nkind: ConfigMap\nmetadata: {{name: broker}}\ndata: {data}\n"


PULSAR = "image: 'apachepulsar/pulsar:4.2.4', "
FROM = "envFrom: [{configMapRef: {name: broker}}]"
ENV = f"env: [{{name: {UNLISTED}, value: '7'}}, {{name: {LISTED}, value: '5'}}]"
VALUES = f"broker: {{configData: {BOTH}}}\n"
RELEASE = "kind: HelmRelease\nmetadata: {name: a}\nspec: {values: {"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"export {UNLISTED}=7\nexport {LISTED}=5\nexport PULSAR_PREFIX_a=b\n", "broker.sh"),
        (f"{UNLISTED}=7\n{LISTED}=5\n", "broker.env"),
        (VALUES, "values.yaml"),
        (f"pulsar: {{{VALUES.strip()}}}\n", "values.yaml"),
        (f"{RELEASE}{VALUES.strip()}}}}}\n", "release.yaml"),
        (compose(PULSAR), "compose.yaml"),
        (compose(PULSAR.replace("pulsar:", "pulsar-all:"), COMMAND), "compose.yaml"),
        (compose("", COMMAND), "compose.yaml"),
        (workload(f"{PULSAR}{ENV}"), "pod.yaml"),
        (workload(f"{PULSAR}command: ['{COMMAND}'], {FROM}") + config_map(BOTH), "pod.yaml"),
    ],
)
def test_a_variable_that_broker_conf_lacks_needs_the_prefix(read, text, name):
    found = read(text, name)
    assert found.values == {LISTED: 5}
    [ignored] = found.unused
    assert ignored.name == UNLISTED
    assert "only if broker.conf lists them; write PULSAR_PREFIX_minUnloadMessage" in ignored.why
    assert ":" in ignored.place


OPERATOR = "kind: {}\nmetadata: {{name: a}}\nspec: {{{}}}\n"
SECRET = b64encode(b"7").decode()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"{UNLISTED}=7\n", "broker.conf"),
        (f'{{"{UNLISTED}": "7"}}', "runtime.json"),
        (f"PULSAR_PREFIX_{UNLISTED}=7\n", "broker.env"),
        (f"broker: {{configData: {{PULSAR_PREFIX_{UNLISTED}: '7'}}}}\n", "values.yaml"),
        (f"standalone: {{configData: {{{UNLISTED}: '7'}}}}\n", "values.yaml"),
        (f"broker: {{config: {{{UNLISTED}: '7'}}}}\n", "values.yaml"),
        (
            f"image: {{repository: datastax/lunastreaming}}\n"
            f"broker: {{configData: {{{UNLISTED}: '7'}}}}\n",
            "values.yaml",
        ),
        (OPERATOR.format("PulsarCluster", f"broker: {{config: {{{UNLISTED}: 7}}}}"), "kaap.yaml"),
        (
            OPERATOR.format("PulsarBroker", f"config: {{custom: {{{UNLISTED}: '7'}}}}"),
            "broker.yaml",
        ),
        (
            OPERATOR.format("Own", f"broker: {{configData: {{{UNLISTED}: '7'}}}}"),
            "operator.yaml",
        ),
        (compose("image: acme/broker, ", COMMAND, f"{{{UNLISTED}: '7'}}"), "compose.yaml"),
        (compose(PULSAR, "bin/start-our-broker", f"{{{UNLISTED}: '7'}}"), "compose.yaml"),
        (compose("", "", f"{{{UNLISTED}: '7'}}"), "compose.yaml"),
        (config_map(f"{{{UNLISTED}: '7'}}"), "map.yaml"),
        (
            workload(f"{PULSAR}{FROM}") + config_map(f"{{broker.conf: '{UNLISTED}=7'}}"),
            "whole.yaml",
        ),
        (
            f"kind: Secret\nmetadata: {{name: broker}}\ndata: {{{UNLISTED}: {SECRET}}}\n",
            "secret.yaml",
        ),
    ],
)
def test_what_is_no_variable_of_pulsars_image_counts(read, text, name):
    found = read(text, name)
    assert (found.values, found.unused) == ({UNLISTED: 7}, ())


def test_the_prefixed_variable_counts_beside_the_bare_one(read):
    found = read(f"{UNLISTED}=9\nPULSAR_PREFIX_{UNLISTED}=7\n", "broker.env")
    assert found.values == {UNLISTED: 7}
    assert [one.place.rpartition(":")[2] for one in found.unused] == ["1"]


def test_standalone_does_not_read_broker_conf(read):
    text = compose(PULSAR, "bin/pulsar standalone", f"{{{LISTED}: '5'}}")
    assert all("apply-config-from-env.py takes" not in one.why for one in read(text).unused)


@pytest.mark.parametrize(
    ("name", "release", "ignored"),
    [
        ("loadBalancerBandwithInResourceWeight", "3.0.7", False),
        ("loadBalancerBandwithInResourceWeight", "4.0.7", True),
        ("loadBalancerBandwidthInResourceWeight", "4.0.7", False),
        ("maxUnloadPercentage", "4.2.4", False),
        ("loadBalancerAvgShedderLowThreshold", "3.0.7", False),
        ("loadBalancerBrokerComfortLoadLevelPercentage", "2.10.5", True),
        ("loadBalancerBrokerComfortLoadLevelPercentage", "2.4.2", False),
        (UNLISTED, None, True),
        (UNLISTED, "5.0.0-M1", True),
        (UNLISTED, "5.0.1", False),
    ],
)
def test_the_release_says_which_variables_need_the_prefix(read, name, release, ignored):
    found = read(f"{name}=1\n", "broker.env", release)
    assert bool(found.unused) is ignored


def test_a_setting_that_the_release_lacks_has_one_reason(read):
    [unused] = read("loadBalancerSheddingExcludedNamespaces=a/b\n", "broker.env", "3.0.7").unused
    assert "has no such setting" in unused.why


def test_the_command_lists_it_without_effect(tmp_path, capsys):
    file = tmp_path / "values.yaml"
    file.write_text(VALUES)
    assert main(["settings", str(file), "--release", "4.0.7"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"without effect {UNLISTED} ({file}:1): bin/apply-config-from-env.py takes" in out
    assert f"{LISTED} = 5" in out


OLD, NEW = "loadBalancerBandwithInResourceWeight", "loadBalancerBandwidthInResourceWeight"


@pytest.mark.parametrize("name", ["broker.env", "values.yaml"])
@pytest.mark.parametrize(
    ("value", "instead"),
    [
        ("0.2", "and its default, 1.0, applies instead"),
        ("1.0", "and its value is also its default"),
    ],
)
def test_an_upgrade_names_a_variable_that_broker_conf_loses(tmp_path, capsys, name, value, instead):
    file = tmp_path / name
    variable = f"{OLD}={value}" if name.endswith("env") else f"{OLD}: '{value}'"
    file.write_text(variable if name.endswith("env") else f"broker: {{configData: {{{variable}}}}}")
    assert main(["settings", str(file), "--release", "3.0.7", "--to", "4.2.4"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert f"{OLD}: it loses its effect, {instead}: bin/apply-config-from-env.py takes" in out
    assert f"write PULSAR_PREFIX_{OLD}, or {NEW}, its new name" in out
    assert "the former name still works" not in out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"PULSAR_PREFIX_{OLD}=0.2", f"{OLD}: its name becomes {NEW}; the former name still works"),
        (f"{OLD}=0.2\n{NEW}=0.3", f"{OLD}: it loses its effect: bin/apply-config"),
        (f"PULSAR_PREFIX_{OLD}=0.2\n{NEW}=0.3", f"sets {NEW}, which is used instead"),
        (
            "loadBalancerSheddingExcludedNamespaces=a/b",
            "Pulsar 4.2.4 has this setting, but it has no effect: bin/apply-config-from-env.py",
        ),
    ],
)
def test_an_upgrade_reads_the_variables_as_the_new_release(tmp_path, capsys, text, expected):
    file = tmp_path / "broker.env"
    file.write_text(text)
    main(["settings", str(file), "--release", "3.0.7", "--to", "4.2.4"])
    assert expected in " ".join(capsys.readouterr().out.split())
