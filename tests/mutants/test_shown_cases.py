"""Each saved case of a seeded defect fails again when the printed command replays it.

The changed model declares no reading, so a case must not depend on a reading that is undecided.
"""

import shlex
from dataclasses import replace

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine import implementation as implementations
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

from mutants import defects
from mutants.evaluations import PROFILES
from mutants.judged import MutantConnection
from mutants.loading import another_model

EXAMPLES = 40

SET = {
    "messages for bytes": "shed-measure=throughput",
    "the long term for the short": "shed-window=short-term",
    "overloaded at the threshold": "overload-trigger=exceeds",
    "not overloaded at the threshold": "overload-trigger=reaches",
    "partitions by their topic": "partitions=hashed",
    "everybody below the average is idle": "lower-boundary=average-minus-threshold",
}
"""Defects that, judged by their rule alone, look like another alternative of a reading, each with
the alternative that a run has to set to find it.
"""


def silent(defect, profile):
    """Return the model with a defect, which does not declare the readings that it follows."""
    rule = specs.load().rules[defect.rule]
    usual = specs.load().default_readings(profile)
    followed = {**usual, **defect.readings, **rule.reading}
    model = another_model({defect.file: defect.source})[""].Model(profile, followed)
    connection = MutantConnection(model, profile, followed)
    connection.hello = replace(connection.hello, readings={})
    return connection


def verdicts(profile, root, **options):
    plan = Plan.make(["reference"], [profile], examples=EXAMPLES, root=root, **options)
    run = Run(plan, "reference", profile)
    return {rule.id: run.verdict(rule) for rule in run.rules}


SAMPLED = 36
"""The usual tests try one in this many defects; `nox -s thorough` tries all defects."""


def tried():
    for number, one in enumerate(defects.defects()):
        marks = () if number % SAMPLED == 0 else pytest.mark.thorough
        yield pytest.param(one, id=one.name.replace(" ", "_"), marks=marks)


@pytest.mark.parametrize("defect", list(tried()))
def test_the_printed_command_fails_again(defect, monkeypatch, tmp_path):
    rule = specs.load().rules[defect.rule]
    profile = next(one for one in PROFILES if one in rule.profiles)
    monkeypatch.setattr(implementations, "connect", lambda *_: silent(defect, profile))
    given = [SET[defect.name]] if defect.name in SET else []
    found = verdicts(profile, tmp_path, rules=[defect.rule], readings=given)[defect.rule]
    if found.verdict != "fail":
        assert found.verdict == "not_applicable", f"{defect.rule} alone does not find the defect"
        return
    words = shlex.split(found.failure.again)
    readings = [words[place + 1] for place, word in enumerate(words) if word == "--reading"]
    if "--replay" not in words:
        return
    file = tmp_path / words[words.index("--replay") + 1]
    assert load_saved(file).rule is None
    again = verdicts(profile, tmp_path / "again", replay=str(file), readings=readings)
    assert "fail" in {one.verdict for one in again.values()}, found.failure
    assert not set(found.failure.passes_under) & {
        f"{name}={value}" for name, value in unsure(found, profile)
    }


def unsure(found, profile):
    """Return the open alternatives of each undecided reading on which a failure depends."""
    for text in found.failure.readings:
        name, _, rest = text.partition("=")
        if rest.endswith("(undecided)"):
            for value in specs.load().open_values(profile, name):
                yield name, value
