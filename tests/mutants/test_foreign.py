"""Faults in a program written from the documents of 5.0 alone, in another language, are found.

The authors of `foreign/documented.mjs` and of its faults did not know which cases the suite draws.
"""

import shutil
from functools import cache
from pathlib import Path

import pytest
import yaml
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

FOLDER = Path(__file__).parent / "foreign"
PROGRAM = "documented.mjs"
PROFILE = "documented-5.0"
RIGHT = ("REPORT-*", "CHANNEL-*", "ISOLATION-*")
"""Areas by which the usual tests judge the correct program; they are cheap to judge."""

SAMPLED = (
    "the-longest-interval-is-half-as-long-again",
    "an-owned-bundle-is-assigned-anew",
    "a-reserved-broker-takes-nobody-else",
)
"""Faults that the usual tests look for."""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@cache
def faults():
    """Yield each fault: its area, its name, the text that it replaces, and the replacement."""
    areas = yaml.safe_load((FOLDER / "faults.yaml").read_text("utf-8"))
    return [(area, name, *texts) for area, some in areas.items() for name, texts in some.items()]


def broken(folder, source, rules):
    """Return the rules that a program breaks."""
    (folder / PROGRAM).write_text(source, "utf-8")
    adapter = f"exec:node {folder / PROGRAM}"
    run = Run(Plan.make([adapter], [PROFILE], rules=rules, root=folder), adapter, PROFILE)
    try:
        judged = run.judge()
    finally:
        run.close()
    assert not judged.errors
    return [name for name, one in judged.findings.items() if one.own]


def source():
    return (FOLDER / PROGRAM).read_text("utf-8")


def test_each_fault_is_in_a_text_that_the_program_has_once():
    assert [name for _, name, was, _ in faults() if source().count(was) != 1] == []
    assert len({name for _, name, *_ in faults()}) == len(faults()) >= 90
    assert {name for _, name, *_ in faults()}.issuperset(SAMPLED)


@needs_node
def test_the_program_without_a_fault_is_not_accused(tmp_path):
    assert broken(tmp_path, source(), RIGHT) == []


def each(chosen):
    return pytest.mark.parametrize(
        ("area", "was", "becomes"),
        [pytest.param(area, *texts, id=name) for area, name, *texts in faults() if chosen(name)],
    )


@needs_node
@each(lambda name: name in SAMPLED)
def test_a_fault_is_found(tmp_path, area, was, becomes):
    assert broken(tmp_path, source().replace(was, becomes), [f"{area}-*"])


@pytest.mark.thorough
@needs_node
@each(lambda name: name not in SAMPLED)
def test_every_fault_is_found(tmp_path, area, was, becomes):
    assert broken(tmp_path, source().replace(was, becomes), [f"{area}-*"])


@pytest.mark.thorough
@needs_node
def test_the_program_without_a_fault_breaks_no_rule_of_any_area(tmp_path):
    areas = [f"{area}-*" for area in {area for area, *_ in faults()}]
    assert broken(tmp_path, source(), areas) == []
