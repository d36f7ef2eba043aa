"""A deviation's case is explained under the profile that it breaks, by the command in the lists."""

import json
import shlex
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reports.site.results import deviations_by_release

CASE = "fixtures/cases/shed.select/c5d006b9598a.json"
"""A case in which only Pulsar 4.2.4 breaks a rule, UNIFORM-05."""

COMMAND = f"pulsar-conformance explain {CASE} --judge-by documented-4.2"


def explained(capsys, *words):
    assert main(["explain", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_explain_first_names_the_profile_that_a_known_failure_breaks(capsys):
    profile, told, broken, command, *_ = explained(capsys, CASE)
    assert profile == "by documented-3.0"
    assert "known failure by other profiles" in told
    assert broken == "  UNIFORM-05 by documented-4.2 (pulsar 4.2.4)"
    assert command.strip() == COMMAND
    assert "known failure" not in "\n".join(explained(capsys, *shlex.split(COMMAND)[2:]))


@pytest.mark.parametrize(
    ("named", "is_told"), [("documented-4.2", False), ("documented-3.0", True), (None, True)]
)
def test_a_file_that_names_the_profile_of_the_failure_needs_no_other(
    named, is_told, tmp_path, capsys
):
    case = json.loads(fixtures.bundled_path(CASE).read_text("utf-8"))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**case, "profile": named}))
    assert (f"    {COMMAND}" in explained(capsys, str(file))) == is_told


def test_the_command_gives_the_readings_of_a_deviation():
    listed = [one for ones in deviations_by_release().values() for one in ones]
    [pinned, *_] = [one for one in listed if len(one.entry.get("readings", {})) > 1]
    for name, value in pinned.entry["readings"].items():
        assert f"--reading {name}={value}" in pinned.replays[0].explanation


@pytest.mark.parametrize("name", deviations_by_release())
def test_the_header_of_a_list_has_the_commands_of_its_first_case(name):
    folder = Path(fixtures.__file__).parent / "deviations"
    header = (folder / f"{name}.yaml").read_text("utf-8").partition("\n- rule:")[0].splitlines()
    first = deviations_by_release()[name][0]
    assert f"#   {first.replays[0].explanation}" in header
    assert f"#   {first.replays[0].command}" in header
    assert any(f", {first.entry['rule']}, " in line for line in header)
