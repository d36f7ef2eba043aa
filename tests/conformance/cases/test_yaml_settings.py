"""Settings in YAML: the component that they belong to, and parts that are not read."""

from base64 import b64encode

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

INTERVAL = "loadBalancerSheddingIntervalMinutes"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
SHEDDING = "loadBalancerSheddingEnabled"


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "given.yaml"
        file.write_text(text, "utf-8")
        return read_settings(file)

    return reading


def compose(**services):
    return "services:\n" + "".join(f"  {name}: {text}\n" for name, text in services.items())


def service(settings, more=""):
    return f"{{{more}environment: {{{settings}}}}}"


def resource(kind, name, rest):
    return f"---\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}\n"


def config_map(name, settings):
    return resource("ConfigMap", name, f"data: {{{settings}}}")


def workload(name, container):
    pod = f"spec: {{template: {{spec: {{containers: [{container}]}}}}}}"
    return resource("StatefulSet", name, pod)


BROKER = service(f"{INTERVAL}: 5")
OTHER = f"{SHEDDING}: 'false'"


@pytest.mark.parametrize("name", ["pulsar-proxy", "zookeeper", "bookie1", "functions_worker"])
def test_services_named_after_other_components_are_left_out(read, name):
    assert read(compose(broker=BROKER, **{name: service(OTHER)})).values == {INTERVAL: 5}


@pytest.mark.parametrize("command", ["bin/pulsar proxy", "[bin/pulsar, bookie]"])
def test_services_that_run_other_components_are_left_out(read, command):
    edge = service(OTHER, f"command: {command}, ")
    assert read(compose(broker=BROKER, edge=edge)).values == {INTERVAL: 5}


def test_a_service_that_runs_a_broker_is_read_whatever_its_name(read):
    both = "command: bash -c 'bin/pulsar initialize-cluster-metadata && bin/pulsar broker', "
    assert read(compose(proxy=service(OTHER, both))).values == {SHEDDING: False}


def test_services_with_different_settings_are_refused(read):
    text = compose(one=BROKER, two=service(f"{INTERVAL}: 7"), three=service(OTHER))
    with pytest.raises(BadSetting, match="services one, two and three have different settings"):
        read(text)
    assert read(compose(one=BROKER, two=BROKER, rest="{image: x}")).values == {INTERVAL: 5}


@pytest.mark.parametrize("key", ["functions_worker", "functions-worker", "Pulsar_Manager"])
def test_helm_sections_of_other_components_are_left_out(read, key):
    text = f"{key}: {{configData: {{{OTHER}}}}}\nbroker: {{configData: {{{INTERVAL}: 5}}}}\n"
    assert read(text).values == {INTERVAL: 5}


@pytest.mark.parametrize("name", ["pulsar-bookie", "pulsar-zookeeper", "a-proxy", "zookeeper-0"])
def test_resources_of_other_components_are_left_out(read, name):
    own = config_map("pulsar-broker", f"{INTERVAL}: '5'")
    pod = workload(name, f"{{env: [{{name: {GRACE}, value: '9'}}]}}")
    assert read(own + config_map(name, OTHER) + pod).values == {INTERVAL: 5}


def test_config_maps_that_differ_are_refused(read):
    one, two = config_map("broker-a", f"{INTERVAL}: '5'"), config_map("broker-b", OTHER)
    with pytest.raises(
        BadSetting, match="resources ConfigMap broker-a and ConfigMap broker-b have different"
    ):
        read(one + two)
    names = "{configMapRef: {name: broker-a}}, {configMapRef: {name: broker-b}}"
    both = read(one + two + workload("broker", f"{{envFrom: [{names}]}}"))
    assert (both.values, both.unread) == ({INTERVAL: 5, SHEDDING: False}, ())


def test_the_environment_of_a_container_overrides_its_config_map(read):
    pod = workload("broker", f"{{env: [{{name: {INTERVAL}, value: '9'}}]}}")
    assert read(pod + config_map("broker", f"{INTERVAL}: '5'")).values == {INTERVAL: 9}


def sets(**each):
    text = "".join(f"      {name}: {{config: {{{one}}}}}\n" for name, one in each.items())
    config = f"    config: {{{INTERVAL}: 5}}\n"
    return (
        f"kind: PulsarCluster\nmetadata: {{name: a}}\nspec:\n  broker:\n    sets:\n{text}{config}"
    )


def test_sets_of_brokers_that_differ_are_refused(read):
    assert read(sets(eu=f"{INTERVAL}: 9")).values == {INTERVAL: 9}
    assert read(sets(eu=f"{INTERVAL}: 5", us="")).values == {INTERVAL: 5}
    with pytest.raises(BadSetting, match="broker sets eu and us have different settings"):
        read(sets(eu=f"{INTERVAL}: 9", us=""))


