"""YAML files without the suffix of YAML files."""

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.common.image_tags import image_tags

INTERVAL = "loadBalancerSheddingIntervalMinutes"
COMPOSED = "services:\n  broker:\n    image: apachepulsar/pulsar:3.0.7\n"
VARIABLES = f"PULSAR_GC: -XX:MaxGCPauseMillis=10\nPULSAR_PREFIX_{INTERVAL}: '5'\n"


@pytest.mark.parametrize("name", ["env.tpl", "env", "env.txt", "env.conf"])
def test_yaml_is_recognised_by_its_lines_if_the_suffix_shows_nothing(tmp_path, name):
    file = tmp_path / name
    file.write_text(VARIABLES)
    assert read_settings(file).values == {INTERVAL: 5}
    file.write_text(COMPOSED)
    assert [one.version for one in image_tags(file)] == ([] if name == "env.conf" else ["3.0.7"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("broker.conf", f"{INTERVAL}: 5"),
        ("broker.properties", f"{INTERVAL} : 5"),
        ("broker.txt", f"{INTERVAL}=5\nbrokerName: a"),
        ("broker.tpl", f"PULSAR_PREFIX_{INTERVAL}=5"),
    ],
)
def test_properties_and_variables_are_not_taken_for_yaml(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text)
    assert read_settings(file).values == {INTERVAL: 5}


def test_a_template_is_refused_as_one(tmp_path):
    file = tmp_path / "env.tpl"
    file.write_text('{{- $direct := "" }}\n' + VARIABLES)
    with pytest.raises(BadSetting, match="a template"):
        read_settings(file)
