"""The commands of each page work if a reader pastes them into a shell.

A page's commands run one after the other in a folder with the content of a clone. Commands that
download, or need a cluster, Spark or the built site, are left out here, but test_readme.py parses
them. Runs draw few cases, so that all commands together take a minute.
"""

import os
import re
import shutil
import subprocess

import pytest
from standins.warm import REPORTED, client, serving
from test_readme import GUIDES, ROOT, fences, written

NOT_RUN = re.compile(
    r"--characterize|diff reference sample|pulsar:|cluster:|adapter '?spark|changes|\.venv"
    r"|nox -s (?!conformance -- )|curl|javac|mvn|spark-submit|http\.server|report allure"
    r"|report freeze|--exhaustive|--spark|\baudit\b|\bfleet\b|\bcollect\b|python3 -m"
)
"""Pattern of commands that are not run; `report freeze` would write into the installed package."""
MAY_END_WITH_1 = re.compile(r"report diff")
"""Pattern of commands that may exit with 1, since a rule became worse."""
NEEDS = {"java": r"\bjava\b", "node": r"\bnode\b"}
AS_EXPLAINED = ("before.json", "after.json")
"""Files that a page assumes to exist."""
PROGRAMS = ("pulsar-conformance", "nox")
HASTY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options that make short runs of Java fast."""
LINKED = ("adapters", "fixtures")
CASES = ".conformance/cases/shed.select"
PAGES = ("README.md", *GUIDES)


def needs_what_is_lacking(command):
    """True if a command needs a program that is not installed."""
    lacking = [needed for program, needed in NEEDS.items() if shutil.which(program) is None]
    return any(re.search(one, command) for one in lacking)


def lines(page):
    """Yield the commands of a page in order, except slow ones and any that lack a program."""
    for language, _, content in fences(page):
        for line in content.splitlines() if language == "sh" else ():
            said = line.partition("  #")[0].strip()
            if said and not NOT_RUN.search(said) and not needs_what_is_lacking(said):
                yield said


PASTED = {page: found for page in PAGES if (found := list(lines(page)))}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Provide a folder of client commands, which one server process runs."""
    folder = tmp_path_factory.mktemp("bin")
    for name in PROGRAMS:
        client(folder / name, folder / "socket", name)
    with serving(folder / "socket"):
        yield folder


@pytest.fixture
def clone(tmp_path, programs):
    """Provide a folder with the content of a clone, and an environment with the commands."""
    folder = tmp_path / "clone"
    (folder / "reports").mkdir(parents=True)
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "reports" / "published", folder / "reports" / "published")
    for name in AS_EXPLAINED:
        shutil.copy(ROOT / "reports/published/reference-0.1.0-documented-3.0.json", folder / name)
    cases = folder / CASES
    cases.mkdir(parents=True)
    shutil.copy(ROOT / "fixtures/cases/shed.select/1969b24e1ae2.json", cases / "d3f471a3ccb7.json")
    environment = {name: value for name, value in os.environ.items() if "NOX" not in name}
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    return folder, {**environment, "JAVA_TOOL_OPTIONS": HASTY}


def pasted(commands, folder, environment):
    """Run commands in one shell; return the status of each, and the output."""
    done = subprocess.run(
        ["sh"],
        input="\n".join(f'{line}\nprintf "\\n@@ %s\\n" "$?"' for line in commands),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    statuses = re.findall(r"^@@ (\d+)$", done.stdout, re.MULTILINE)
    return [int(status) for status in statuses], done.stdout


@pytest.mark.parametrize("page", PASTED)
def test_every_cheap_command_of_a_page_does_what_it_should(page, clone):
    folder, environment = clone
    for file, content in written().items():
        for place in (folder, folder / "mine"):
            place.mkdir(exist_ok=True)
            (place / file).write_text(content)
    if not any("new-adapter" in line for line in PASTED[page]):  # as the page before had it
        pasted(["pulsar-conformance new-adapter --lang python"], folder, environment)
    if any("report make" in line for line in PASTED[page]):
        environment[REPORTED] = "yes"
    statuses, said = pasted(PASTED[page], folder, environment)
    wrong = [
        (command, status)
        for command, status in zip(PASTED[page], statuses, strict=True)
        if status not in ((0, 1) if MAY_END_WITH_1.search(command) else (0,))
    ]
    assert wrong == [], said
    assert "Traceback" not in said


def test_most_of_what_is_shown_is_pasted():
    assert sum(map(len, PASTED.values())) > 40
