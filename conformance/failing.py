"""A failing trial, made as small as can be, saved, and told to a person."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import saved
from pulsar_conformance.conformance.blame import broken_beneath
from pulsar_conformance.conformance.judge import Outcome
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.reduce import reduce
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.conformance.verdict import Failure
from pulsar_conformance.reference import Model


def smallest(rule: specs.Rule, respondent: Respondent, trial: Trial) -> Trial:
    """The smallest legal trial on which the implementation breaks the same rule.

    The trial as it was where it does not fail again, or where the implementation itself breaks
    down on the way.
    """

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(filter(respondent.court.legal, candidates))
        broken = dict(zip(map(id, legal), violations(rule, respondent, legal), strict=True))
        return [broken.get(id(one)) is not None for one in candidates]

    try:
        return reduce(trial, failing) if failing([trial]) == [True] else trial
    except AdapterError:
        return trial


def violations(
    rule: specs.Rule, respondent: Respondent, trials: Sequence[Trial]
) -> list[Outcome | None]:
    """For each trial how the rule, and nothing that it builds on, is broken; or none."""
    answered = respondent.answers(trials)
    outcomes = [
        respondent.court.judge(rule.id, trial, answers)
        for trial, answers in zip(trials, answered, strict=True)
    ]
    return blamed(rule, respondent, trials, answered, outcomes)


def blamed(
    rule: specs.Rule,
    respondent: Respondent,
    trials: Sequence[Trial],
    answered: Sequence[list[Json]],
    outcomes: Sequence[Outcome],
) -> list[Outcome | None]:
    """The outcomes that are violations of this rule and of nothing that it builds on."""
    broken = [place for place, outcome in enumerate(outcomes) if outcome.violated]
    beneath = broken_beneath(
        rule, respondent, [(trials[place], answered[place]) for place in broken]
    )
    own = {place for place, other in zip(broken, beneath, strict=True) if other is None}
    return [outcome if place in own else None for place, outcome in enumerate(outcomes)]


def failure_of(rule: specs.Rule, respondent: Respondent, plan: Plan, trial: Trial) -> Failure:
    """The failure of a rule on a trial that it was seen to fail on, reduced and saved."""
    replayed = plan.replay is not None
    small = trial if replayed else smallest(rule, respondent, trial)
    [outcome] = violations(rule, respondent, [small])
    if outcome is None:
        [small, outcome] = [trial, Outcome("violated", "the same answer", "another one each time")]
    about = {"profile": respondent.profile, "readings": dict(respondent.readings.choices)}
    file = plan.replay_file if replayed else saved.save(small, plan.root, about).as_posix()
    return Failure(
        case_file=file,
        size=small.size,
        derivation=tuple(derivation(respondent, small)),
        allowed=outcome.allowed,
        answered=outcome.answered,
        again=again(respondent, plan, "--replay", file),
    )


def derivation(respondent: Respondent, trial: Trial) -> list[str]:
    """How the reference comes to its answers under the same readings."""
    model = Model(respondent.profile, respondent.readings.choices)
    lines = []
    for (operation, case), again in groupby(trial.questions):
        times = len(list(again))
        if operation in model.operations:
            lines += [f"asked {times} times"] if times > 1 else []
            lines += model.derive(operation, case).lines()
    return lines


def again(respondent: Respondent, plan: Plan, *what: str) -> str:
    """The command that shows a failing case, or the failure of a rule, again."""
    words = ["nox", "-s", "conformance", "--", "--adapter", respondent.adapter]
    words += ["--judge-by", respondent.profile]
    for name, value in plan.readings.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join([*words, *what])
