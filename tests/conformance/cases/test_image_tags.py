"""Pulsar's version is taken from the image tags in Helm values and compose files."""

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.common.image_tags import image_tags

SETTINGS = "loadBalancerSheddingIntervalMinutes: 3"
COMPOSE = f"""
services:
  broker:
    image: {{}}
    environment:
      {SETTINGS}
"""


def found(tmp_path, text, name="values.yaml"):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return [(one.version, one.place.rpartition(":")[2]) for one in image_tags(file)]


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("apachepulsar/pulsar:4.0.8", "4.0.8"),
        ("apachepulsar/pulsar-all:3.0.7", "3.0.7"),
        ("mirror/pulsar:v2.10.5", "2.10.5"),
        ("pulsar:5.0.0-M1", "5.0.0-M1"),
    ],
)
def test_an_image_of_a_compose_file_names_the_version(tmp_path, image, version):
    assert found(tmp_path, COMPOSE.format(image)) == [(version, "4")]


@pytest.mark.parametrize(
    "image",
    ["apachepulsar/pulsar:latest", "pulsar", "pulsar@sha256:4f2", "acme:5000/bus:4.0.8"],
)
def test_the_version_of_other_images_is_not_known(tmp_path, capsys, image):
    assert found(tmp_path, COMPOSE.format(image)) == [("", "4")]
    assert main(["settings", str(tmp_path / "values.yaml")]) == 0
    err = capsys.readouterr().err
    assert f"4: the release of {image} is not known; give it with --release VERSION" in err
    assert main(["settings", str(tmp_path / "values.yaml"), "--release", "4.0.7"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("datastax/lunastreaming-all:2.10_5.0", "2.10"),
        ("streamnative/private-cloud:3.0.5.4", "3.0.5"),
        ("docker.io/streamnative/sn-platform:2.10.5.4", "2.10.5"),
        ("streamnative/pulsar:4.0.3.1", "4.0.3"),
        ("mirror:5000/pulsar:4.0.8@sha256:4f2", "4.0.8"),
    ],
)
def test_a_distribution_names_the_version_of_pulsar(tmp_path, capsys, image, version):
    text = f"kind: PulsarBroker\nmetadata: {{name: a}}\nspec:\n  image: {image}\n"
    file = tmp_path / "values.yaml"
    file.write_text(f"{text}  config: {{custom: {{{SETTINGS}}}}}\n", "utf-8")
    assert [one.version for one in image_tags(file)] == [version]
    assert main(["settings", str(file)]) in (0, 1)
    assert f"Pulsar {version}, according to its image" in capsys.readouterr().err


@pytest.mark.parametrize("image", ["apachepulsar/pulsar-manager:0.4.0", "redis:7.2.4"])
def test_images_of_other_services_do_not_count(tmp_path, image):
    text = COMPOSE.format("pulsar:4.0.8") + f"  manager: {{image: '{image}'}}\n"
    assert found(tmp_path, text) == [("4.0.8", "4")]


def test_the_image_of_the_broker_counts(tmp_path):
    values = """
defaultPulsarImageTag: 4.0.7
images:
  proxy: {repository: apachepulsar/pulsar-all, tag: 4.0.3}
  broker: {repository: apachepulsar/pulsar-all, tag: 3.0.7}
"""
    assert found(tmp_path, values) == [("3.0.7", "5")]
    assert found(tmp_path, values.replace("3.0.7", "''")) == [("4.0.7", "2")]
    proxy = COMPOSE.format("pulsar:3.0.7") + "  proxy: {image: 'pulsar:4.0.8'}\n"
    assert found(tmp_path, proxy) == [("3.0.7", "4")]
    pod = "kind: Pod\nmetadata: {name: a}\nspec:\n  initContainers: [{image: 'pulsar:4.0.8'}]\n"
    pod += "  containers:\n  - {name: x, image: 'pulsar:3.0.7'}\n  - {name: y, image: busybox}\n"
    assert found(tmp_path, pod) == [("3.0.7", "6")]


def test_the_tags_of_helm_values_name_the_version(tmp_path):
    values = """
defaultPulsarImageTag: 4.0.8
images:
  broker: {repository: apachepulsar/pulsar-all, tag: 4.0.8}
  prometheus: {repository: prom/prometheus, tag: v2.48.0}
"""
    assert found(tmp_path, values) == [("4.0.8", "4")]


@pytest.mark.parametrize(
    ("name", "text"), [("broker.conf", "image: pulsar:4.0.8"), ("a.yaml", "[")]
)
def test_no_version_is_found_in_other_files(tmp_path, name, text):
    assert found(tmp_path, text, name) == []


def test_settings_are_explained_for_the_version_of_the_image(tmp_path, capsys):
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE.format("apachepulsar/pulsar:3.0.7"), "utf-8")
    assert main(["settings", str(file)]) == 0
    out, err = capsys.readouterr()
    assert "in force, with the defaults of Pulsar 3.0.7" in out
    assert err == f"pulsar-conformance: Pulsar 3.0.7, according to its image ({file}:4)\n"
    assert main(["settings", str(file), "--release", "4.2.4"]) == 0
    out, err = capsys.readouterr()
    assert "in force, with the defaults of Pulsar 4.2.4" in out
    assert err == ""


def test_images_of_two_versions_need_a_choice(tmp_path, capsys):
    file = tmp_path / "compose.yaml"
    both = COMPOSE.format("pulsar:3.0.7") + "  second: {image: 'pulsar:4.0.8'}\n"
    both = both.replace("broker:", "first:")
    file.write_text(both, "utf-8")
    assert main(["settings", str(file)]) == 2
    err = capsys.readouterr().err
    assert f"images of Pulsar 3.0.7 ({file}:4) and 4.0.8 ({file}:7)" in err
    assert "--release VERSION" in err


def test_the_unknown_image_of_an_operator_is_named(tmp_path):
    text = "kind: PulsarCluster\nmetadata: {name: a}\nspec:\n  global: {image: 'own/bus:7'}\n"
    assert found(tmp_path, text) == [("", "4")]
    own = text + "  broker: {image: 'apachepulsar/pulsar:4.0.7'}\n  proxy: {image: 'x:1.2.3'}\n"
    assert found(tmp_path, own) == [("4.0.7", "5")]


@pytest.mark.parametrize(
    ("lines", "place"),
    [("images:\n  broker:\n    tag: 4.0.7\n", 3), ("broker:\n  image:\n    tag: 4.0.7\n", 3)],
)
def test_a_tag_alone_is_of_the_charts_own_image(tmp_path, capsys, lines, place):
    file = tmp_path / "values.yaml"
    whole = lines if lines.startswith("broker") else f"{lines}broker:\n"
    file.write_text(f"{whole}  configData:\n    loadBalancerEnabled: 'false'\n")
    main(["settings", str(file)])
    assert (
        f"Pulsar 4.0.7, according to its image ({file}:{place})"
        in capsys.readouterr().err.replace("\n  ", " ")
    )


def test_an_image_of_another_builder_may_have_changed_its_version(tmp_path, capsys):
    file = tmp_path / "compose.yaml"
    image = "streamnative/pulsar:2.9.2.17"
    file.write_text(
        f"services:\n  broker:\n    image: {image}\n    environment:\n"
        "      PULSAR_PREFIX_loadBalancerEnabled: 'false'\n"
    )
    main(["settings", str(file)])
    told = " ".join(capsys.readouterr().err.split())
    named = f"Pulsar 2.9.2, according to its image {image} ({file}:3)"
    assert f"{named}, whose builder may have changed it" in told
