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

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.pulsar.versions import documents_of
from pulsar_conformance.conformance.cases.deviations import entries
from pulsar_conformance.conformance.cases.saved import load_saved
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.conformance.engine.judge import DECISIVE
from pulsar_conformance.reference import Model, Readings
from pulsar_conformance.reports.runs.comparing import ChangedVerdict, compared
from pulsar_conformance.reports.runs.making import Report
from pulsar_conformance.reports.runs.requirements import frozen
from pulsar_conformance.reports.table import BREAKING, KEPT, WORDS, broken_rules_text, word_of

PUBLISHED = Path("reports", "published")
JUDGED = re.compile(r"(pulsar|cluster)(?:-(simple|extensible))?-(\d.*)")
"""Name of a list of deviations: its adapter, its load manager if it is not the usual one, and its
version.
"""

UNWRITTEN = "unwritten-3.0"
"""Profile of the rules that no document states."""

DEVIATIONS = Path(fixtures.__file__).parent / "deviations"
CASES = DEVIATIONS.parents[1]
"""Folder to which the paths of cases are relative."""

SIMULATIONS = Path("reports", "strategies", "simulations.json")
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """A published report, for its page and for the matrix."""

    file: str
    report: Report

    @property
    def sentence(self) -> str:
        """The number of applicable rules that the implementation violates, as a sentence."""
        return broken_rules_text(
            self.name, {rule: word_of(one) for rule, one in self.verdicts.items()}
        )

    @property
    def slug(self) -> str:
        """The base name of its page."""
        return self.file.removesuffix(".json")

    @property
    def name(self) -> str:
        """The implementation, with its version."""
        return str(self.report["implementation"]["name"])

    @property
    def of_classes(self) -> bool:
        """True if the classes of a release were judged, and not a cluster or another program."""
        return self.name.startswith("pulsar ")

    @property
    def profile(self) -> str:
        """Return the profile by which the implementation was judged."""
        return str(self.report["requirements"]["profile"])

    @property
    def requirements(self) -> str:
        """The version of the requirements in the report, and the newest version if that differs."""
        version = self.report["requirements"].get("version")
        newest = max((one.version or 0 for one in frozen(self.profile)), default=0)
        if version is None:
            return "not frozen"
        return f"version {version}" + (f" of {newest}" if newest != version else "")

    @cached_property
    def verdicts(self) -> Mapping[str, Line]:
        """The verdict on each rule."""
        return {line["rule"]: line for line in self.report["verdicts"]}

    def word(self, rule: str) -> str:
        """Return the verdict on a rule; empty if it was not judged."""
        return word_of(self.verdicts[rule]) if rule in self.verdicts else ""

    @property
    def broken(self) -> list[str]:
        """The rules that the implementation violates, known deviations included."""
        return [rule for rule in self.verdicts if self.word(rule) in BREAKING]

    @property
    def judged_rules(self) -> int:
        """The number of rules that the implementation violates or keeps."""
        kept = [rule for rule in self.verdicts if self.word(rule) in KEPT]
        return len(self.broken) + len(kept)

    @property
    def saved(self) -> int:
        """The number of saved cases of earlier runs, each counted once for each rule."""
        return sum(one["saved"] for one in self.verdicts.values())

    def verdict_text(self, rule: str) -> str:
        """Format the verdict on a rule for tables."""
        return WORDS.get(self.word(rule), self.word(rule))


@dataclass(frozen=True)
class DeviationReplay:
    """A case of a known deviation, and the command that asks it again."""

    case: str
    explanation: str
    """The command that explains it by the judged documents."""
    command: str
    rule: str
    """The rule that the command fails: the deviation's own, unless that rule is about other cases,
    and this one counts against it only among others without an answer.
    """


