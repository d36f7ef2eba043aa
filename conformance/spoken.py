"""Whether a rule has anything to say of a case that an implementation failed to answer."""

from __future__ import annotations

from pulsar_conformance import specs
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.trial import Trial
from pulsar_conformance.reference import MissingSetting, Model

SPOKEN = frozenset({"allowed", "violated"})


def speaks_of(rule: specs.Rule, respondent: Respondent, trial: Trial) -> bool:
    """Whether the rule is reached by what the model answers; true where the model answers nothing.

    A failure tells nothing of the case: without this, a saved one would break every rule of its
    operation.
    """
    model = Model(respondent.profile, respondent.readings.choices)
    if not trial.operations <= set(model.operations):
        return True
    try:
        answers = [model.answer(operation, case) for operation, case in trial.questions]
    except MissingSetting:
        return True
    return respondent.court.judge(rule.id, trial, answers).word in SPOKEN
