"""Commands and links of the pages for users: commands parse, and files and names exist."""

import argparse
import ast
import importlib
import io
import json
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest
import yaml
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.names import NAME_FORMS
from pulsar_conformance.conformance.cases.deviations import load_deviations
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.commands.main import (
    COMMANDS,
    main,
    module_of,
    parser_of,
)
from pulsar_conformance.conformance.commands.project import with_project_options
from pulsar_conformance.conformance.common.events import VerdictWord
from pulsar_conformance.conformance.engine.plan import OPTIONS
from standins.streams import PUBLISHED

ROOT = Path(__file__).parent.parent
GUIDES = sorted(
    file.relative_to(ROOT).as_posix() for file in (ROOT / "reports/site/guides").glob("*.md")
)
PAGES = ("README.md", "CONTRIBUTING.md", *GUIDES)
LONGEST = 200
"""Maximum number of lines of the README. Further content belongs in the guides."""
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
REPORTS = {
    "report": "allure",
    "examples": "pages.__main__",
    "coverage": "coverage",
    "site": "site.__main__",
    "fixtures": "archive",
}
"""Module of `reports` that each session runs."""
SESSIONS = re.findall(
    r"^@nox\.session.*\ndef (\w+)", (ROOT / "noxfile.py").read_text(), re.MULTILINE
)


def text(page):
    return (ROOT / page).read_text("utf-8")


def fences(page):
    """Yield each code block: its language, the file that readers should write, and its content."""
    return FENCE.findall(text(page))


def commands(page):
    """Yield each command in a shell block: its words, without comment and redirection."""
    for language, _, content in fences(page):
        for line in content.splitlines() if language == "sh" else ():
            for command in line.split("&&"):
                words = shlex.split(re.split(" [<>] ", command)[0], comments=True)
                if words and words[0] not in (
                    ".",
                    "cd",
                    "curl",
                    "mkdir",
                    "pip",
                    "javac",
                    "mvn",
                    "python3",
                    "spark-submit",
                    ".venv/bin/pip",
                ):
                    yield words


COMMANDS_THERE = [(page, words) for page in PAGES for words in commands(page)]


def parsed(words):
    """Return the parsed arguments of a command of the suite; SystemExit if they are invalid."""
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers(required=True)
    for name in COMMANDS:
        module_of(name).add_arguments(subparsers.add_parser(name))
    return parser.parse_args(words)


def everything():
    """Return the joined text of all pages."""
    return "\n".join(map(text, PAGES))


INLINE = re.compile(r"`((?:pulsar-conformance|nox -s) [^`{]+)`")
PLACEHOLDERS = {"ID": "overload-95-over-85", "OPERATION": "shed.select", "VERSIONS": "3.0.7"}
"""Placeholders of commands within sentences, each with an example."""
OPEN = {"OPTIONS", "PARTS", "RESULTS", "COMMAND"}
"""Placeholders that stand for any arguments."""
SENTENCES = (
    *PAGES,
    "ARCHITECTURE.md",
    "adapters/samples/README.md",
    "reports/examples/README.md",
    *sorted(str(one.relative_to(ROOT)) for one in (ROOT / "reports/site/templates").glob("*.md.*")),
)


def inline(page):
    """Yield each command that is in a sentence, or indented in a list."""
    for found in INLINE.findall(" ".join(text(page).split())):
        yield shlex.split(found)
    for line in re.findall(r"^    (pulsar-conformance .*)$", text(page), re.MULTILINE):
        yield shlex.split(line)


def helped():
    """Yield each command that the help of a command shows."""
    for name in COMMANDS:
        said = " ".join(parser_of(name).format_help().split())
        for found in re.findall(r"[`'\"](pulsar-conformance [a-z][^`'\"]*)[`'\"]", said):
            yield f"{name} --help", shlex.split(found)


LINKING = (
    *PAGES,
    *("ARCHITECTURE.md", "CHANGELOG.md", "SECURITY.md", "reports/site/reference/protocol.md"),
    *("adapters/junit/README.md", "adapters/samples/README.md"),
    *sorted(one.relative_to(ROOT).as_posix() for one in (ROOT / "reports").glob("*/README.md")),
    *sorted(one.relative_to(ROOT).as_posix() for one in (ROOT / "reports/changes").glob("*.md")),
)
"""Pages whose links must work in the repository."""

WITHIN = [(page, words) for page in SENTENCES for words in inline(page)] + list(helped())


def test_the_readme_is_short():
    assert len(text("README.md").splitlines()) <= LONGEST


