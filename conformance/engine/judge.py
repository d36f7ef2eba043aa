"""Judge: applies rules to an implementation, under given readings."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.cases.legality import matches
from pulsar_conformance.conformance.common.events import Listener, RuleJudged
from pulsar_conformance.conformance.common.trial import Json, KnownAnswers, Trial
from pulsar_conformance.conformance.engine.ask import (
    AnsweredTrial,
    AnsweredTrialsByRule,
    AskedTrials,
    answered_trials,
)
from pulsar_conformance.conformance.engine.draw import SourcedTrial
from pulsar_conformance.conformance.engine.evaluate import (
    Choices,
    Domains,
    Evidence,
    Fault,
    Outcome,
    RecordingReadings,
    RuleEvaluator,
    consulted_readings,
)
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.readings import (
    AnswersByReading,
    ResolvedReadings,
    before_asking,
    deciding_rules,
)
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.reference.context import Context

OutcomesByRule = Mapping[str, Sequence[Outcome]]
"""For each rule, by ID, the outcomes of its trials, in their order."""

MAX_RANDOM_ANSWERS = 64
"""Maximum number of distinct answers to enumerate if a release decides at random."""

NOT_CONCERNED = Outcome("not_reached", why="the rule does not apply to the case")
"""Outcome of an unanswered saved case to which the rule does not apply."""

ILLEGAL = Outcome("not_reached", why="the case leaves out a setting that these readings need")

RELEASE_DIFFERS = Outcome("not_reached", why="the release itself decides otherwise here")

NO_MODEL = Outcome("not_reached", why="the model of the release has no answer to the case")

DECISIVE = frozenset({"allowed", "violated"})


@dataclass(frozen=True)
class JudgedImplementation:
    """An implementation and the readings by which it is judged."""

    implementation: Implementation
    resolved: ResolvedReadings
    evaluator: RuleEvaluator

    @classmethod
    def of(cls, implementation: Implementation, resolved: ResolvedReadings) -> JudgedImplementation:
        """Return an implementation together with the readings by which it is judged."""
        return cls(implementation, resolved, resolved.evaluator)

    @classmethod
    def before_asking(cls, implementation: Implementation) -> JudgedImplementation:
        """Return an implementation with its pinned and declared readings, or else defaults."""
        return cls.of(implementation, before_asking(implementation))

    def choosing(self, choices: Choices) -> JudgedImplementation:
        """Return a copy in which these alternatives of open readings are in force."""
        return self.of(self.implementation, self.resolved.choosing(choices))

    def inapplicable(self, rule: specs.Rule) -> str | None:
        """Return why a rule does not apply to the implementation, or None."""
        return self.implementation.why_not_offered(rule) or self.resolved.why_not(rule)

    @property
    def outcome_key(self) -> Hashable:
        """Everything that affects an outcome, except the rule, the trial and the answers."""
        choices = frozenset(self.evaluator.readings.choices.items())
        return self.resolved.profile, choices, self.implementation.neutral

    @property
    def released(self) -> bool:
        """True if the implementation is compared with a release's decisions."""
        return specs.load().profile(self.resolved.profile).released

    @property
    def model(self) -> Model:
        """The model under the same profile, readings and hidden settings."""
        readings = self.evaluator.readings
        context = Context.of(self.resolved.profile, readings.choices, self.implementation.neutral)
        return Model(self.resolved.profile, context=replace(context, readings=readings))

    def model_answers(self, trial: Trial) -> list[Json] | None:
        """Return the model's answers to a trial; None if the model does not answer."""
        return next(distinct_answers(self.model, trial, 1), None)

    def may_apply_to_trial(self, trial: Trial) -> bool:
        """True if some rule applies to the model's answers to a trial, or if the model has no
        answer.

        The result is stored, because every rule needs it for a saved trial that got no answer.
        """
        known, key = self._applicability, trial.fingerprint
        if key not in known:
            right = self.model_answers(trial)
            known[key] = right is None or any(
                self.evaluator.judge(rule.id, trial, right).word in DECISIVE
                for rule in specs.load().rules_of(self.resolved.profile)
                if trial.operations & {*rule.operations} and not rule.untestable
                if self.inapplicable(rule) is None
            )
        return known[key]

    @cached_property
    def _applicability(self) -> dict[str, bool]:
        """The results of `may_apply_to_trial`, by the trial's fingerprint."""
        return {}

    def possible_model_answers(self, trial: Trial) -> Iterator[list[Json]]:
        """Yield the answers that the model can give: several if it decides at random."""
        return distinct_answers(self.model, trial, MAX_RANDOM_ANSWERS)


def distinct_answers(model: Model, trial: Trial, most: int) -> Iterator[list[Json]]:
    """Yield up to `most` distinct answers of the model; nothing if it cannot answer."""
    seen: list[list[Json]] = []
    if not trial.operations <= set(model.operations):
        return
    for _ in range(most):
        try:
            answers = [model.answer(operation, case) for operation, case in trial.questions]
        except MissingSetting:
            return
        if answers in seen:
            return
        seen.append(answers)
        yield answers