@dataclass(frozen=True)
class Listed:
    """A release's known deviation, with the file that lists it."""

    file: str
    entry: Line

    @property
    def implementation(self) -> str:
        """The implementation's name."""
        return str(self.entry.get("implementation", self.file))

    @property
    def documented(self) -> bool:
        """True if the documents by which a release is judged state the rule."""
        found = JUDGED.fullmatch(self.file)
        profile = documents_of(found[3]) if found else UNWRITTEN
        return any(rule.id == self.entry["rule"] for rule in specs.load().rules_of(profile))

    @property
    def replays(self) -> Sequence[DeviationReplay]:
        """Its cases, each with the command that asks the release again; empty for another
        implementation.
        """
        found = JUDGED.fullmatch(self.file)
        if found is None:
            return ()
        kind, manager, version = found.groups()
        adapter = f"{kind}:{version}" + (f",manager={manager}" if manager else "")
        words = ["pulsar-conformance", "run", "--adapter", adapter]
        words += [] if self.documented else ["--judge-by", UNWRITTEN]
        profile = documents_of(version) if self.documented else UNWRITTEN
        for name, value in self.entry.get("readings", {}).items():
            words += ["--reading", f"{name}={value}"]
        return [self._replay(words, profile, case) for case in self.entry.get("cases", ())]

    def _replay(self, words: Sequence[str], profile: str, case: str) -> DeviationReplay:
        """Return the command for a case, which chooses the entry's rule if it is judged by it."""
        rule, first = self.entry["rule"], case == self.entry["cases"][0]
        if first and self.entry.get("answers", "").startswith("failed:"):
            rule = _counted_against(rule, profile, self.entry.get("readings", {}), case)
        chosen = ["--rules", rule] if rule == self.entry["rule"] else []
        explained = ["pulsar-conformance", "explain", case, "--judge-by", profile]
        replayed = [*words, *chosen, "--replay", case]
        return DeviationReplay(case, shlex.join(explained), shlex.join(replayed), rule)


def _counted_against(rule: str, profile: str, readings: Mapping[str, str], case: str) -> str:
    """Return the rule against which a case without an answer counts.

    It is the given rule if that rule judges the model's answer to the case, and otherwise the first
    rule that does.
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
    """Return all published reports, sorted by implementation and version, 2.4.2 before 2.10.5."""
    found = [
        Result(file.name, json.loads(file.read_text("utf-8"))) for file in folder.glob("*.json")
    ]
    return sorted(found, key=_in_order)


def _in_order(result: Result) -> tuple[str, list[int], str]:
    name, _, version = result.name.rpartition(" ")
    return name, numbers(version), result.file


def numbers(version: str) -> list[int]:
    """Return the numbers in a version, as a sort key."""
    return [int(number) for number in re.findall(r"\d+", version)]


@dataclass(frozen=True)
class Succession:
    """Changed verdicts from one version to the next, by kind of change."""

    before: Result
    after: Result
    changes: Mapping[str, Sequence[ChangedVerdict]]


def version_steps(every: Sequence[Result]) -> list[Succession]:
    """Return the steps between an implementation's versions, for rules that judged both."""
    found = []
    for before, after in pairwise(every):
        if before.name.rpartition(" ")[0] == after.name.rpartition(" ")[0]:
            changed = compared(before.report, after.report).items()
            shared = before.verdicts.keys() & after.verdicts.keys()
            changes = {way: [one for one in ones if one.rule in shared] for way, ones in changed}
            found.append(Succession(before, after, changes))
    return found


def deviations_by_release(folder: Path = DEVIATIONS) -> Mapping[str, Sequence[Listed]]:
    """Return the known deviations by the file that lists them, oldest version first."""
    files = sorted(folder.glob("*.yaml"), key=lambda file: (numbers(file.stem), file.stem))
    return {file.stem: [Listed(file.stem, entry) for entry in entries(file)] for file in files}


def deviations(folder: Path = DEVIATIONS) -> Mapping[str, Sequence[Listed]]:
    """Return the known deviations by rule."""
    found: dict[str, list[Listed]] = {}
    for listed in deviations_by_release(folder).values():
        for one in listed:
            found.setdefault(one.entry["rule"], []).append(one)
    return found


def long_run() -> dict[str, dict[str, str]]:
    """Return in how many worlds published simulations violate a rule, by variant and rule.

    Rules that a variant keeps in every world are left out.
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
