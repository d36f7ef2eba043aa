"""Evaluate: judges a trial and its answers by rules, under one or several choices of readings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.legality import Defaults, lacks_setting, trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS, checks
from pulsar_conformance.conformance.common.check import (
    Expect,
    LeftUnanswered,
    NotReached,
    Violated,
)
from pulsar_conformance.conformance.common.events import AN_ANSWER
from pulsar_conformance.conformance.common.trial import Exchange, Json, Question, Trial, canonical
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.context import WithoutAnswer

if TYPE_CHECKING:
    from pulsar_conformance.reference.released.release import ReleasedWays

Judgment = Literal["allowed", "violated", "not_reached", "unsupported"]


@dataclass(frozen=True)
class Outcome:
    """A rule's judgment of a trial and its answers."""

    word: Judgment
    allowed: str = ""
    """If the rule is violated: the answer that it allows."""
    answered: str = ""
    """If the rule is violated: the answer that was given."""
    why: str = ""
    """The reason why the rule does not apply or the question is unsupported."""
    unanswered: bool = False
    """True if the violation is a missing answer."""

    @property
    def violated(self) -> bool:
        """True if the rule was violated."""
        return self.word == "violated"


@dataclass(frozen=True)
class Fault:
    """Answers that violate a rule."""

    trial: Trial
    answers: Sequence[Json]
    outcome: Outcome
    recurrence: str = ""
    """How often the fault recurred, such as "2 of 3 times"; empty if it always recurred."""


MAX_PARSED_TRIALS = 512
"""Maximum number of parsed trials to keep; many rules judge the same trial."""

ALLOWED = Outcome("allowed")
UNREACHED = Outcome("not_reached", why="nothing in the case concerns the rule")
OTHER_QUESTIONS = Outcome("not_reached", why="the rule judges other questions")


class RuleEvaluator:
    """Judges answered trials by rules, under one profile's defaults and one set of readings.

    Under a release's profile, cases with settings that the release refuses are not judged, because
    the release's decision is unknown and need not follow the documents.
    """

    def __init__(
        self, defaults: Defaults, readings: Readings, release: ReleasedWays | None = None
    ) -> None:
        self.defaults = defaults
        self.readings = readings
        self.release = release
        self._parsed: dict[tuple[int, int], tuple[Trial, Sequence[Json], list[Exchange]]] = {}

    def under(self, readings: Readings) -> RuleEvaluator:
        """Return a copy of the evaluator that judges under other readings."""
        return RuleEvaluator(self.defaults, readings, self.release)

    def legal(self, trial: Trial) -> bool:
        """True if a trial is valid, so that its answers can be judged."""
        return trial_flaw(trial, self.defaults, self.readings) is None

    def lacks_setting(self, trial: Trial) -> bool:
        """True if a trial is invalid only because these readings need a setting that it lacks."""
        return lacks_setting(trial, self.defaults, self.readings)

    def judge(self, rule: str, trial: Trial, answers: Sequence[Json]) -> Outcome:
        """Judge the answers to a trial by a rule: `not_reached` if the rule does not apply."""
        check = checks()[rule]
        if not check.judges(trial):
            return OTHER_QUESTIONS
        for answer in answers:
            if "unsupported" in answer:
                return Outcome("unsupported", why=str(answer["unsupported"]))
        refused = None if self.release is None else refused_setting(trial, self.release)
        if refused is not None:
            return Outcome("not_reached", why=refused)
        expect = Expect(self.readings)
        try:
            exchanges = self._exchanges(trial, answers)
            if not check.predicate.sees_declined:
                _demand_answers(exchanges)
            check.predicate.demand(exchanges, expect)
        except NotReached as outside:
            return Outcome("not_reached", why=str(outside))
        except LeftUnanswered as missing:
            return Outcome("violated", missing.allowed, missing.answered, unanswered=True)
        except Violated as violated:
            return Outcome("violated", violated.allowed, violated.answered)
        return ALLOWED if expect.was_reached else UNREACHED

    def _exchanges(self, trial: Trial, answers: Sequence[Json]) -> list[Exchange]:
        """Return a trial's exchanges in the types that checks see, parsed once for all rules."""
        key = id(trial), id(answers)
        if key not in self._parsed:
            if len(self._parsed) >= MAX_PARSED_TRIALS:
                self._parsed.pop(next(iter(self._parsed)))
            pairs = zip(trial.questions, answers, strict=True)
            # Each entry keeps its trial and answers alive, so that their ids cannot be reused.
            self._parsed[key] = trial, answers, [self._exchange(*pair) for pair in pairs]
        return self._parsed[key][2]

    def _exchange(self, question: Question, answer: Json) -> Exchange:
        operation = OPERATIONS[question.operation]
        return Exchange(operation.id, question.case, answer, self.view(question), operation.read)

    def view(self, question: Question) -> Any:
        """Return a question's case in the type that checks of its operation see."""
        settings = Settings(question.case.get("settings", {}), self.defaults)
        return OPERATIONS[question.operation].view(question.case, settings, self.readings)


