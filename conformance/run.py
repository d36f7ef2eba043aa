"""One implementation judged by one profile: draw, ask, judge, reduce."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import checks, saved
from pulsar_conformance.conformance.aside import Asking, at_once, settle
from pulsar_conformance.conformance.deviations import Deviation
from pulsar_conformance.conformance.failing import blamed, failure_of, violations
from pulsar_conformance.conformance.judge import Outcome
from pulsar_conformance.conformance.plan import Plan
from pulsar_conformance.conformance.registry import CHECKS
from pulsar_conformance.conformance.respondent import Respondent
from pulsar_conformance.conformance.spoken import speaks_of
from pulsar_conformance.conformance.trial import Json, Trial
from pulsar_conformance.conformance.trials import Tried, trials_of
from pulsar_conformance.conformance.unlike import first_unlike
from pulsar_conformance.conformance.verdict import Verdict
from pulsar_conformance.specs.words import counted

assert checks.__all__, "importing the checks registers them"

Progress = Callable[[str], None]


Answers = Future[list[list[Json]]]
"""To questions that were asked together, each by itself."""


class Run:
    """Judges one implementation by one profile, rule by rule.

    The cases of an operation are asked together, for all rules that `prepare` is given; a rule
    that was not prepared is prepared by itself. `asking` says where; what is in this process is
    asked at once.
    """

    def __init__(
        self,
        plan: Plan,
        adapter: str,
        profile: str,
        progress: Progress | None = None,
        asking: Asking = at_once,
    ) -> None:
        self.plan = plan
        self.adapter = adapter
        self.profile = profile
        self._progress = progress or (lambda _text: None)
        self._asking = asking
        self._closed = False
        self._respondent: Respondent | AdapterError | None = None
        self._tried: dict[str, list[Tried]] = {}
        self._places: dict[str, list[list[tuple[Answers, int]]]] = {}
        """By rule, trial and question, where the answer will be."""

    @property
    def respondent(self) -> Respondent:
        """The implementation. Errors: `AdapterError`, the same one each time."""
        if self._respondent is None:
            try:
                self._respondent = Respondent(
                    self.adapter, self.profile, self.plan.readings, self.plan.limits
                )
            except AdapterError as error:
                self._respondent = error
        if isinstance(self._respondent, AdapterError):
            raise self._respondent
        return self._respondent

    @property
    def in_process(self) -> bool:
        """Whether it works in this process, as far as is known."""
        return isinstance(self._respondent, Respondent) and self._respondent.in_process

    @property
    def name(self) -> str:
        """What the implementation calls itself, or its adapter where it says nothing."""
        try:
            return self.respondent.name
        except AdapterError:
            return self.adapter

    @property
    def notes(self) -> list[str]:
        """What the implementation tells of how it worked so far."""
        return self._respondent.told() if isinstance(self._respondent, Respondent) else []

    def close(self) -> None:
        """Ends the connection, and asks nothing any more."""
        self._closed = True
        if isinstance(self._respondent, Respondent):
            self._respondent.close()

    def prepare(self, rules: Sequence[specs.Rule]) -> None:
        """Draws the trials of these rules, and has them asked."""
        self.draw(rules)
        self.ask()

    def draw(self, rules: Sequence[specs.Rule]) -> None:
        """Draws the trials of those rules that have none yet."""
        for rule in rules:
            if rule.id not in self._tried and not self.respondent.inapplicable(rule):
                self._progress(f"{self.name}: drawing {rule.id}")
                self._tried[rule.id] = list(trials_of(rule, self.plan, self.respondent))

    def ask(self) -> None:
        """Has everything asked that is drawn and was not asked yet, an operation's together."""
        drawn = {rule: tried for rule, tried in self._tried.items() if rule not in self._places}
        questions: dict[str, list[Trial]] = defaultdict(list)
        answers: dict[str, Answers] = defaultdict(Future)
        for rule, tried in drawn.items():
            self._places[rule] = [[] for _ in tried]
            for place, one in zip(self._places[rule], tried, strict=True):
                for question in one.trial.questions:
                    together = questions[question.operation]
                    place.append((answers[question.operation], len(together)))
                    together.append(Trial((question,)))
        if questions:
            asking = at_once if self.in_process else self._asking
            asking(self._ask, questions, answers)

    def _ask(self, questions: Mapping[str, list[Trial]], answers: Mapping[str, Answers]) -> None:
        for operation, together in questions.items():
            if self._closed:
                return
            cases = counted(len(together), "case")
            self._progress(f"{self.name}: asking {operation}, {cases}")
            settle(answers[operation], self.respondent.answers, together)

    def verdict(self, rule: specs.Rule) -> Verdict:
        """What is to be said of a rule, the known deviations considered."""
        found = self._found(rule)
        names = [self.adapter]
        if isinstance(self._respondent, Respondent):
            names += [self._respondent.name, self._respondent.hello.name]
        deviation = self.plan.deviation(rule.id, *names)
        passes = self.plan.replay is not None and found.verdict != "fail"  # on one case, no proof
        if deviation is None or found.verdict == "error" or passes:
            return found
        if found.verdict in UNSHOWN:
            found = self._shown(rule, deviation, found)
        why = deviation.why
        if found.verdict == "fail":
            return replace(found, verdict="known_deviation", why=why)
        stale = f"listed as a known deviation, but {found.verdict.replace('_', ' ')}: {why}"
        return replace(found, verdict="unexpected_pass", why=stale)

    def _shown(self, rule: specs.Rule, deviation: Deviation, found: Verdict) -> Verdict:
        """What the cases that the entry itself names show, where nothing else did."""
        for file in deviation.cases:
            try:
                trial = saved.load(file, self.respondent.court.defaults).trial
                if violations(rule, self.respondent, [trial]) != [None]:
                    failure = failure_of(rule, self.respondent, self.plan, trial)
                    return replace(found, verdict="fail", failure=failure)
            except (saved.BadCase, AdapterError):
                continue
        return found

    def _found(self, rule: specs.Rule) -> Verdict:
        verdict = Verdict(rule.id, self.adapter, self.profile, rule.level, "pass")
        if rule.id not in CHECKS:
            return replace(verdict, verdict="error", why="the rule is testable and has no check")
        try:
            why = self.respondent.inapplicable(rule)
            if why:
                return replace(verdict, verdict="not_applicable", why=why)
            self.prepare([rule])
            answers = [
                [asked.result()[place][0] for asked, place in row] for row in self._places[rule.id]
            ]
            self._progress(f"{self.name}: judging {rule.id}")
            return self._judged(rule, self._tried[rule.id], answers, verdict)
        except AdapterError as error:
            return replace(verdict, verdict="error", why=str(error))

    def _beside(self, rule: specs.Rule, tried: Tried, answers: Sequence[Json]) -> bool:
        """Whether a saved case has no answer, and is none that the rule has a say in."""
        saved = tried.origin == "saved" and self.plan.replay is None
        failed = saved and any("failed" in one for one in answers)
        return failed and not speaks_of(rule, self.respondent, tried.trial)

    def _judged(
        self, rule: specs.Rule, tried: list[Tried], every: list[list[Json]], verdict: Verdict
    ) -> Verdict:
        court, trials = self.respondent.court, [one.trial for one in tried]
        pairs = list(zip(tried, every, strict=True))
        outcomes = [
            UNSPOKEN
            if self._beside(rule, one, answers)
            else court.judge(rule.id, one.trial, answers)
            for one, answers in pairs
        ]
        broken = blamed(rule, self.respondent, trials, every, outcomes)
        counts = Counter(one.origin for one in tried)
        reached = sum(
            outcome.word == "allowed" or broken[place] is not None
            for place, outcome in enumerate(outcomes)
        )
        verdict = replace(
            verdict,
            saved=counts["saved"],
            examples=counts["example"],
            drawn=counts["drawn"],
            reached=reached,
        )
        first = next((place for place, outcome in enumerate(broken) if outcome), None)
        if first is not None:
            failure = failure_of(rule, self.respondent, self.plan, trials[first])
            return replace(verdict, verdict="fail", failure=failure)
        wrong = first_unlike(rule, self.respondent, self.plan, pairs)
        if wrong is not None:
            return replace(verdict, verdict="fail", failure=wrong)
        if reached == 0:
            return _unexercised(verdict, tried, outcomes)
        aside = sum(outcome.violated for outcome in outcomes)
        if aside:
            why = f"{aside} more cases break a rule that it builds on, and were set aside"
            return replace(verdict, why=why)
        return verdict