def test_merges_are_resolved_and_explicit_keys_win(read):
    anchors = f"x-a: &a {{{INTERVAL}: 5, {GRACE}: 6}}\nx-b: &b {{{GRACE}: 7, {SHEDDING}: 'true'}}\n"
    one = service(f"<<: [*a, *b], {SHEDDING}: 'false'")
    assert read(anchors + compose(broker=one)).values == {
        INTERVAL: 5,
        GRACE: 6,
        SHEDDING: False,
    }


def test_a_file_that_contains_itself_is_refused(read):
    with pytest.raises(BadSetting, match="contains itself"):
        read("a: &a {b: *a}")


@pytest.mark.parametrize("files", ["a.env", "[a.env]", "[{path: a.env}]"])
def test_environment_files_are_named(read, files):
    found = read(compose(broker=service(f"{INTERVAL}: 5", f"env_file: {files}, ")))
    [note] = found.notes()
    assert note.endswith(":2: env_file a.env: it is not read; give that file instead")


def test_environments_from_other_resources_are_named(read):
    env = f"env: [{{name: {INTERVAL}, value: '5'}}]"
    found = read(workload("broker", f"{{envFrom: [{{configMapRef: {{name: x}}}}], {env}}}"))
    [note] = found.notes()
    assert "ConfigMap x: envFrom names it, and it is not read" in note


def test_a_secret_of_the_same_file_is_decoded(read):
    def secret(data):
        pod = workload("broker", "{envFrom: [{secretRef: {name: x}}]}")
        return read(resource("Secret", "x", data) + pod)

    assert secret(f"data: {{{INTERVAL}: Nw==}}").values == {INTERVAL: 7}
    assert secret(f"stringData: {{{INTERVAL}: '7'}}").values == {INTERVAL: 7}
    whole = b64encode(f"{INTERVAL}=7\n".encode()).decode()
    assert secret(f"data: {{broker.conf: {whole}}}").values == {INTERVAL: 7}
    [one] = secret(f"data: {{{INTERVAL}: '7', {GRACE}: Nw==}}").unread
    assert (one.name, one.why) == (
        INTERVAL,
        "its value is not base64, as a Secret's data have to be",
    )


MOUNT = "volumeMounts: [{name: v, mountPath: /pulsar/conf/broker.conf, subPath: broker.conf}]"


def mounting(volume):
    env = f"env: [{{name: {INTERVAL}, value: '5'}}]"
    spec = f"containers: [{{{MOUNT}, {env}}}], volumes: [{{name: v, {volume}}}]"
    return resource("StatefulSet", "broker", f"spec: {{template: {{spec: {{{spec}}}}}}}")


@pytest.mark.parametrize(
    ("volume", "named"),
    [
        ("configMap: {name: x}", "ConfigMap x"),
        ("secret: {secretName: x}", "Secret x"),
        ("hostPath: {path: /etc}", "volume v"),
    ],
)
def test_mounts_in_place_of_the_settings_are_named(read, volume, named):
    [one] = read(mounting(volume)).unread
    why = "it is mounted at /pulsar/conf/broker.conf and not read; give that file instead"
    assert (one.name, one.why) == (named, why)
    assert read(mounting(volume).replace("/pulsar/conf/", "/pulsar/logs/")).unread == ()


def test_a_mounted_config_map_of_the_same_file_is_read(read):
    given = resource("ConfigMap", "x", f"data:\n  broker.conf: |\n    {GRACE}=9")
    found = read(given + mounting("configMap: {name: x}"))
    assert (found.values, found.unread) == ({INTERVAL: 5, GRACE: 9}, ())


@pytest.mark.parametrize(
    "volume", ["./b.conf:/pulsar/conf/broker.conf:ro", "{type: bind, target: /pulsar/conf}"]
)
def test_mounts_of_a_compose_file_are_named(read, volume):
    volumes = f"volumes: ['{volume}'], " if volume[0] == "." else f"volumes: [{volume}], "
    [one] = read(compose(broker=service(f"{INTERVAL}: 5", volumes))).unread
    assert "/pulsar/conf" in one.name
    assert one.why == "it is mounted and not read; give that file instead"


def test_values_from_elsewhere_are_named(read):
    source = "valueFrom: {configMapKeyRef: {name: x, key: y}}"
    env = f"{{name: {INTERVAL}, value: '5'}}, {{name: {SHEDDING}, {source}}}"
    [one] = read(workload("broker", f"{{env: [{env}]}}")).unread
    why = "its value comes from ConfigMap x and is not known"
    assert (one.name, one.why) == (SHEDDING, why)