def refused_setting(trial: Trial, release: ReleasedWays) -> str | None:
    """Return why a release refuses a setting of a trial's cases, or None."""
    for question in trial.questions:
        try:
            release.settings(question.case.get("settings", {}), {})
        except WithoutAnswer as error:
            return f"'{release.title}' refuses it: {error}"
    return None


def _demand_answers(exchanges: Sequence[Exchange]) -> None:
    """Raise `LeftUnanswered` for the first question that has no answer.

    A refusal counts as an answer if a rule covers refused requests.
    """
    for one in exchanges:
        reason = why_unanswered(Question(one.operation, one.case), one.answer)
        if reason is not None:
            raise LeftUnanswered(AN_ANSWER, reason)


def why_unanswered(question: Question, answer: Json) -> str | None:
    """Return the refusal or error given instead of an answer; None if there is an answer."""
    return OPERATIONS[question.operation].why_unanswered(answer)


Choices = Mapping[str, str]
"""The chosen alternative of some or all readings, by reading."""

Domains = Mapping[str, Sequence[str]]
"""The remaining alternatives of each reading, likeliest first."""


class RecordingReadings(Readings):
    """Readings that record which readings are looked up."""

    _recorded: set[str]

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        object.__setattr__(self, "_recorded", set())

    def __getitem__(self, name: str) -> str:
        self._recorded.add(name)
        return self.choices[name]

    @property
    def consulted(self) -> Choices:
        """The readings looked up so far, with their alternatives."""
        return {name: self.choices[name] for name in sorted(self._recorded)}


def consulted_readings(
    rule: specs.Rule, evaluator: RuleEvaluator, trial: Trial, answers: Sequence[Json]
) -> Choices:
    """Return the readings on which a rule's judgment depends, with their alternatives."""
    recording = RecordingReadings(evaluator.readings.choices)
    evaluator.under(recording).judge(rule.id, trial, answers)
    return {**recording.consulted, **rule.reading}


@dataclass(frozen=True)
class Conflict:
    """A rule, and a choice of some readings under which the answers violate it."""

    rule: str
    choices: Choices


@dataclass(frozen=True)
class Evidence:
    """An answered trial, and the conflicts found by judging it under some readings."""

    evaluator: RuleEvaluator
    rules: Sequence[specs.Rule]
    """The rules by which the answers are judged."""
    trial: Trial
    answers: Sequence[Json]
    conflicts: list[Conflict] = field(default_factory=list)
    """The choices that have been tried and under which a rule is violated."""
    fits: list[Choices] = field(default_factory=list)
    """The choices that have been tried and under which every rule allows the answers."""

    def allows(self, domains: Domains) -> bool:
        """True if the answers violate no rule under at least one choice of readings."""
        return any(map(self._fits_choices, _without_conflict(domains, self.conflicts)))

    def always_broken(self, domains: Domains) -> Iterator[str]:
        """Yield the rules that the answers violate under every choice of readings."""
        for rule in self.rules:
            if not Evidence(self.evaluator, [rule], self.trial, self.answers).allows(domains):
                yield rule.id

    def violated_rules(self) -> Iterator[str]:
        """Yield the rules that are violated under the readings for which they are stated."""
        for rule in self.rules:
            readings = Readings({**self.evaluator.readings.choices, **rule.reading})
            judge = self.evaluator.under(readings).judge
            if judge(rule.id, self.trial, self.answers).violated:
                yield rule.id

    def judged_without(self, rules: Collection[str]) -> Evidence:
        """Return a copy in which the answers are not judged by these rules."""
        left = [one for one in self.rules if one.id not in rules]
        return Evidence(self.evaluator, left, self.trial, self.answers)

    @property
    def complaint(self) -> str:
        """A sentence that names the rules that the answers violate."""
        for one in self.conflicts:
            if not one.choices:
                return f"it breaks {one.rule} under every reading"
        return f"it breaks {' or '.join(dict.fromkeys(one.rule for one in self.conflicts))}"

    def _fits_choices(self, choices: Choices) -> bool:
        """True if the answers violate no rule under these choices; record conflicts.

        Rules that were violated under other choices are judged first.
        """
        if any(fit.items() <= choices.items() for fit in self.fits):
            return True
        suspects = {one.rule for one in self.conflicts}
        if not all(self._is_allowed(one, choices) for one in self.rules if one.id in suspects):
            return False
        recording = RecordingReadings(choices)
        evaluator = self.evaluator.under(recording)
        for rule in self.rules:
            applies = all(recording[name] == value for name, value in rule.reading.items())
            if applies and evaluator.judge(rule.id, self.trial, self.answers).violated:
                # Readings that only other rules consulted are not part of this conflict.
                return self._is_allowed(rule, choices)
        self.fits.append(recording.consulted)
        return True

    def _is_allowed(self, rule: specs.Rule, choices: Choices) -> bool:
        """True if a rule allows the answers or does not apply; otherwise record the conflict."""
        if any(choices[name] != value for name, value in rule.reading.items()):
            return True
        recording = RecordingReadings(choices)
        judge = self.evaluator.under(recording).judge
        if not judge(rule.id, self.trial, self.answers).violated:
            return True
        self.conflicts.append(Conflict(rule.id, {**recording.consulted, **rule.reading}))
        return False