def test_the_rules_that_releases_break_are_counted_from_the_published_reports():
    shown = re.search(r"3\.0\.7 break\s(\d+) of the (\d+) rules", text("README.md"))
    files = sorted((ROOT / "reports/published").glob("pulsar-*-documented-3.0.json"))
    counts = {}
    for file in files:
        summary = json.loads(file.read_text("utf-8"))["summary"]
        broken = summary["known_deviation"] + summary.get("fail", 0)
        counts[file.name.split("-")[1]] = broken, summary["pass"] + broken
    assert counts["3.0.7"] == tuple(map(int, shown.groups()))
    assert all(0.18 < broken / applying < 0.24 for broken, applying in counts.values())


def test_the_decisions_of_two_releases_are_those_shown(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    [shown] = [one for _, _, one in fences("README.md") if one.startswith("Pulsar 3.0.7\n")]
    reports = "fixtures/reports/full-direct-memory"
    for part in shown.split("Pulsar ")[1:]:
        release, *lines = part.splitlines()
        assert main(["explain", reports, "--release", release]) == 0
        explained = [line.strip() for line in capsys.readouterr().out.splitlines()]
        assert [line for line in lines if line.strip() not in explained] == []


def test_every_guide_is_named_in_the_readme():
    assert [guide for guide in GUIDES if guide not in text("README.md")] == []


def test_every_command_of_the_suite_is_shown():
    shown = {words[1] for _, words in COMMANDS_THERE if words[0] == "pulsar-conformance"}
    assert shown == set(COMMANDS)


def test_every_session_is_shown():
    shown = {words[2] for _, words in COMMANDS_THERE if words[0].endswith("nox")}
    assert shown == set(SESSIONS)


def test_every_option_of_a_run_is_explained_and_shown():
    used = {word for _, words in COMMANDS_THERE for word in words}
    for option in OPTIONS:
        assert f"| `{option}" in everything()
        assert option in used


def test_every_verdict_is_explained():
    explained = re.findall(r"^\| `(\w+)` \|", everything(), re.MULTILINE)
    assert set(explained) >= set(get_args(VerdictWord))


@pytest.mark.parametrize(("page", "words"), WITHIN, ids=lambda words: " ".join(words))
def test_a_command_within_a_sentence_can_be_given(page, words):
    left = [PLACEHOLDERS.get(word, word) for word in words if word not in OPEN]
    if left[:1] == ["pulsar-conformance"] and (len(left) == 2 or "--help" in left):
        assert left[1:] == ["--help"] or left[1] in COMMANDS
    elif left[:2] == ["pulsar-conformance", "report"] and len(left) == 3:
        assert left[2] in parser_of("report").format_help()
    elif left[0] == "nox" and left[-1] == "--":
        assert left[2] in SESSIONS
    else:
        given(left)


@pytest.mark.parametrize(("page", "words"), COMMANDS_THERE, ids=lambda words: " ".join(words))
def test_a_command_can_be_given(page, words):
    given(words)


@pytest.mark.parametrize("file", PUBLISHED, ids=str)
def test_the_command_of_a_published_report_can_be_given(file):
    given(shlex.split(json.loads(file.read_text("utf-8"))["command"]))


def given(words):
    """Parse a command as its program would, and check that all that it names exists."""
    program, *rest = words
    if program.endswith("nox"):
        assert rest[:1] == ["-s"]
        assert rest[1] in SESSIONS
        if rest[1] == "conformance":
            check(parsed(["run", *rest[3:]]))
        elif rest[1] in REPORTS:
            module = REPORTS[rest[1]]
            importlib.import_module(f"pulsar_conformance.reports.{module}")._arguments(rest[3:])
    else:
        assert program.removeprefix(".venv/bin/") == "pulsar-conformance"
        check(parsed(rest))


def check(args):
    """Check that the profiles, readings, rules, adapters and files in arguments exist."""
    given = vars(args)
    every = specs.load()
    profiles = [*(given.get("conformance_judge_by") or ()), given.get("profile")]
    for profile in filter(None, profiles):
        every.profile(profile)
    readings = [*(given.get("conformance_reading") or ()), *(given.get("reading") or ())]
    every.check_readings(dict(reading.split("=") for reading in readings))
    single = [given[name] for name in ("adapter",) if name in given]
    for adapter in [*single, *given.get("adapters", ()), *(given.get("conformance_adapter") or ())]:
        kind, _, rest = adapter.partition(":")
        assert kind in NAME_FORMS
        if kind == "exec":
            assert (ROOT / shlex.split(rest)[-1]).exists()
    given_settings(given.get("setting") or ())
    for place in (given.get("reports"), given.get("bundle_data"), given.get("conf")):
        assert place is None or (ROOT / place).exists()
    if isinstance(example := given.get("example"), str):
        assert example in {one.id for one in fixtures.examples()}
    if file := given.get("conformance_known_deviations"):
        assert file in written() or (ROOT / file).exists()


def written():
    """Return the content of each file that the pages tell readers to write."""
    return {file: content for page in PAGES for _, file, content in fences(page) if file}


def every_fence():
    return [fence for page in PAGES for fence in fences(page)]


@pytest.mark.parametrize("name", ["known-deviations.yaml", "heap-memory.yaml"])
def test_the_known_deviations_shown_can_be_used(name, tmp_path):
    file = tmp_path / name
    file.write_text(written()[name])
    assert load_deviations(file)


def test_the_cases_shown_get_the_answers_shown(monkeypatch, capsys):
    cases = written()["cases.jsonl"].encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(cases)))
    assert main(["ask", "reference"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shown = [
        [json.loads(line) for line in content.splitlines()]
        for language, _, content in every_fence()
        if language == "text" and content.startswith("{")
    ]
    assert said in shown


def test_from_reports_to_the_derivation_shown(tmp_path, monkeypatch, capsys):
    making, explaining = next(
        [line.partition(" > ")[0].split() for line in content.splitlines()]
        for language, _, content in every_fence()
        if language == "sh"
        and content.startswith("pulsar-conformance case")
        and "explain" in content
    )
    monkeypatch.chdir(ROOT)
    assert main(making[1:]) == 0
    case = tmp_path / explaining[-1]
    case.write_text(capsys.readouterr().out, "utf-8")
    assert main(["explain", str(case)]) == 0
    assert ("text", "", capsys.readouterr().out) in every_fence()


def test_the_skeleton_can_be_had_and_tried_as_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new-adapter", "--lang", "python", "--to", "mine"]) == 0
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["check", "python:my_balancer:MyBalancer"]) == 0
    assert "follows the protocol" in capsys.readouterr().out


@pytest.mark.parametrize("page", LINKING)
def test_every_link_of_a_page_in_the_repository_leads_to_a_file(page):
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", text(page))
    folder = (ROOT / page).parent
    assert [link for link in links if not (folder / link).exists()] == []


PARSERS = {
    "json": json.loads,
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": lambda content: list(yaml.safe_load_all(content)),
}


@pytest.mark.parametrize("page", PAGES)
def test_every_file_shown_can_be_read(page):
    for language, _, content in fences(page):
        PARSERS.get(language, str)(content)


def test_the_clauses_shown_are_those_of_the_rule():
    [shown] = [
        yaml.safe_load(content)["clauses"]
        for language, _, content in fences("CONTRIBUTING.md")
        if language == "yaml" and "clauses:" in content and "statement" not in content
    ]
    rule = specs.load().rules["OVERLOAD-02"]
    there = [(one.says, one.broken_by, one.most) for one in rule.clauses]
    assert [(one["says"], one["broken_by"], one["most"]) for one in shown] == there


def test_the_rule_shown_is_the_rule_there_is():
    shown = next(
        yaml.safe_load(content)[0]
        for language, file, content in fences("CONTRIBUTING.md")
        if language == "yaml" and "statement" in content and not file
    )
    rule = specs.load().rules[shown["id"]]
    assert (rule.title, rule.level, rule.statement) == (
        shown["title"],
        shown["level"],
        shown["statement"],
    )
    assert dict(rule.reading) == shown["reading"]
    assert list(rule.presupposes) == shown["presupposes"]


def test_the_code_shown_is_the_code_there_is():
    shown = [content for language, _, content in fences("CONTRIBUTING.md") if language == "python"]
    code = [
        (ROOT / file).read_text("utf-8")
        for file in ("conformance/shedding/overload.py", "reference/overload.py")
    ]
    assert shown
    assert [one for one in shown if not any(one in file for file in code)] == []


def test_the_project_file_shown_can_be_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = [content for language, _, content in every_fence() if content.startswith("adapter =")]
    assert shown
    for content in shown:
        (tmp_path / "pulsar-conformance.toml").write_text(content)
        for command in (["run"], ["report", "make"]):
            words = with_project_options(["pulsar-conformance.toml"], command)
            assert len(words) > len(command)
            parsed(words)


def test_load_data_of_the_extensible_manager_is_explained_as_shown(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert main(["explain", "fixtures/reports/extensible", "--release", "4.2.4"]) == 0
    assert ("text", "", capsys.readouterr().out) in every_fence()


WRITTEN = re.compile(r"(?:mkdir -p|--output|--out|--to|--publish|--page|-o|>) +([\w./-]+)")


@pytest.mark.parametrize("page", PAGES)
def test_no_command_writes_into_a_folder_of_the_project(page):
    own = {one.name for one in ROOT.iterdir() if (one / "__init__.py").exists()} | {"tests"}
    shown = [content for language, _, content in fences(page) if language == "sh"]
    for name in WRITTEN.findall("\n".join(shown)):
        ignored = name.startswith("reports/out/")
        assert ignored or "/" not in name or name.partition("/")[0] not in own, name