@pytest.mark.parametrize(
    ("environment", "origin"),
    [
        (f"{{{INTERVAL}: 5, {SHEDDING}: }}", "the shell"),
        (f"[{INTERVAL}=5, {SHEDDING}]", "the shell"),
        (f"{{{INTERVAL}: 5, {SHEDDING}: '${{ON}}'}}", "the variable ON"),
    ],
)
def test_values_of_the_shell_are_named(read, environment, origin):
    found = read(compose(broker=f"{{environment: {environment}}}"))
    assert found.values == {INTERVAL: 5}
    [one] = found.unread
    assert (one.name, one.why) == (SHEDDING, f"its value comes from {origin} and is not known")


def test_an_unknown_value_replaces_an_earlier_one(read):
    found = read(compose(broker=service(f"{GRACE}: 1, {INTERVAL}: 5, PULSAR_PREFIX_{INTERVAL}: ")))
    assert (found.values, [one.name for one in found.unread]) == ({GRACE: 1}, [INTERVAL])


def test_defaults_of_variables_are_used(read):
    found = read(compose(broker=service(f"{INTERVAL}: '${{A:-${{B:-10}}}}', {GRACE}: '${{C-3}}'")))
    assert (found.values, found.unread) == ({INTERVAL: 10, GRACE: 3}, ())


def test_the_release_is_the_default_of_a_variable(tmp_path, capsys):
    file = tmp_path / "compose.yaml"
    image = "image: 'apachepulsar/pulsar:${{V{}}}', "
    file.write_text(compose(broker=service(f"{INTERVAL}: 5", image.format(":-4.0.7"))), "utf-8")
    assert main(["settings", str(file)]) == 0
    told = f"Pulsar 4.0.7, according to its image ({file}:2, the default of V)"
    assert told in capsys.readouterr().err
    file.write_text(compose(broker=service(f"{INTERVAL}: 5", image.format(""))), "utf-8")
    assert main(["settings", str(file)]) == 2
    assert "comes from V and is not known; give it with --release" in capsys.readouterr().err


