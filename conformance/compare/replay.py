"""Replays saved cases: finds the rules that apply to each case, and the cases that are fixed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pulsar_conformance.conformance.common.events import Verdict, ignore_event
from pulsar_conformance.conformance.engine.plan import BadPlan, NothingToJudge, Plan, UnusableCase
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.conformance.session import (
    ANSWERED,
    Session,
    answer_is_all_demanded,
    rules_reached,
    why_no_rule_applies,
    why_not_fixed,
)

Word = Literal["FIXED", "FAILED", "KNOWN", "UNJUDGED", "ERROR"]
STATUS: Mapping[Word, int] = {"FIXED": 0, "FAILED": 1, "KNOWN": 0, "UNJUDGED": 0, "ERROR": 2}


@dataclass(frozen=True)
class ReplayOutcome:
    """The outcome of a saved case for one implementation and profile."""

    file: str
    outcome: Word
    implementation: str = ""
    profile: str = ""
    rules: tuple[str, ...] = ()
    """The rules that the case breaks; if it breaks none, all rules that apply to it."""
    why: str = ""
    status: int = 0
    """Exit status for the case; 0 if no broken rule has the level `must`."""

    def as_text(self) -> str:
        """Format the outcome and the file on one line, and the reason on the next."""
        who = f"{self.implementation}, {self.profile}: " if self.implementation else ""
        said = self.why or ", ".join(self.rules)
        return f"{self.outcome:<8} {self.file}\n         {who}{said}"


def cases_in(folder: Path) -> list[Path]:
    """Return a folder's saved cases, sorted by name. Errors: `BadPlan` if there are none."""
    found = sorted(folder.rglob("*.json"))
    if not found:
        raise BadPlan(f"--replay {folder}: there is no case in it; name a folder of case files")
    return found


def replay_cases(
    files: Sequence[Path], plan_for: Callable[[Path], Plan]
) -> Iterator[ReplayOutcome]:
    """Replay each case for all implementations and profiles of its plan; yield the outcomes.

    Errors: `BadPlan` for a mistake that would affect all cases.
    """
    for file in files:
        try:
            plan = plan_for(file)
        except NothingToJudge as nothing:
            yield ReplayOutcome(str(file), "UNJUDGED", why=str(nothing))
            continue
        except UnusableCase as error:
            yield ReplayOutcome(str(file), "ERROR", why=str(error), status=STATUS["ERROR"])
            continue
        session = Session(plan, ignore_event, alone=False)
        try:
            for run in session.runs.values():
                yield _outcome(str(file), run)
        finally:
            session.close()


def _outcome(file: str, run: Run) -> ReplayOutcome:
    verdicts = [run.verdict(rule) for rule in rules_reached(run, run.rules)]
    word, telling = _worst_outcome(verdicts)
    if word == "UNJUDGED" and not telling:
        if answer_is_all_demanded(run, run.rules):
            said = ANSWERED.format(profile=run.profile)
            return ReplayOutcome(file, "FIXED", run.name, run.profile, why=said)
        return ReplayOutcome(
            file, word, run.name, run.profile, why=why_no_rule_applies(run, run.rules)
        )
    if word == "FIXED" and (doubt := why_not_fixed(run)):
        return ReplayOutcome(file, "UNJUDGED", run.name, run.profile, why=doubt)
    why = telling[0].why if word in ("ERROR", "UNJUDGED") else ""
    rules = tuple(one.rule for one in telling)
    status = max(one.exit_status(False) for one in telling)
    return ReplayOutcome(file, word, run.name, run.profile, rules, why, status)


def _worst_outcome(verdicts: Sequence[Verdict]) -> tuple[Word, list[Verdict]]:
    """Return the worst outcome and the verdicts that have it."""
    worst: Sequence[tuple[str, Word]] = (
        ("error", "ERROR"),
        ("fail", "FAILED"),
        ("known_deviation", "KNOWN"),
        ("undecided", "UNJUDGED"),
        ("pass", "FIXED"),
    )
    for verdict, word in worst:
        if telling := [one for one in verdicts if one.verdict == verdict]:
            return word, telling
    return "UNJUDGED", []


def write_outcomes(outcomes: Sequence[ReplayOutcome], out: Path) -> Path:
    """Write the outcomes to `replayed.jsonl`, one JSON object per line; return its path."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "replayed.jsonl"
    lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in outcomes]
    file.write_text("".join(lines), "utf-8")
    return file


def count_outcomes(outcomes: Sequence[ReplayOutcome]) -> str:
    """Format the number of cases with each outcome."""
    counts = Counter(one.outcome for one in outcomes)
    return ", ".join(f"{counts[word]} {word}" for word in STATUS if counts[word])
