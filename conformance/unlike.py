"""A worked example that is answered otherwise than by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.blame import broken_beneath
from pulsar_conformance.conformance.failing import again, derivation
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Question, Trial
from pulsar_conformance.conformance.trials import Tried
from pulsar_conformance.conformance.verdict import Failure


def first_unlike(
    rule: specs.Rule,
    respondent: Respondent,
    plan: Plan,
    asked: Iterable[tuple[Tried, list[Json]]],
) -> Failure | None:
    """The failure of the first worked example that is answered otherwise than by hand.

    It is held against the first rule that the example names, unless a check knows better: one
    that finds fault with the answer says more than that it is another one.
    """
    for one, answers in asked:
        example = one.example
        if example is None or example.rules[0] != rule.id or _declined(answers):
            continue
        right = example.allowed is None or fixtures.allows(example, answers)
        if not right and not _faulted(rule, respondent, one.trial, answers):
            return unlike(rule, example, respondent, plan, answers)
    return None


def _declined(answers: Sequence[Json]) -> bool:
    return any("unsupported" in answer for answer in answers)


def _faulted(rule: specs.Rule, respondent: Respondent, trial: Trial, answers: list[Json]) -> bool:
    """Whether a check finds fault with the answers, or a rule is broken that this builds on."""
    every = specs.load().rules_of(respondent.profile)
    chosen = (one for one in every if one.id in CHECKS and one.applies(respondent.readings.choices))
    apart = [
        (Trial((one,)), [answer]) for one, answer in zip(trial.questions, answers, strict=True)
    ]
    judge = respondent.court.judge
    if any(judge(one.id, *part).violated for one in chosen for part in ((trial, answers), *apart)):
        return True
    [beneath] = broken_beneath(rule, respondent, [(trial, answers)])
    return beneath is not None


def unlike(
    rule: specs.Rule,
    example: fixtures.Example,
    respondent: Respondent,
    plan: Plan,
    answers: Sequence[Json],
) -> Failure:
    """The failure of a rule on a worked example that is answered otherwise than by hand."""
    trial = Trial(tuple(Question(*question) for question in example.questions))
    return Failure(
        case_file=place_of(example),
        size=f"worked example {example.id}",
        derivation=(*example.arithmetic, *derivation(respondent, trial)),
        allowed=" or ".join(map(_as_json, example.allowed or ())),
        answered=_as_json(answers),
        again=again(respondent, plan, "--rules", rule.id),
    )


def place_of(example: fixtures.Example) -> str:
    """File and line of a worked example."""
    return f"fixtures/{example.file}:{example.line}"


def _as_json(answers: Sequence[Json]) -> str:
    """The answer to each question of a trial, as JSON."""
    return json.dumps(answers[0] if len(answers) == 1 else answers, ensure_ascii=False)
