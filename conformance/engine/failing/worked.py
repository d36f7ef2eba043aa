"""Worked examples whose answers differ from those worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.matching import allows
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.common.verdict import Failure
from pulsar_conformance.conformance.engine.corpus import holds
from pulsar_conformance.conformance.engine.failing.retelling import again, derivation
from pulsar_conformance.conformance.engine.findings import Answered
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.judge import ALLOWED, Fault
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.subject import Subject


def first_unlike(hearing: Hearing, plan: Plan, asked: Iterable[Answered]) -> Failure | None:
    """The failure of the first worked example whose answer differs from that by hand.

    It counts against the first rule that the example names, unless a check rejects the answer: a
    check says more than that the answer differs.
    """
    subject = hearing.subject
    for one, answers in asked:
        example = one.example
        if example is None or example.rules[0] != hearing.rule.id or _declined(answers):
            continue
        if not _worked_for(example, subject) or not subject.court.legal(one.trial):
            continue
        if _decided_otherwise(example, subject, one.trial):
            continue
        right = example.demanded is None or allows(example, answers)
        if not right and not _faulted(hearing, one.trial, answers):
            return unlike(hearing, example, plan, one.trial, answers)
    return None


def _worked_for(example: fixtures.Example, subject: Subject) -> bool:
    """Whether an example was worked under readings that the implementation surely follows."""
    how = subject.followed.how
    sure = all(how[name] not in ("undecided", "mixed") for name in example.readings)
    return sure and holds(example, subject.court.readings)


def _decided_otherwise(example: fixtures.Example, subject: Subject, trial: Trial) -> bool:
    """Whether the release by whose profile is judged answers otherwise than was worked by hand."""
    right = subject.right(trial) if subject.released else None
    return right is not None and not allows(example, right)


def _declined(answers: Sequence[Json]) -> bool:
    return any("unsupported" in answer for answer in answers)


def _faulted(hearing: Hearing, trial: Trial, answers: Sequence[Json]) -> bool:
    """Whether a check rejects the answers, or a rule that this one builds on is broken."""
    subject = hearing.subject
    every = specs.load().rules_of(subject.followed.profile)
    chosen = [one for one in every if one.id in checks() and subject.followed.applies(one)]
    apart = [
        (Trial((one,)), [answer]) for one, answer in zip(trial.questions, answers, strict=True)
    ]
    judge = subject.court.judge
    if any(judge(one.id, *part).violated for part in ((trial, answers), *apart) for one in chosen):
        return True
    [blame] = hearing.blamed([Fault(trial, answers, ALLOWED)])
    return blame.rule is not None


def unlike(
    hearing: Hearing,
    example: fixtures.Example,
    plan: Plan,
    trial: Trial,
    answers: Sequence[Json],
) -> Failure:
    """The failure of a rule on a worked example whose answer differs from that by hand."""
    return Failure(
        case_file=place_of(example),
        size=f"worked example {example.id}",
        derivation=(*example.arithmetic, *derivation(hearing.subject, trial)),
        allowed=" or ".join(map(_as_json, example.allowed or ())),
        answered=_as_json(answers),
        again=again(hearing.subject, plan, "--rules", hearing.rule.id),
    )


def place_of(example: fixtures.Example) -> str:
    """The file and line of a worked example."""
    return f"fixtures/{example.file}:{example.line}"


def _as_json(answers: Sequence[Json]) -> str:
    """The answer to each question of a trial, as JSON."""
    return json.dumps(answers[0] if len(answers) == 1 else answers, ensure_ascii=False)
