"""Published reports and known deviations, by implementation and by rule."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.deviations import (
    LISTS,
    UNWRITTEN,
    deviation_entries,
    deviation_profile,
    explain_command,
)
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.judge import DECISIVE
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reports.runs.comparing import ChangedVerdict, changed_verdicts
from pulsar_conformance.reports.runs.making import Report
from pulsar_conformance.reports.runs.requirements import frozen_requirements
from pulsar_conformance.reports.table import (
    BREAKING_VERDICTS,
    KEPT_VERDICTS,
    WORDS,
    broken_rules_text,
    word_of,
)

PUBLISHED = Path("reports", "published")
LIST_NAME = re.compile(r"(pulsar|cluster)(?:-(simple|extensible))?-(\d.*)")
"""Pattern of a deviation list's name: adapter, load manager (if not the usual one), version."""

CASES = LISTS.parents[1]
"""Folder to which the paths of cases are relative."""

SIMULATIONS = Path("reports", "strategies", "simulations.json")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """A published report, for a page of its own and for the matrix."""

    file: str
    report: Report

    @property
    def sentence(self) -> str:
        """A sentence on how many applicable rules the implementation violates."""
        return broken_rules_text(
            self.name, {rule: word_of(one) for rule, one in self.verdicts.items()}
        )

    @property
    def slug(self) -> str:
        """The file name of the result's page, without a suffix."""
        return self.file.removesuffix(".json")

    @property
    def name(self) -> str:
        """The name of the implementation, with its version."""
        return str(self.report["implementation"]["name"])

    @property
    def of_classes(self) -> bool:
        """True if the classes of a release were judged, not a cluster or another program."""
        return self.name.startswith("pulsar ")

    @property
    def profile(self) -> str:
        """The profile by which the implementation was judged."""
        return str(self.report["requirements"]["profile"])

    @property
    def requirements(self) -> str:
        """The report's requirements version and, if it differs, the newest version."""
        version = self.report["requirements"].get("version")
        newest = max((one.version or 0 for one in frozen_requirements(self.profile)), default=0)
        if version is None:
            return "not frozen"
        return f"version {version}" + (f" of {newest}" if newest != version else "")

    @cached_property
    def verdicts(self) -> Mapping[str, Line]:
        """The report's entry on each judged rule, by the ID of the rule."""
        return {line["rule"]: line for line in self.report["verdicts"]}

    def word(self, rule: str) -> str:
        """Return the verdict on a rule; empty if it was not judged."""
        return word_of(self.verdicts[rule]) if rule in self.verdicts else ""

    @property
    def broken(self) -> list[str]:
        """The rules that the implementation violates, including known deviations."""
        return [rule for rule in self.verdicts if self.word(rule) in BREAKING_VERDICTS]

    @property
    def judged_rules(self) -> int:
        """The number of rules that the implementation violates or keeps."""
        kept = [rule for rule in self.verdicts if self.word(rule) in KEPT_VERDICTS]
        return len(self.broken) + len(kept)

    @property
    def saved(self) -> int:
        """The number of earlier runs' saved cases that this run replayed, counted per rule."""
        return sum(one["saved"] for one in self.verdicts.values())

    def verdict_text(self, rule: str) -> str:
        """Return the verdict on a rule in the words used in tables."""
        return WORDS.get(self.word(rule), self.word(rule))


@dataclass(frozen=True)
class DeviationReplay:
    """A case of a known deviation, and the command that replays it."""

    case: str
    explanation: str
    """The command that explains the case under the profile that judges it."""
    command: str
    rule: str
    """The rule that fails in the replay.

    It is the deviation's rule, unless the implementation gives no answer to the case, and this
    counts against another rule.
    """