@dataclass(frozen=True)
class AppliedRule:
    """A rule and the implementation judged by it."""

    rule: specs.Rule
    judged: JudgedImplementation

    @property
    def costly(self) -> bool:
        """True if the implementation needs seconds for each of the rule's cases."""
        return self.judged.implementation.costly(self.rule)

    def outcome(self, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """Judge answers by the rule.

        Under a release's profile, a violation does not count if the release's model also violates
        the rule, can give the same answer by random choice, or has no answer.
        """
        found = self._judge(trial, answers)
        if found.violated and self.judged.released:
            right = self.judged.model_answers(trial)
            if right is None or any("unsupported" in answer for answer in right):
                return NO_MODEL
            release = self._judge(trial, right)
            if release.violated and release.unanswered >= found.unanswered:
                return RELEASE_DIFFERS
            possible = self.judged.possible_model_answers(trial)
            if any(_answers_match(trial, answers, one) for one in possible):
                return RELEASE_DIFFERS
        return found

    def outcome_word(self, trial: Trial, answers: Sequence[Json]) -> str:
        """Return the outcome as a word; `not_reached` if an invalid trial violates the rule."""
        word = self.outcome(trial, answers).word
        illegal = word == "violated" and not self.judged.evaluator.legal(trial)
        return "not_reached" if illegal else word

    def outcome_of(self, sourced: SourcedTrial, answers: Sequence[Json]) -> Outcome:
        """Judge the answers to a trial of any source.

        Saved cases and worked examples may be invalid under the readings in force. An unanswered
        saved case counts only for rules that apply to the model's answer, if there are any;
        otherwise the case would violate every rule of its operation.
        """
        if sourced.origin in ("saved", "example"):
            if not self.judged.evaluator.legal(sourced.trial):
                return ILLEGAL
            if sourced.origin == "saved" and any("failed" in one for one in answers):
                right = self.judged.model_answers(sourced.trial)
                if (
                    right is not None
                    and self.outcome(sourced.trial, right).word not in DECISIVE
                    and self.judged.may_apply_to_trial(sourced.trial)
                ):
                    return NOT_CONCERNED
        return self.outcome(sourced.trial, answers)

    def consulted(self, trial: Trial, answers: Sequence[Json]) -> Choices:
        """Return the readings on which the outcome depends, with the alternatives in force."""
        return consulted_readings(self.rule, self.judged.evaluator, trial, answers)

    def breaks_a_rule(self, trial: Trial, answers: Sequence[Json], domains: Domains) -> bool:
        """True if answers violate this rule, or a related rule, under every choice of readings.

        Related rules count because this rule might not apply under some alternatives. `domains` has
        the possible alternatives of each reading.
        """
        others = deciding_rules(self.judged.resolved.profile, trial.operations)
        rules = [self.rule, *(one for one in others if one.id != self.rule.id)]
        return not Evidence(self.judged.evaluator, rules, trial, answers).allows(domains)

    def is_certain(self, fault: Fault) -> bool:
        """True if a fault violates some rule whichever alternatives of open readings are chosen."""
        resolved = self.judged.resolved
        if not resolved.open.keys() & self.consulted(fault.trial, fault.answers).keys():
            return True
        return self.breaks_a_rule(fault.trial, fault.answers, resolved.domains)

    def model_shows_why(self, trial: Trial) -> bool:
        """True if the model's answer shows why the implementation's is wrong: the rule applies to
        the model's answer, and allows it.
        """
        right = self.judged.model_answers(trial)
        return right is not None and self.outcome(trial, right).word == "allowed"

    def _judge(self, trial: Trial, answers: Sequence[Json]) -> Outcome:
        return self.judged.evaluator.judge(self.rule.id, trial, answers)


def _answers_match(trial: Trial, answers: Sequence[Json], others: Sequence[Json]) -> bool:
    """True if two lists of answers to a trial contain the same decisions."""
    three = zip(trial.questions, others, answers, strict=True)
    return all(matches(question.operation, *pair) for question, *pair in three)


@dataclass(frozen=True)
class CollectedAnswers:
    """All trials that were asked, with their answers."""

    by_rule: AnsweredTrialsByRule
    by_reading: AnswersByReading
    controls: AnswersByReading
    outcomes: OutcomesByRule | None
    """The outcomes of each rule's trials; None if they depend on open readings."""
    errors: Mapping[str, AdapterError]
    """The error of each rule whose trials could not be asked, by rule ID."""
    known: KnownAnswers[Outcome]

    def with_shared_faults(self, faults: AnsweredTrialsByRule) -> CollectedAnswers:
        """Return a copy in which each rule also judges its `faults`, trials of other rules."""
        shared = {name: [*row, *faults.get(name, ())] for name, row in self.by_rule.items()}
        return replace(self, by_rule=shared, outcomes=None)


def collect_answers(
    asked: AskedTrials,
    plan: Plan,
    judged: JudgedImplementation,
    notify: Listener,
) -> CollectedAnswers:
    """Wait for the answers to each rule's trials, in the order in which they are asked.

    If no reading is open, each rule is judged when its answers arrive, while more trials are asked.
    """
    by_rule: dict[str, Sequence[AnsweredTrial]] = {}
    outcomes: dict[str, Sequence[Outcome]] = {}
    errors: dict[str, AdapterError] = {}
    resolved, may_apply_to_trial = judged.resolved, _MayApplyToTrial(judged)
    for rule in (rule for group in asked.groups for rule in group):
        notify(RuleJudged(judged.implementation.name, rule.id))
        serving = answered_trials(rule, asked, plan, judged.implementation, may_apply_to_trial)
        try:
            by_rule[rule.id] = list(serving)
        except AdapterError as error:
            errors[rule.id] = error
            continue
        if not resolved.open and resolved.applies(rule):
            outcomes[rule.id] = outcomes_of(rule, by_rule[rule.id], judged, plan.known)
    by_reading, controls = (
        {name: _answered_trials(asked, trials.get(name, ())) for name in resolved.open}
        for trials in (asked.by_reading, asked.controls)
    )
    outcomes_known = None if resolved.open else outcomes
    return CollectedAnswers(by_rule, by_reading, controls, outcomes_known, errors, plan.known)


def _answered_trials(
    asked: AskedTrials, trials: Iterable[SourcedTrial]
) -> list[tuple[Trial, Sequence[Json]]]:
    """Return the trials that were answered, with their answers."""
    found: list[tuple[Trial, Sequence[Json]]] = []
    for one in trials:
        with suppress(AdapterError):  # Verdicts report the error.
            found.append((one.trial, asked.dispatcher.answers(one)))
    return found


class _MayApplyToTrial:
    """Decides whether a rule applies to the model's answers; true if the model has none."""

    def __init__(self, judged: JudgedImplementation) -> None:
        self._judged = judged
        self._model_answers: dict[str, Sequence[Json] | None] = {}

    def __call__(self, rule: specs.Rule, trial: Trial) -> bool:
        if trial.fingerprint not in self._model_answers:
            self._model_answers[trial.fingerprint] = self._judged.model_answers(trial)
        right = self._model_answers[trial.fingerprint]
        if right is None:
            return True
        return self._judged.evaluator.judge(rule.id, trial, right).word != "not_reached"


def outcomes_of(
    rule: specs.Rule,
    answered: Sequence[AnsweredTrial],
    judged: JudgedImplementation,
    known: KnownAnswers[Outcome] | None = None,
) -> list[Outcome]:
    """Return the outcome of each of a rule's trials.

    If another implementation gave the same answer and was judged under the same readings, its
    outcome is taken from `known`.
    """
    applied, found = AppliedRule(rule, judged), []
    kept = {} if known is None else known.outcomes(judged.outcome_key)
    for sourced, answers in answered:
        key = rule.id, sourced.origin, id(sourced.trial)
        first, outcome = kept.get(key) or (None, None)
        if outcome is None or first is not answers:
            outcome = applied.outcome_of(sourced, answers)
            kept.setdefault(key, (answers, outcome))
        found.append(outcome)
    return found


class JudgedModel:
    """The model's answers to trials and their judgments, shared by several implementations.

    Implementations share them if they follow the same alternatives of the readings that the model
    and the rules looked up.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        judged: JudgedImplementation,
        answers: Sequence[Sequence[Json]] = (),
    ) -> None:
        """Use `answers` as the model's answers, if given; such answers are not shared."""
        self._trials = trials
        self._neutral = judged.implementation.neutral
        self._consulting = RecordingReadings(judged.evaluator.readings.choices)
        self._words: dict[str, list[str]] = {}
        self._shared = not answers
        model = self._with_recording(judged).model
        self.answers: Sequence[Sequence[Json] | None] = answers or [
            next(distinct_answers(model, trial, 1), None) for trial in trials
        ]

    def holds_for(self, judged: JudgedImplementation) -> bool:
        """True if an implementation follows the same alternatives of all consulted readings."""
        chosen = judged.evaluator.readings.choices
        return (
            self._shared
            and self._neutral == judged.implementation.neutral
            and self._consulting.consulted.items() <= chosen.items()
        )

    def words(
        self, judged: JudgedImplementation, rules: Sequence[specs.Rule]
    ) -> Sequence[Sequence[str]]:
        """Return each rule's judgments of the answers, in the order of the trials.

        A judgment is empty if the model has no answer.
        """
        recorded = self._with_recording(judged)
        missing = [AppliedRule(one, recorded) for one in rules if one.id not in self._words]
        found: list[list[str]] = [[] for _ in missing]
        # All rules judge one trial before the next, because few parsed trials are kept.
        for trial, answers in zip(self._trials, self.answers, strict=True) if missing else ():
            for words, applied in zip(found, missing, strict=True):
                words.append("" if answers is None else applied.outcome_word(trial, answers))
        self._words |= {one.rule.id: words for one, words in zip(missing, found, strict=True)}
        return [self._words[one.id] for one in rules]

    def _with_recording(self, judged: JudgedImplementation) -> JudgedImplementation:
        """Return the same implementation with readings that record which of them are consulted."""
        return replace(judged, evaluator=judged.evaluator.under(self._consulting))
