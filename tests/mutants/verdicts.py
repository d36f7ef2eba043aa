"""Recorded cases and verdicts of each rule, to notice each change of the judge.

`python -m mutants.verdicts` records them anew, in `verdicts.json`. The trials of a rule are drawn
ones, and its worked examples; the answers are the model's, unchanged and altered. For each rule,
the file has four entries: a fingerprint of the cases drawn with a fixed seed, since a seed must
draw the same cases whenever a run is repeated; the verdicts, a letter per answer and a word per
trial; a fingerprint of the messages; and one of what the operations say: their examples, why
changed cases are illegal, whether one answer alone is right, and which answers agree. For each
reading, the file has a fingerprint of the cases aimed at it.
"""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pulsar_conformance import fixtures, specs
from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.catalogue import OPERATIONS, aims_by_reading, checks
from pulsar_conformance.conformance.common.trial import DECLINED, Json, Trial
from pulsar_conformance.conformance.engine.draw import (
    aimed_at,
    controls_of,
    draw_trials,
    with_edits,
)
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.reference import Model

from mutants.altered import Altering
from mutants.evaluations import PROFILES, profile_of, reading_sets
from mutants.judged import Bench

FILE = Path(__file__).with_name("verdicts.json")
SEED = 46
TRIALS = 12
"""Number of trials drawn per rule; more if it has more strategies."""

EDITS = 9
"""Number of edited answers per trial."""

MISTAKES = 5
"""Number of mistaken answers per trial, other than a story, whose answers take long."""

UNDER_OTHERS = 3
"""Number of drawn trials per rule that are also judged under each further set of readings."""

OF_OTHERS = 8
"""Number of trials of other rules that each rule judges."""

EDITS_UNDER_OTHERS = 2
"""Number of edited answers, and of mistaken ones, per trial under a further set of readings, or of
another rule.
"""

NO_REFERENCES = 2
"""Version of `marshal` whose length of a case does not depend on how its objects are shared."""

LARGE_BYTES = 4_000
"""Bytes of a trial above which it gets fewer altered answers, since these take longer."""

STORY = "cluster.replay"

AIMED_UNDER = ("documented-3.0", "documented-5.0")
"""Profiles under which cases are aimed at readings."""

DIGITS = 12
"""Number of hexadecimal digits of a fingerprint."""


class Record(NamedTuple):
    """The recorded cases, verdicts and texts of a rule."""

    cases: str
    verdicts: Sequence[str]
    messages: str
    operations: str


class Answered(NamedTuple):
    """A trial with the model's answers and altered ones, and the judge of its readings."""

    bench: Bench
    trial: Trial
    answers: Sequence[Sequence[Json]]
    misread: Sequence[Trial]
    """Changed copies of the trial, some of which are illegal."""


def judged_rules() -> list[str]:
    """Return the rules with a check."""
    return sorted(checks())


def drawing(rule: str) -> tuple[str, str, int, int]:
    """Return the arguments with which a rule's trials are drawn."""
    return rule, profile_of(rule), SEED, TRIALS


@cache
def answered_trials(rule: str) -> Sequence[Answered]:
    """Return the trials of a rule with answers, under each set of readings that concerns it."""
    return [*_answered(rule)]


def _answered(rule: str) -> Iterator[Answered]:
    one = specs.load().rules[rule]
    profile = profile_of(rule)
    first, *others = reading_sets(one, profile)
    bench = _bench(profile, _key(first))
    drawn = draw_trials(*drawing(rule))
    for trial in drawn:
        if bench.subject.evaluator.legal(trial):
            yield _altered(bench, trial, rule, EDITS, MISTAKES)
    if STORY not in one.operations:  # Stories take too long.
        yield from _more(rule, [bench, *(_bench(profile, _key(chosen)) for chosen in others)])
    for example in fixtures.examples_of(rule):
        trial, readings = Trial.asking(example.questions), {**example.readings, **one.reading}
        benches = (_bench(name, _key(readings)) for name in PROFILES if name in one.profiles)
        for bench in benches:
            evaluator = bench.subject.evaluator
            if readings.items() <= evaluator.readings.choices.items() and evaluator.legal(trial):
                yield _altered(bench, trial, rule, EDITS, MISTAKES)
                break


def _more(rule: str, benches: Sequence[Bench]) -> Iterator[Answered]:
    """Yield edited trials and those of other rules, and some under further sets of readings."""
    edited = [trial for origin, trial in with_edits(*drawing(rule)) if origin == "edited"]
    more = (*edited[:UNDER_OTHERS], *_of_other_rules(rule, benches[0].profile))
    drawn = draw_trials(*drawing(rule))[:UNDER_OTHERS]
    for bench in benches:
        for trial in more if bench is benches[0] else drawn:
            if bench.subject.evaluator.legal(trial):
                yield _altered(bench, trial, rule, EDITS_UNDER_OTHERS, EDITS_UNDER_OTHERS)


def _key(readings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(readings.items()))


