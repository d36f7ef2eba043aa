"""Variables of Ansible, and other YAML that is not known to be Helm values."""

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

SESSIONS = "loadBalancerNamespaceBundleMaxSessions"
SHEDDING = "loadBalancerSheddingEnabled"
VARIABLES = f"""
broker_conf_file: "{{{{ tgt_pulsar_inst_dir }}}}/conf/broker.conf"
misc_bookie_config_dict: {{ {SHEDDING}: 'true' }}
misc_broker_config_dict: {{
  systemTopicEnabled: 'true'
  , {SHEDDING}: False
  , {SESSIONS}: 0
}}
"""
UNKNOWN = f"settings:\n  {SESSIONS}: 0\n"
NOT_KNOWN = "it is not known what reads settings in this file; give the broker.conf that is made"


@pytest.fixture
def read(tmp_path):
    def reading(text):
        file = tmp_path / "all.yaml"
        file.write_text(text)
        return read_settings(file, as_broker=True)

    return reading


def test_a_dictionary_that_a_playbook_writes_into_the_file_is_read(read):
    found = read(VARIABLES)
    assert found.values == {SHEDDING: False, SESSIONS: 0}
    assert found.others == 1
    assert (found.unused, found.unread) == ((), ())


def test_a_value_from_a_template_is_not_known(read):
    found = read(f"misc_broker_config_dict: {{{SESSIONS}: '{{{{ n }}}}', {SHEDDING}: 'false'}}\n")
    assert found.values == {SHEDDING: False}
    [one] = found.still_unknown()
    assert (one.name, one.why) == (SESSIONS, "its value comes from a template and is not known")


@pytest.mark.parametrize("other", [f"{SHEDDING}: 'false'\n", "misc_broker_config_dict: {%s: no}\n"])
def test_an_unknown_dictionary_is_not_said_to_have_no_effect(read, other):
    other = other.replace("%s", SHEDDING)
    for text in (UNKNOWN + other, other + UNKNOWN):
        found = read(text)
        assert (found.values, found.without_effect()) == ({SHEDDING: False}, [])
        [one] = found.still_unknown()
        assert one.name == SESSIONS
        assert one.why.startswith(NOT_KNOWN)


def test_a_setting_that_it_may_override_is_undecided(read):
    other = f"{SHEDDING}: 'false'\n"
    for text in (f"{UNKNOWN}{SESSIONS}: 5\n{other}", f"{SESSIONS}: 5\n{other}{UNKNOWN}"):
        found = read(text)
        assert found.values == {SHEDDING: False}
        assert [one.name for one in found.still_unknown()] == [SESSIONS]


def test_expressions_of_ansible_distinguish_its_variables_from_values_of_helm(read):
    broker = f"broker:\n  extra:\n    {SESSIONS}: 0\n"
    for said in ("{{ home | d('/') }}", "{{ home }}", "{% if x %}1{% endif %}"):
        text = f'{SHEDDING}: "false"\ndata_dir: "{said}"\n{broker}'
        assert [one.name for one in read(text).still_unknown()] == [SESSIONS], said
    for said in ("{{ .Release.Name }}", "{{ include 'name' . }}"):
        found = read(f'{SHEDDING}: "false"\nname: "{said}"\n{broker}')
        assert [one.name for one in found.without_effect()] == [SESSIONS], said


def test_a_file_with_nothing_else_is_refused_with_the_reason(read):
    with pytest.raises(BadSetting, match=r"that can be read; .*:2: .*give the broker\.conf"):
        read(UNKNOWN)


def test_the_command_names_what_is_not_known(tmp_path, capsys):
    file = tmp_path / "all.yaml"
    file.write_text(f"{UNKNOWN}{SHEDDING}: 'false'\n")
    assert main(["settings", str(file), "--release", "4.0.7", "--all"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"not known {SESSIONS} ({file}:2): {NOT_KNOWN}" in out
    assert f"{SESSIONS} = " not in out