UNSHOWN = ("pass", "unexercised")
"""Verdicts under which a known deviation is stale, unless its own cases show it."""

UNSPOKEN = Outcome("not_reached", why="the rule does not speak about the case")
"""Of a saved case that was not answered, and on which another rule was broken."""


def _unexercised(verdict: Verdict, tried: Sequence[Tried], outcomes: Sequence[Outcome]) -> Verdict:
    """No case reached the rule: none that is supported, or none whose guard held.

    Saved cases, which may be of any rule, say nothing of it but where there are no others.
    """
    pairs = zip(tried, outcomes, strict=True)
    outcomes = [outcome for one, outcome in pairs if one.origin != "saved"] or outcomes
    unsupported = [outcome.why for outcome in outcomes if outcome.word == "unsupported"]
    if unsupported and len(unsupported) == len(outcomes):
        return replace(verdict, verdict="not_applicable", why=unsupported[0])
    blames = [outcome for outcome in outcomes if outcome.violated]
    reasons = Counter(outcome.why for outcome in outcomes if outcome.word == "not_reached")
    why = reasons.most_common(1)[0][0] if reasons else "no case was drawn"
    if blames:
        why = "a rule that it builds on is broken on every case that reached it"
    return replace(verdict, verdict="unexercised", why=why)