def test_what_is_not_known_is_listed(tmp_path, capsys):
    file = tmp_path / "compose.yaml"
    file.write_text(compose(broker=service(f"{INTERVAL}: 5, {SHEDDING}: ")), "utf-8")
    assert main(["settings", str(file)]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"not known {SHEDDING} ({file}:2): its value comes from the shell" in out


def pod(*containers, more=""):
    text = f"spec: {{template: {{spec: {{{more}containers: [{', '.join(containers)}]}}}}}}"
    return resource("StatefulSet", "pulsar-broker", text)


def container(settings, name="x", image="apachepulsar/pulsar-all:3.0.7", more=""):
    each = (one.split(": ") for one in settings.split(", "))
    env = ", ".join(f"{{name: {key}, value: {value}}}" for key, value in each)
    return f"{{name: {name}, image: '{image}', {more}env: [{env}]}}"


def test_containers_that_do_not_run_the_broker_are_left_out(read):
    own, other = container(f"{INTERVAL}: '5'"), container(OTHER, "wait")
    assert read(pod(own, more=f"initContainers: [{other}], ")).values == {INTERVAL: 5}
    assert read(pod(own, container(OTHER, "sidecar", "busybox"))).values == {INTERVAL: 5}
    broker = container(f"{INTERVAL}: '5'", "broker", "registry/mine:7")
    assert read(pod(container(OTHER, "agent", "busybox"), broker)).values == {INTERVAL: 5}
    runs = container(f"{INTERVAL}: '5'", "main", "mine", "command: [bin/pulsar, broker], ")
    assert read(pod(other, runs)).values == {INTERVAL: 5}
    assert read(pod(f"{{name: x, env: [{{name: {INTERVAL}, value: '5'}}]}}", own)).unread == ()
    extra = f"broker: {{extraContainers: [{other}], configData: {{{INTERVAL}: 5}}}}\n"
    assert read(extra).values == {INTERVAL: 5}


@pytest.mark.parametrize(
    ("command", "applied"),
    [
        ("bin/pulsar broker", False),
        ("bash -c 'exec /pulsar/bin/pulsar broker'", False),
        ("bash -c './prepare.sh && bin/pulsar broker'", True),
        ("bash -c 'bin/apply-config-from-env.py conf/broker.conf && bin/pulsar broker'", True),
        ("[sh, -c, 'bin/apply-config-from-env-with-prefix.py P_ conf/broker.conf; exec it']", True),
    ],
)
def test_variables_count_if_the_command_applies_them(read, command, applied):
    image = "image: apachepulsar/pulsar:3.0.7, "
    compose_file = compose(broker=service(f"{INTERVAL}: 5", f"{image}command: {command}, "))
    listed = command if command.startswith("[") else f"['{command.replace(chr(39), '')}']"
    kubernetes = pod(container(f"{INTERVAL}: 5", more=f"command: {listed}, "))
    for text in (compose_file, kubernetes):
        found = read(text)
        assert found.values == ({INTERVAL: 5} if applied else {})
        assert bool(found.unused) is not applied
        assert applied or "the variable does not reach broker.conf" in found.unused[0].why
    own = compose_file.replace("apachepulsar/pulsar", "registry/own")
    assert read(own).values == {INTERVAL: 5}, "that image may have an entrypoint"


def test_a_config_map_does_not_count_if_the_command_does_not_apply_it(read):
    start = "image: apachepulsar/pulsar:3.0.7, command: [bin/pulsar, broker], "
    named = f"{{name: x, {start}envFrom: [{{configMapRef: {{name: a}}}}]}}"
    found = read(config_map("a", f"{INTERVAL}: '5'") + pod(named))
    assert (found.values, found.unread) == ({}, ())
    assert "bin/pulsar broker without bin/apply-config-from-env.py" in found.unused[0].why


def test_a_standalone_reads_a_file_of_its_own(read):
    run = "image: apachepulsar/pulsar:3.0.7, command: bash -c 'bin/apply-config-from-env.py "
    run += "conf/standalone.conf && bin/pulsar standalone', "
    found = read(compose(pulsar=service(f"{INTERVAL}: 5", run)))
    assert found.values == {INTERVAL: 5}
    assert "conf/standalone.conf, which turns load balancing off" in found.unread[0].why


def test_the_values_of_an_argo_application_are_read(read):
    text = f"""kind: Application
metadata: {{name: pulsar}}
spec:
  source:
    helm:
      valueFiles: [more.yaml]
      values: |
        broker:
          configData:
            {INTERVAL}: "17"
            {GRACE}: "6"
        proxy: {{configData: {{{GRACE}: 9}}}}
      parameters:
      - {{name: broker.configData.{INTERVAL}, value: "5"}}
      - {{name: proxy.configData.{SHEDDING}, value: "false"}}
"""
    found = read(text)
    assert found.values == {INTERVAL: 5, GRACE: 6}
    assert found.places[GRACE].endswith(":11")
    assert [one.why for one in found.unused] == [f"{found.places[INTERVAL]} overrides it"]
    assert [one.name for one in found.unread] == ["more.yaml"]
    other = "kind: Application\nspec: {source: {helm: {valuesObject: {broker: {configData: "
    assert read(f"{other}{{{SHEDDING}: false}}}}}}}}}}}}\n").values == {SHEDDING: False}


def test_a_text_with_settings_that_no_chart_applies_is_named(read):
    text = f"broker: {{configData: {{{INTERVAL}: 5}}}}\nmore:\n  config: |\n    {SHEDDING}=false\n"
    found = read(text)
    assert found.values == {INTERVAL: 5}
    assert f"its text has settings, such as {SHEDDING}, and is not read" in found.unread[0].why


@pytest.mark.parametrize(
    ("text", "value"),
    [("0x2", 2), ("30_000", 30000), ("010", 8), ("7", 7), ("'7'", 7), ("+5", 5)],
)
def test_numbers_of_yaml_are_written_out(read, text, value):
    assert read(f"broker: {{configData: {{{INTERVAL}: {text}}}}}\n").values == {INTERVAL: value}
    assert read(compose(broker=service(f"{INTERVAL}: {text}"))).values == {INTERVAL: value}


def test_words_are_booleans_in_charts_unless_they_are_quoted(read, tmp_path):
    assert read(f"broker: {{configData: {{{SHEDDING}: yes}}}}\n").values == {SHEDDING: True}
    quoted = tmp_path / "quoted.yaml"
    quoted.write_text(f"broker: {{configData: {{{SHEDDING}: 'yes'}}}}\n", "utf-8")
    found = read_settings(quoted, as_broker=True)
    assert found.values == {SHEDDING: False}
    assert "only true means true" in found.misread[0].why


OPERATED = """apiVersion: {group}/v1
kind: Broker
metadata: {{name: broker}}
spec: {{config: {{loadBalancerEnabled: "false"}}}}
"""


@pytest.mark.parametrize(
    ("group", "known"),
    [
        ("cluster.pulsaroperator.io", False),
        ("notstreamnative.io", False),
        ("pulsar.streamnative.io", True),
        ("kaap.oss.datastax.com", True),
        ("helm.toolkit.fluxcd.io", True),
        ("apps", True),
    ],
)
def test_an_operator_that_is_not_known_may_set_more(capsys, tmp_path, group, known):
    file = tmp_path / "broker.yaml"
    file.write_text(OPERATED.format(group=group), "utf-8")
    assert main(["settings", str(file), "--release", "4.0.7"]) == (0 if known else 1)
    out = " ".join(capsys.readouterr().out.split())
    assert (f"Broker of {group}" in out and "its operator is not known" in out) is not known
    assert "loadBalancerEnabled = false" in out