@dataclass(frozen=True)
class ListedDeviation:
    """An entry in a release's list of known deviations, with the file of the list."""

    file: str
    entry: Line

    @property
    def implementation(self) -> str:
        """The name of the implementation."""
        return str(self.entry.get("implementation", self.file))

    @property
    def documented(self) -> bool:
        """True if the documents by which the release is judged state the rule."""
        found = LIST_NAME.fullmatch(self.file)
        return found is not None and deviation_profile(self.entry["rule"], found[3]) != UNWRITTEN

    @property
    def replays(self) -> Sequence[DeviationReplay]:
        """The cases of the deviation, each with the command that replays it on the release.

        Empty if the list is not about a release.
        """
        found = LIST_NAME.fullmatch(self.file)
        if found is None:
            return ()
        kind, manager, version = found.groups()
        adapter = f"{kind}:{version}" + (f",manager={manager}" if manager else "")
        words = ["pulsar-conformance", "run", "--adapter", adapter]
        words += [] if self.documented else ["--judge-by", UNWRITTEN]
        profile = deviation_profile(self.entry["rule"], version)
        for name, value in self.entry.get("readings", {}).items():
            words += ["--reading", f"{name}={value}"]
        return [self._replay(words, profile, case) for case in self.entry.get("cases", ())]

    def _replay(self, words: Sequence[str], profile: str, case: str) -> DeviationReplay:
        """Return a case with its replay command, limited to the deviation's rule if possible."""
        rule, first = self.entry["rule"], case == self.entry["cases"][0]
        if first and self.entry.get("answers", "").startswith("failed:"):
            rule = _rule_counted_against(rule, profile, self.entry.get("readings", {}), case)
        chosen = ["--rules", rule] if rule == self.entry["rule"] else []
        explained = explain_command(case, profile, self.entry.get("readings", {}))
        replayed = [*words, *chosen, "--replay", case]
        return DeviationReplay(case, explained, shlex.join(replayed), rule)


def _rule_counted_against(rule: str, profile: str, readings: Mapping[str, str], case: str) -> str:
    """Return the rule against which a case without an answer counts.

    It is `rule` if this rule judges the model's answer to the case, and otherwise the first rule
    that does.
    """
    trial, model = load_saved(CASES / case).trial, Model(profile, readings)
    answers = [model.answer(*question) for question in trial.questions]
    evaluator = RuleEvaluator(specs.load().defaults(profile), Readings.of(profile, readings))
    judging = [
        one.id
        for one in specs.load().rules_of(profile)
        if trial.operations & {*one.operations} and not one.untestable
        if evaluator.judge(one.id, trial, answers).word in DECISIVE
    ]
    return rule if rule in judging else judging[0]


def results(folder: Path = PUBLISHED) -> list[Result]:
    """Return all published reports by implementation and version; 2.4.2 comes before 2.10.5."""
    found = [
        Result(file.name, json.loads(file.read_text("utf-8"))) for file in folder.glob("*.json")
    ]
    return sorted(found, key=_in_order)


def _in_order(result: Result) -> tuple[str, list[int], str]:
    name, _, version = result.name.rpartition(" ")
    return name, version_numbers(version), result.file


def version_numbers(version: str) -> list[int]:
    """Return the numbers in a version, by which versions are sorted."""
    return [int(number) for number in re.findall(r"\d+", version)]


@dataclass(frozen=True)
class VersionStep:
    """The verdicts that change between consecutive versions of an implementation, by kind of
    change.
    """

    before: Result
    after: Result
    changes: Mapping[str, Sequence[ChangedVerdict]]


def version_steps(every: Sequence[Result]) -> list[VersionStep]:
    """Return the steps between versions of each implementation, about rules in both reports."""
    found = []
    for before, after in pairwise(every):
        if before.name.rpartition(" ")[0] == after.name.rpartition(" ")[0]:
            changed = changed_verdicts(before.report, after.report).items()
            shared = before.verdicts.keys() & after.verdicts.keys()
            changes = {way: [one for one in ones if one.rule in shared] for way, ones in changed}
            found.append(VersionStep(before, after, changes))
    return found


def deviations_by_release(folder: Path = LISTS) -> Mapping[str, Sequence[ListedDeviation]]:
    """Return the known deviations by the file that lists them, the oldest version first."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: (version_numbers(file.stem), file.stem))
    return {
        file.stem: [ListedDeviation(file.stem, entry) for entry in deviation_entries(file)]
        for file in files
    }


def deviations(folder: Path = LISTS) -> Mapping[str, Sequence[ListedDeviation]]:
    """Return the known deviations by rule."""
    found: dict[str, list[ListedDeviation]] = {}
    for listed in deviations_by_release(folder).values():
        for one in listed:
            found.setdefault(one.entry["rule"], []).append(one)
    return found


def long_run_violation_texts() -> dict[str, dict[str, str]]:
    """Return texts on rules broken in the published simulations, by variant and rule.

    A text has the verdict and the number of worlds, such as `fail in 2 of 9 worlds`.
    """
    courses = json.loads(SIMULATIONS.read_text("utf-8"))
    found: dict[str, dict[str, str]] = {}
    for variant in dict.fromkeys(one["variant"] for one in courses):
        own = [one for one in courses if one["variant"] == variant]
        broken = [(fault["rule"], fault["verdict"]) for one in own for fault in one["rules"]]
        found[variant] = {
            rule: f"{verdict} in {sum(one == rule for one, _ in broken)} of {len(own)} worlds"
            for rule, verdict in dict.fromkeys(broken)
        }
    return found
