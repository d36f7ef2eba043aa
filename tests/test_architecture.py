"""The folders of the project: which folders each may import, and how large each may be."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from pulsar_conformance import specs

ROOT = Path(__file__).parent.parent
BUILT = ROOT / "reports" / "out"
FOLDERS = ("specs", "reference", "conformance", "adapters", "fixtures", "reports", "audit")
PACKAGE = "pulsar_conformance."

UPWARDS = (
    "common",
    "drawing",
    "bundles",
    "load_data",
    "managers",
    "settings",
    "shedding",
    "placement",
    "stories",
    "catalogue",
    "cases",
    "any_answer",
    "explain",
    "engine",
    "campaign",
    "session",
    "compare",
    "reporters",
    "plugin",
    "commands",
    "__main__",
)
"""The folders of `conformance/`. Each imports only folders before it in this list."""

SUBJECTS = UPWARDS[UPWARDS.index("bundles") : UPWARDS.index("catalogue")]

UP = {("stories", "cases")}
"""Imports of a later folder that are allowed: stories check the legality of their questions."""

FORBIDDEN = {
    "specs": ("reference", "conformance", "adapters", "fixtures", "reports", "audit"),
    "reference": ("conformance", "adapters", "fixtures", "reports", "audit"),
    "fixtures": ("reference", "conformance", "adapters", "reports", "audit"),
    "adapters": ("conformance", "reports", "audit"),
    "adapters/spark": ("reference", "conformance", "fixtures", "reports", "audit"),
    "audit/verdicts/checks": ("reference.overload", "reference.threshold"),
    "conformance": ("audit",),
    **{f"conformance/{one}": ("adapters", "fixtures") for one in SUBJECTS},
    "conformance/common": ("adapters",),
    "conformance/engine": ("adapters.spark", "adapters.pulsar", "adapters.cluster"),
}
"""For each folder, the folders that no file in it may import.

This keeps numbers that several places state independent: the engine on Spark uses no code of the
model, and a check uses no code of an adapter.
"""

DECISIONS = ("derive", "answer", "Model", "unloads", "chosen", "replay")
"""Decisions of the model. A check may use the model's quantities, but none of these."""

MODULES = 15
MODULES_OF_THE_SUITE = 130
LINES = 400
ASKED_IN = 8


def sources(folder=""):
    """Return the modules that are written by hand, without copies in a built site."""
    names = [folder] if folder else FOLDERS
    files = (file for name in names for file in sorted((ROOT / name).rglob("*.py")))
    return [file for file in files if not file.is_relative_to(BUILT)]


def imports(file):
    """Return the modules of the project that a file imports, without the package's name."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE[:-1]):
            module = node.module.removeprefix(PACKAGE[:-1]).removeprefix(".")
            yield from (f"{module}.{one.name}".removeprefix(".") for one in node.names)
        if isinstance(node, ast.Import):
            named = (one.name for one in node.names)
            yield from (one.removeprefix(PACKAGE) for one in named if one.startswith(PACKAGE))


def room_of(file):
    return file.relative_to(ROOT / "conformance").parts[0].removesuffix(".py")


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_folder_imports_nothing_that_it_must_not_know(folder):
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in sources(folder)
        for name in imports(file)
        if any(f"{name}.".startswith(f"{one}.") for one in FORBIDDEN[folder])
    ]
    assert wrong == []


def test_all_folders_of_the_suite_are_in_the_order():
    rooms = {room_of(file) for file in sources("conformance")} - {"__init__"}
    assert rooms == set(UPWARDS)


def test_imports_go_one_way():
    wrong = []
    for file in sources("conformance"):
        room = room_of(file)
        if room == "__init__":
            continue
        for name in imports(file):
            other = name.removeprefix("conformance.").split(".")[0]
            inside = name.startswith("conformance.") and other in UPWARDS
            if inside and UPWARDS.index(other) > UPWARDS.index(room) and (room, other) not in UP:
                wrong.append(f"{file.relative_to(ROOT)} imports {name}")
    assert wrong == []


def test_a_check_decides_by_itself():
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for folder in (f"conformance/{one}" for one in SUBJECTS)
        for file in sources(folder)
        for name in imports(file)
        if name.startswith("reference.") and name.rpartition(".")[2] in DECISIONS
    ]
    assert wrong == []


JUDGED_BY_ITSELF = ("shedding", "placement", "stories")
FORMULAS = ("overload", "threshold", "uniform", "shedding", "usage", "sequences", "placement",
            "anti_affinity", "assignment")  # fmt: skip


def test_a_fault_of_a_formula_of_the_model_is_not_one_of_its_judge():
    """Checks take only constants from the model's formulas, such as the names of settings."""
    wrong = [
        f"{file.relative_to(ROOT)} imports {name}"
        for folder in (f"conformance/{one}" for one in JUDGED_BY_ITSELF)
        for file in sources(folder)
        for name in imports(file)
        if name.startswith("reference.")
        and name.split(".")[1] in FORMULAS
        and not name.rpartition(".")[2].isupper()
    ]
    assert wrong == []


