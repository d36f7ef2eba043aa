"""Every mistake in the worked examples is reported with its line."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.specs import SpecError

SPECS = specs.load()
BUNDLED = Path(fixtures.__file__).parent


@dataclass(frozen=True)
class Mistake:
    """An edit of overload.yaml, the line that the error must name, and the expected message."""

    before: str
    after: str
    at: str
    """The beginning of the line, in the edited file, that the error points at."""
    says: str


MISTAKES = {
    "broken YAML": Mistake(
        "rules: [OVERLOAD-03]",
        "rules: [OVERLOAD-03",
        "  source: {document: load-balance-3.0, section: Shed load automatically}#2",
        "not YAML",
    ),
    "unknown rule": Mistake(
        "rules: [OVERLOAD-03]",
        "rules: [OVERLOAD-99]",
        "  rules: [OVERLOAD-99",
        "overload-95-over-85-no-more: unknown rule 'OVERLOAD-99';",
    ),
    "unknown rule of later documents": Mistake(
        "  rules: [OVERLOAD-03]\n",
        "  rules: [OVERLOAD-03]\n  changed_in: {documented-4.0: [UNIFORM-01]}\n",
        "  changed_in: {",
        "overload-95-over-85-no-more: unknown rule of documented-4.0 'UNIFORM-01';",
    ),
    "rule without a check": Mistake(
        "rules: [OVERLOAD-03]", "rules: [OWN-13]", "  rules: [OWN-13", "OWN-13 is untestable"
    ),
    "rule of another operation": Mistake(
        "rules: [OVERLOAD-07]",
        "rules: [USAGE-01]",
        "  rules: [USAGE-01",
        "no question has an operation of USAGE-01: usage.max",
    ),
    "rule of another reading": Mistake(
        "readings: {overload-amount: one, shed-window: short-term}",
        "readings: {overload-amount: margin, shed-window: short-term}",
        "  rules: [OVERLOAD-05",
        "OVERLOAD-05 holds only under overload-amount: one; say so in readings",
    ),
    "unknown reading": Mistake(
        "readings: {overload-trigger: reaches}",
        "readings: {overload-triger: reaches}",
        "  readings: {overload-triger",
        "unknown reading 'overload-triger';",
    ),
    "unknown value": Mistake(
        "readings: {overload-trigger: reaches}",
        "readings: {overload-trigger: touches}",
        "  readings: {overload-trigger: touches",
        "unknown value of overload-trigger 'touches'; choose from exceeds, reaches",
    ),
    "unknown document": Mistake(
        "document: load-balance-3.0, section: Shed",
        "document: load-balance-9.9, section: Shed",
        "  source: {document: load-balance-9.9",
        "unknown document 'load-balance-9.9';",
    ),
    "unknown section": Mistake(
        "section: Shed load automatically",
        "section: Shed load by hand",
        "  source: {document: load-balance-3.0, section: Shed load by hand",
        "unknown section of load-balance-3.0 'Shed load by hand';",
    ),
    "an id twice": Mistake(
        "id: overload-most-bytes",
        "id: overload-95-over-85",
        "- id: overload-95-over-85#2",
        "overload-95-over-85 is given twice, first in examples/overload.yaml:3",
    ),
    "unknown key": Mistake("title: Of two", "titel: Of two", "  titel:", "unknown key 'titel';"),
    "unknown operation": Mistake(
        "ask: shed.select", "ask: shed.selekt", "  ask: shed.selekt", '"shed.selekt" is not one of'
    ),
    "no answer": Mistake(
        "  allowed:\n    - unload: [*first, *second]\n",
        "",
        "- id: overload-95-over-85-no-more",
        "give every allowed answer or, as judged_by_rules, the reason why only rules judge",
    ),
    "no arithmetic": Mistake(
        '  arithmetic:\n    - "95 > 85, but 1 bundle < 2"',
        "  arithmetic: []",
        "  arithmetic: []",
        "at least 1 must be given",
    ),
    "an answer too few": Mistake(
        "    - [{unload: []}, {unload: []}]",
        "    - [{unload: []}]",
        "    - [{unload: []}]",
        "an allowed answer is a list of 2 answers",
    ),
    "answers where one is": Mistake(
        "    - unload: [*first, *second]\n",
        "    - [{unload: [*first, *second]}]\n",
        "    - [{unload: [*first, *second]}]",
        "an allowed answer is one answer",
    ),
    "ask and trial": Mistake(
        "  trial:\n", "  ask: shed.select\n  trial:\n", "- id: overload-others", "give either ask"
    ),
    "times without a reason": Mistake(
        "  ask: shed.select\n  case: *eight-bundles\n  allowed:\n    - unload: [*first, *second]\n",
        "  ask: shed.select\n  case: *eight-bundles\n  times: 60\n  allowed:\n"
        "    - unload: [*first, *second]\n",
        "  times: 60",
        "times can be given only together with ask and judged_by_rules",
    ),
    "expanded and written": Mistake(
        "  case: *at-75\n",
        "  case: {topics: []}\n  expand: {topics: {pattern: 'x-{n}', count: 2}}\n",
        "  expand: {topics",
        "topics is also written in the case; keep one",
    ),
}


def line_of(text: str, beginning: str) -> int:
    beginning, _, which = beginning.partition("#")
    found = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith(beginning)]
    exact = [n for n in found if text.splitlines()[n - 1] == beginning] if which else found
    return exact[int(which or 1) - 1]


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_with_its_line(tmp_path, mistake):
    shutil.copytree(BUNDLED / "examples", tmp_path / "examples")
    path = tmp_path / "examples" / "overload.yaml"
    text = path.read_text("utf-8")
    assert mistake.before in text
    edited = text.replace(mistake.before, mistake.after, 1)
    path.write_text(edited, "utf-8")
    with pytest.raises(SpecError) as raised:
        fixtures.load_examples_from(tmp_path, SPECS)
    place = f"examples/overload.yaml:{line_of(edited, mistake.at)}: "
    assert str(raised.value).startswith(place)
    assert mistake.says in str(raised.value)


def test_a_file_of_no_area_is_reported(tmp_path):
    shutil.copytree(BUNDLED / "examples", tmp_path / "examples")
    (tmp_path / "examples" / "overlaod.yaml").write_text("[]", "utf-8")
    with pytest.raises(SpecError, match=r"examples/overlaod\.yaml:1: unknown area 'overlaod'"):
        fixtures.load_examples_from(tmp_path, SPECS)