def _without_conflict(domains: Domains, conflicts: Sequence[Conflict]) -> Iterator[Choices]:
    """Yield choices of all readings that contain no known conflict, the likeliest choice first.

    The caller adds the conflicts that it finds under a choice to `conflicts` before it requests the
    next one.
    """
    turns: dict[str, int] = {}
    """Index of the current alternative of each reading that is part of a conflict.

    The last reading changes first, as the last digit of a counter does.
    """
    excluded: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    seen = 0
    while True:
        for one in conflicts[seen:]:
            excluded.setdefault(tuple(one.choices), set()).add(tuple(one.choices.values()))
            turns = {**turns, **{name: 0 for name in one.choices if name not in turns}}
        seen = len(conflicts)
        chosen = {name: values[turns.get(name, 0)] for name, values in domains.items()}
        found = [
            names for names, those in excluded.items() if tuple(chosen[n] for n in names) in those
        ]
        if not found:
            yield chosen
        elif not _next_turns(turns, found, domains):
            return


def _next_turns(
    turns: dict[str, int], conflicting: Sequence[Sequence[str]], domains: Domains
) -> bool:
    """Advance `turns` to the next choice without the current conflicts; False if none is left.

    `conflicting` lists the readings of each conflict in the current choice.
    """
    order = list(turns)
    places = {name: place for place, name in enumerate(order)}
    place = min(max((places[name] for name in names), default=-1) for names in conflicting)
    for later in order[place + 1 :]:
        turns[later] = 0
    while place >= 0:
        name = order[place]
        turns[name] += 1
        if turns[name] < len(domains[name]):
            return True
        turns[name] = 0
        place -= 1
    return False


def without_broken_rules(
    evidence: Mapping[str, Sequence[Evidence]], domains: Domains
) -> dict[str, list[Evidence]]:
    """Return the evidence that can decide readings.

    Answers that violate a rule under every reading are left out, and so are these rules. The cause
    of such a violation is a fault, which can look like an alternative in other trials: a balancer
    that never regards a broker as overloaded keeps its bundles, as it would if they were not
    allowed to move.
    """
    refuted = [one for each in evidence.values() for one in each if not one.allows(domains)]
    broken = {rule for one in refuted for rule in one.always_broken(domains)}
    left = {name: [one for one in each if one not in refuted] for name, each in evidence.items()}
    if not broken:
        return left
    return {name: [one.judged_without(broken) for one in each] for name, each in left.items()}


def narrow_domains(evidence: Mapping[str, Sequence[Evidence]], domains: Domains) -> Domains:
    """Return the alternatives of each reading that no evidence excludes.

    The evidence is examined repeatedly, because each reading that is decided helps to decide
    others.
    """
    while True:
        before = domains
        for reading, trials in evidence.items():
            left = common_alternatives(reading, trials, domains)
            if left:  # Empty if an implementation follows no alternative, or several.
                domains = {**domains, reading: left}
        if domains == before:
            return domains


def common_alternatives(
    reading: str, evidence: Iterable[Evidence], domains: Domains
) -> tuple[str, ...]:
    """Return the alternatives of a reading that the answers to every trial allow."""
    trials = list(evidence)
    return tuple(
        value
        for value in domains[reading]
        if all(one.allows({**domains, reading: [value]}) for one in trials)
    )


Disagreeing = Sequence[tuple[Trial, tuple[str, ...]]]
"""Trials without a common alternative of a reading, each with the alternatives that it allows."""


def disagreeing_trials(reading: str, evidence: Iterable[Evidence], domains: Domains) -> Disagreeing:
    """Return the two smallest trials that have no common alternative of a reading.

    The result is empty if every pair of trials has a common alternative.
    """
    smallest = sorted(evidence, key=lambda one: len(canonical(one.trial.as_json())))
    shown = [(one.trial, common_alternatives(reading, [one], domains)) for one in smallest]
    decided = [(trial, values) for trial, values in shown if values]
    return next(
        ((one, other) for one, other in combinations(decided, 2) if not {*one[1]} & {*other[1]}),
        (),
    )