def _of_other_rules(rule: str, profile: str) -> Sequence[Trial]:
    """Return some trials that are drawn for other rules about the same operations."""
    known = specs.load().rules
    concerned = [
        draw_trials(*drawing(one))[0]
        for one in judged_rules()
        if one != rule
        and profile_of(one) == profile
        and known[one].operations == known[rule].operations
    ]
    return Random(f"{SEED}/{rule}").sample(concerned, min(OF_OTHERS, len(concerned)))


def _altered(bench: Bench, trial: Trial, rule: str, edits: int, mistakes: int) -> Answered:
    random = Random(f"{SEED}/{rule}/{trial.fingerprint}")
    own = frozenset(specs.load().rules[rule].settings)
    altering = Altering(bench, trial, own, random)
    size = sum(len(marshal.dumps(case, NO_REFERENCES)) for _, case in trial.questions)
    most = max(2, EDITS * LARGE_BYTES // size)
    misread = [*altering.misread(min(mistakes, most // 2))]
    stories = trial.operation == STORY
    altered = (
        *altering.edited(min(edits, most)),
        *altering.mistaken(() if stories else misread),
        *altering.rearranged(),
        altering.declined(),
    )
    return Answered(bench, trial, [altering.right, *altered], misread)


@cache
def _bench(profile: str, readings: tuple[tuple[str, str], ...]) -> Bench:
    """Return the model under those of these readings that the profile leaves open."""
    found = Bench(Model, profile, dict(readings))
    choices = found.subject.evaluator.readings.choices
    return found if dict(readings).items() <= choices.items() else Bench(Model, profile, choices)


def record(rule: str) -> Record:
    """Return what is to be recorded of a rule."""
    words, said, known = [], [], []
    for one in answered_trials(rule):
        outcomes = [_outcome(one.bench, rule, one.trial, answers) for answers in one.answers]
        words.append("".join(found.word[0] if found else "e" for found in outcomes))
        said += [(found.allowed, found.answered, found.why) for found in outcomes if found]
        known.append([*_of_operations(one)])
    examples = [OPERATIONS[one].examples for one in specs.load().rules[rule].operations]
    return Record(drawn_cases(rule), words, _fingerprint(said), _fingerprint([examples, known]))


def _of_operations(answered: Answered) -> Iterator[object]:
    """Yield what operations say of a trial: why changed cases are illegal, if an answer is
    determined, and which answers agree with the right one.
    """
    evaluator = answered.bench.subject.evaluator
    for one in answered.misread:
        yield trial_flaw(one, evaluator.defaults, evaluator.readings)
    for place, question in enumerate(answered.trial.questions):
        operation = OPERATIONS[question.operation]
        yield bool(operation.determined(evaluator.view(question), evaluator.readings))
        given = [one[place] for one in answered.answers if len(one) > place]
        right = [one for one in given if not any(word in one for word in DECLINED)]
        yield [operation.matches(right[0], one) for one in right]


def _outcome(bench: Bench, rule: str, trial: Trial, answers: Sequence[Json]) -> Outcome | None:
    """Return a rule's outcome; None for an error."""
    try:
        return bench.subject.evaluator.judge(rule, trial, answers)
    except Exception:
        return None


def drawn_cases(rule: str) -> str:
    """Return a fingerprint of a rule's drawn and edited cases."""
    edited = (trial for _, trial in with_edits(*drawing(rule)))
    return fingerprint((*draw_trials(*drawing(rule)), *edited))


def redraws_otherwise(rule: str) -> bool:
    """True if a rule's cases, drawn or edited anew, are not those that were drawn before."""
    before, now = (
        fingerprint((*draws(*drawing(rule)), *(one for _, one in edits(*drawing(rule)))))
        for draws, edits in (
            (draw_trials, with_edits),
            (draw_trials.__wrapped__, with_edits.__wrapped__),
        )
    )
    return before != now


def aimed_cases(reading: str) -> str:
    """Return a fingerprint of the cases that tell a reading's alternatives apart."""
    drawn = (draws(reading, one, SEED) for one in AIMED_UNDER for draws in (aimed_at, controls_of))
    return fingerprint(trial for trials in drawn for trial in trials)


def aimed_readings() -> list[str]:
    """Return the readings at which cases are aimed."""
    return sorted(aims_by_reading())


def fingerprint(trials: Iterable[Trial]) -> str:
    """Return a fingerprint of trials, in their order."""
    return _fingerprint([one.fingerprint for one in trials])


def _fingerprint(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGITS]


@cache
def _recorded() -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))
    return found


def recorded() -> Mapping[str, Record]:
    """Return what is recorded of each rule."""
    return {
        rule: Record(one["cases"], one["verdicts"].split(), one["messages"], one["operations"])
        for rule, one in _recorded()["rules"].items()
    }


def recorded_aims() -> Mapping[str, str]:
    """Return the recorded fingerprint of the cases aimed at each reading."""
    return _recorded()["readings"]


def main() -> None:
    """Record the cases and verdicts of all rules."""
    rules = {
        rule: {**one._asdict(), "verdicts": " ".join(one.verdicts)}
        for rule, one in ((rule, record(rule)) for rule in judged_rules())
    }
    readings = {one: aimed_cases(one) for one in aimed_readings()}
    text = json.dumps({"rules": rules, "readings": readings}, indent=0)
    FILE.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