def test_a_class_name_stands_for_one_thing():
    names = Counter(
        name
        for file in sources()
        for name in re.findall(r"^class (\w+)", file.read_text("utf-8"), re.MULTILINE)
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_folder_holds_too_many_files():
    modules = Counter(
        file.parent.relative_to(ROOT).as_posix()
        for file in [*sources("conformance"), *sources("audit")]
        if file.name != "__init__.py"
    )
    assert {room: count for room, count in modules.items() if count > MODULES} == {}


def test_the_suite_is_no_more_than_a_reader_can_know():
    modules = [file for file in sources("conformance") if file.name != "__init__.py"]
    assert len(modules) <= MODULES_OF_THE_SUITE


def test_no_file_is_longer_than_a_few_screens():
    long = {
        file.relative_to(ROOT).as_posix(): count
        for file in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]
        if (count := len(file.read_text("utf-8").splitlines())) > LINES
    }
    assert long == {}


def test_an_operation_is_named_where_it_is_answered_and_hardly_elsewhere():
    naming = [file for file in sources() if '"shed.select"' in file.read_text("utf-8")]
    assert len(naming) <= ASKED_IN


def test_the_page_names_every_folder():
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert [room for room in UPWARDS if f"{room}" not in page] == []


HOMES = (
    "specs/rules",
    "reference",
    "conformance/shedding",
    "adapters/spark",
    "audit",
    "fixtures/examples",
)
"""The only folders, besides `tests/` and `reports/`, that implement a rule of shedding."""

ABOUT_OTHERS = (
    "adapters/samples",
    "conformance/commands",
    "fixtures/deviations",
    "specs/documents.yaml",
    "specs/profiles.yaml",
    "specs/breaches.py",
    "specs/requirements",
    "specs/schema",
)
"""Files and folders that name rules, but decide none, such as lists of rules and help."""


def test_a_rule_of_shedding_is_found_in_six_folders():
    rules = [rule.id for rule in specs.load().rules.values() if rule.operations == ("shed.select",)]
    elsewhere = {
        f"{rule} in {file.relative_to(ROOT)}"
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*")
        if file.suffix in (".py", ".yaml", ".java") and not _below(file, (*HOMES, *ABOUT_OTHERS))
        for rule in rules
        if folder != "reports" and re.search(rf"\b{rule}\b", file.read_text("utf-8"))
    }
    assert elsewhere == set()


def _below(file, folders):
    return file.relative_to(ROOT).as_posix().startswith(folders)


def test_a_file_of_tests_states_its_markers_once():
    stated = {
        file.relative_to(ROOT).as_posix(): len(re.findall(r"(?m)^pytestmark", text))
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if (text := file.read_text("utf-8"))
    }
    assert [name for name, count in stated.items() if count > 1] == []


def test_nothing_that_a_command_writes_is_committed():
    """Only the project's own folders are committed; commands write to `out` and `.conformance`."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    assert listed.returncode == 0, listed.stderr
    tops = {name.partition("/")[0] for name in listed.stdout.splitlines() if "/" in name}
    assert tops == {*FOLDERS, "api", "tests", ".ci", ".github"}
