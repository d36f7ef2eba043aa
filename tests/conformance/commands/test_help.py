"""The help of every command: short lines, complete words, a text for each argument, and an
example.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.commands.completion import SHELLS
from pulsar_conformance.conformance.commands.main import COMMANDS, main, parser_of, whole_parser

WIDTH = 80
QUICK = (
    *("ask", "case", "explain", "new-adapter", "rules", "rule", "profiles", "readings"),
    *("settings", "schema", "completion"),
)
"""Commands whose help has examples that are run; examples of other commands are only parsed."""


def parsers(parser):
    """Yield a parser and the parsers of its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers(one)


@pytest.fixture(params=COMMANDS)
def command(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    return parser_of(request.param)


def test_every_line_of_help_fits_the_terminal(command):
    lines = [line for one in parsers(command) for line in one.format_help().splitlines()]
    assert [line for line in lines if len(line) > WIDTH] == []


@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_each_command_prints_the_help_of_its_parser(command, asked, capsys):
    with pytest.raises(SystemExit) as end:
        main([command.prog.split()[-1], asked])
    assert (end.value.code or 0, capsys.readouterr().out) == (0, command.format_help())


def test_help_breaks_no_word(command):
    for one in parsers(command):
        shown = one.format_help().split()
        texts = [action.help for action in one._actions if action.help and "%" not in action.help]
        assert [word for text in texts for word in text.split() if word not in shown] == []


def test_every_argument_has_a_text_and_every_act_a_purpose(command):
    for one in parsers(command):
        assert one.description
        assert [action.dest for action in one._actions if not action.help and action.metavar] == []


def test_help_ends_with_an_example_that_parses(command):
    for one in (*parsers(command), whole_parser()):
        shown = one.format_help().partition("\n\n")[2]
        examples = re.findall(r"^  pulsar-conformance (.*)$", shown, re.MULTILINE)
        assert examples, one.prog
        for example in examples:
            words = shlex.split(example.partition(" > ")[0])
            assert whole_parser(words[0]).parse_args(words).command == words[0]


def test_quick_examples_of_help_do_what_they_should(tmp_path, monkeypatch, capsys):
    (tmp_path / "fixtures").symlink_to(Path(fixtures.__file__).parent)
    monkeypatch.chdir(tmp_path)
    statuses = {
        example: main(shlex.split(example.partition(" > ")[0]))
        for name in QUICK
        for example in COMMANDS[name].examples
    }
    assert {example for example, status in statuses.items() if status} <= {
        example for example in statuses if example.startswith("settings fixtures")
    }, capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "rnu is not a command; did you mean run"),
        (
            ["run", "--exmples", "5"],
            "not an argument of run; did you mean --examples?",
        ),
        (
            ["simulate", "--release", "soon"],
            "not an argument of simulate; did you mean --profile?",
        ),
        (
            ["simulate", "--release", "4.2.1", "--world", "crash"],
            "not an argument of simulate; did you mean --profile released-4.2?",
        ),
        (
            ["simulate", "--world=crash", "--release=3.0"],
            "not an argument of simulate; did you mean --profile released-3.0?",
        ),
        (
            ["simulate", "--moves", "--smallest"],
            "--moves cannot be combined with --smallest, which always shows moves",
        ),
        (["rule", "OVERLOAD-02", "more"], "more is not an argument of rule; see "),
    ],
    ids=" ".join,
)
def test_a_mistyped_word_gets_one_line_with_the_nearest(words, said, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_and_names(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("new-adapter", "known-deviations", "documented-3.0", "shed.select"):
        assert word in script


def test_bash_completes_the_name_of_a_profile(tmp_path, capsys):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    typed = "pulsar-conformance rules --judge-by documented-2"
    asked = f"""source {script}
COMP_WORDS=({typed}); COMP_CWORD=3; COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}
_shtab_pulsar_conformance; echo "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True)
    assert done.stdout.split() == ["documented-2.10", "documented-2.4"], done.stderr


def test_the_example_of_an_operation_can_be_asked_and_explained(tmp_path, capsys):
    assert main(["schema", "shed.select", "--example"]) == 0
    shown = capsys.readouterr()
    case = tmp_path / "case.json"
    case.write_text(shown.out)
    assert main(["ask", "reference", str(case)]) == 0
    answered = capsys.readouterr().out.replace('":', '": ').replace(",", ", ").strip()
    assert shown.err == f"answer: {answered}\n"
    assert main(["explain", str(case)]) == 0
    assert "to shed" in capsys.readouterr().out


def test_help_starts_without_what_only_a_run_needs():
    program = "import sys; from pulsar_conformance.conformance.commands import main; "
    asked = (
        "main.whole_parser(); print(*(one for one in ('pytest', 'shtab') if one in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program + asked], capture_output=True, text=True)
    assert done.stdout.split() == []


GUIDE = Path(__file__).parents[3] / "reports/site/guides/every-command.md"
README = Path(__file__).parents[3] / "README.md"
REPORTS = "fixtures/reports/three-brokers/modular"


def guide_to(command):
    text = GUIDE.read_text("utf-8").partition(f"\n## {command}\n")[2].partition("\n## ")[0]
    return " ".join(text.split())


def test_a_newcomer_finds_that_settings_checks_a_broker_conf(capsys):
    for shown in (whole_parser(), parser_of("settings")):
        text = " ".join(shown.format_help().split())
        assert "check a broker.conf, also for an upgrade" in text
    readme = README.read_text("utf-8")
    assert "check a broker.conf, also for an upgrade" in readme
    assert "pulsar-conformance settings fixtures/reports/three-brokers/broker.conf" in readme


def test_the_guide_names_each_option_of_case_that_explain_lacks():
    known = {name for name in parser_of("case")._option_string_actions if name.startswith("--")}
    lacking = known - parser_of("explain")._option_string_actions.keys()
    assert lacking == {"--operation", "--reports"}
    text = guide_to("explain").partition("with the same options except ")[2].partition("explains")
    assert all(f"`{name}`" in text[0] for name in lacking)


def test_case_names_only_the_defaults_that_a_release_supplies_as_its_guide_says(capsys):
    assert "the defaults that a release supplies where the documents" in guide_to("case")
    assert main(["case", REPORTS]) == 0
    assert "is not set: explain assumes" not in " ".join(capsys.readouterr().err.split())
    assert main(["case", REPORTS, "--judge-by", "documented-3.0"]) == 0
    assert "is not set: explain assumes" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("guide", ["every-command.md", "audit-a-fleet.md"])
def test_guides_show_how_a_setting_is_removed(guide):
    rows = GUIDE.with_name(guide).read_text("utf-8").splitlines()
    about = [one for one in rows if one.startswith("| `--setting ") and "without a value" in one]
    assert about
    assert all("`NAME=`, without a value" in one for one in about)


@pytest.mark.parametrize("command", ["case", "explain", "fleet"])
def test_the_help_shows_how_a_setting_is_removed(command):
    said = parser_of(command)._option_string_actions["--setting"].help
    assert "NAME= removes" in said
