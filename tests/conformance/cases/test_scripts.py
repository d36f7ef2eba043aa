"""Scripts and Terraform files with settings are refused as such, unless they only set variables."""

import pytest
from pulsar_conformance.conformance.cases.settings import BadSetting
from pulsar_conformance.conformance.cases.settings_files import read_settings
from pulsar_conformance.conformance.commands.main import main

SHEDDING = "loadBalancerSheddingEnabled"
VALUES = f'broker:\n  configData:\n    # {SHEDDING} in a comment\n    {SHEDDING}: "false"\n'
INSTALL = "helm install pulsar apache/pulsar \\\n    --values - <<"


@pytest.fixture
def read(tmp_path):
    def reading(text, name="deploy.sh"):
        file = tmp_path / name
        file.write_text(text)
        return read_settings(file)

    return reading


@pytest.mark.parametrize("begin", ["EOF", "'EOF'", '"EOF"', "\\EOF", "-EOF", " EOF | tee log"])
@pytest.mark.parametrize("name", ["deploy.sh", "deploy.bash", "deploy", "deploy.txt"])
def test_settings_in_a_here_document_are_refused_with_their_line(read, name, begin):
    text = f'#!/bin/bash\nVERSION="3.0.0"\n{INSTALL}{begin}\n{VALUES}EOF\n'
    with pytest.raises(BadSetting) as refused:
        read(text, name)
    assert f"{name}:8: {SHEDDING} is in a here-document" in str(refused.value)
    assert "save its text in a file of its own" in str(refused.value)


def test_a_here_document_without_assignments_around_it_is_refused_by_name(read):
    with pytest.raises(BadSetting, match="is in a here-document"):
        read(f"{INSTALL}EOF\n{VALUES}EOF\n", "deploy")


@pytest.mark.parametrize("suffix", ["tf", "hcl", "tfvars"])
def test_terraform_files_are_refused_by_name(read, suffix):
    text = f'resource "helm_release" "pulsar" {{\n  values = [<<-END\n{VALUES}  END\n  ]\n}}\n'
    with pytest.raises(BadSetting) as refused:
        read(text, f"pulsar.{suffix}")
    assert f"pulsar.{suffix}:6: {SHEDDING} is in a Terraform file" in str(refused.value)
    with pytest.raises(BadSetting, match="it is a Terraform file, which is not read"):
        read('name = "pulsar"\n', f"pulsar.{suffix}")


def test_the_command_refuses_a_script_in_one_message(tmp_path, capsys):
    file = tmp_path / "deploy.sh"
    file.write_text(f"{INSTALL}EOF\n{VALUES}EOF\n")
    assert main(["settings", str(file)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("here-document of a script")) == ("", 1)


@pytest.mark.parametrize("name", ["broker.sh", "broker.env", "broker"])
def test_a_script_that_exports_variables_is_read(read, name):
    text = (
        f"#!/bin/sh\nexport PULSAR_PREFIX_{SHEDDING}=false\ncat <<EOF\nstarting: the broker\nEOF\n"
    )
    assert read(text, name).values == {SHEDDING: False}


@pytest.mark.parametrize("name", ["values.yaml", "values"])
def test_a_here_document_in_a_command_of_a_yaml_file_is_no_script(read, name):
    text = f"{VALUES}  command: |\n    cat <<EOF > x\n    {SHEDDING}: true\n    EOF\n"
    assert read(text, name).values == {SHEDDING: False}


def test_shifts_and_unended_documents_are_no_here_documents(read):
    text = f"a=$((1 << width))\n{SHEDDING}=false\nb=x<<EOF\n"
    assert read(text, "broker").values == {SHEDDING: False}


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ('echo "loadBalancerEnabled=false" >> broker.conf', True),
        ("helm install --set broker.configData.loadBalancerEnabled=false pulsar", True),
        ("export PULSAR_PREFIX_loadBalancerEnabled=false", False),
        ("# echo loadBalancerEnabled=false\nexport PULSAR_PREFIX_loadBalancerEnabled=false", False),
    ],
)
def test_settings_in_commands_of_a_script_are_refused(tmp_path, line, refused):
    file = tmp_path / "deploy.sh"
    file.write_text(f"#!/bin/sh\n{line}\n", "utf-8")
    if refused:
        with pytest.raises(BadSetting, match=r"deploy\.sh:2: loadBalancerEnabled is in a command"):
            read_settings(file)
    else:
        assert read_settings(file).values == {"loadBalancerEnabled": False}
