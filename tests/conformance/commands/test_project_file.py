"""Options that a project keeps in `pulsar-conformance.toml` or `pyproject.toml`."""

import json

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.commands.project import with_project_options

OWN, PYPROJECT = "pulsar-conformance.toml", "pyproject.toml"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def added(folder, text, *words):
    """Return the options that a project file with this text adds to a command line."""
    (folder / OWN).write_text(text)
    found = with_project_options([OWN], words)
    return [one for one in found if one not in words]


def test_a_run_takes_what_the_project_file_holds_and_says_so(folder, capsys):
    (folder / PYPROJECT).write_text(
        '[tool.pulsar-conformance]\nadapter = "reference"\nseed = 7\nexamples = 1\n'
        'rules = ["OVERLOAD-01"]\nout = "results"\n'
    )
    assert main(["run"]) == 0
    first = json.loads((folder / "results" / "verdicts.jsonl").read_text().splitlines()[0])
    assert (first["seed"], first["examples"], first["rules"]) == (7, 1, ["OVERLOAD-01"])
    assert "options from pyproject.toml: --adapter=reference --seed=7" in capsys.readouterr().err


def test_the_command_line_overrides(folder):
    text = 'judge-by = ["documented-3.0"]\nadapter = ["sample:go", "sample:java"]\nseed = 7\n'
    assert added(folder, text, "run") == [
        "--judge-by=documented-3.0",
        "--adapter=sample:go",
        "--adapter=sample:java",
        "--seed=7",
    ]
    given = ("run", "--adapter", "reference", "--profile=documented-2.4", "--see", "3")
    assert added(folder, text, *given) == []


def test_options_of_pytest_override_nothing(folder):
    assert added(folder, "seed = 7", "run", "--", "--seed") == ["--seed=7"]


def test_tables_become_names_with_values(folder):
    text = "[settings]\nminUnloadMessage = 1000\nloadBalancerEnabled = true\n"
    assert added(folder, text, "run") == [
        "--setting=minUnloadMessage=1000",
        "--setting=loadBalancerEnabled=true",
    ]


def test_settings_go_with_the_adapter_that_takes_them(folder):
    text = 'adapter = "pulsar:3.0.7"\n[settings]\nminUnloadMessage = 1000\n'
    assert added(folder, text, "run", "--adapter=reference") == []
    setting = ["--setting=minUnloadMessage=1000"]
    assert added(folder, text, "run", "--adapter", "pulsar:4.2.4") == setting
    own = ("run", "--adapter", "pulsar:4.2.4", "--setting", "a=1")
    assert added(folder, text, *own) == []


def test_a_report_takes_its_part(folder):
    text = 'project = "mine"\ncontact = "me@example.org"\nout = "results"\nseed = 7\n'
    assert added(folder, text, "report", "make", "--project", "other") == [
        "--contact=me@example.org",
        "--out=results",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sed = 7", "sed is not a key of a project file; choose from adapter, judge-by, rules, "),
        ('seed = "7"', "seed takes a whole number, not '7'"),
        ("adapter = []", "adapter takes a string, or a list of strings, not []"),
        ("settings = 3", "settings takes a table of names and values, not 3"),
        ("seed = ", "it is not TOML: "),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(folder, capsys, text, said):
    (folder / OWN).write_text(text)
    assert main(["run"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"pulsar-conformance: {OWN}: {said}")
    assert len(error.splitlines()) == 1


def test_two_files_are_one_too_many(folder, capsys):
    (folder / OWN).write_text("seed = 7")
    (folder / PYPROJECT).write_text("[tool.pulsar-conformance]\nseed = 8\n")
    assert main(["run"]) == 2
    assert f"{OWN} and {PYPROJECT} both contain options" in capsys.readouterr().err


def test_a_pyproject_without_options_changes_nothing(folder, capsys):
    (folder / PYPROJECT).write_text("[tool.other]\nseed = 8\n")
    assert main(["rules", "OVERLOAD-02"]) == 0
    assert capsys.readouterr().err == ""
