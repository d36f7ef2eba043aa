"""Recorded verdicts of each rule on right and altered answers, to notice each change of the judge.

`python -m mutants.verdicts` records them anew, in `verdicts.json`: a letter per trial and answer.
The cases are those drawn for the rule with a fixed seed, and the answers are those of the model,
unchanged and with one change each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.reference import Model

from mutants.clauses import profile_of
from mutants.evaluations import PROFILES
from mutants.judged import Bench

FILE = Path(__file__).with_name("verdicts.json")
SEED = 46
TRIALS = 12
"""Number of trials per rule."""

CHANGES = 9
"""Number of changed answers per trial."""

Edit = Callable[[Any, Random, Sequence[str]], Any]


def judged_rules() -> list[str]:
    """Return the rules with a check that some documented profile contains."""
    known = specs.load().rules
    return [one for one in sorted(checks()) if {*PROFILES} & {*known[one].profiles}]


@cache
def answered_trials(rule: str) -> Sequence[tuple[Trial, Sequence[Sequence[Json]]]]:
    """Return the trials drawn for a rule, each with the model's answers and changed ones."""
    bench = _bench(rule)
    drawn = [*draw_trials(rule, bench.profile, SEED, TRIALS)][:TRIALS]
    legal = [one for one in drawn if bench.subject.evaluator.legal(one)]
    return [(one, [*_answers(bench.unchecked_answers(one), one, rule)]) for one in legal]


def verdicts(rule: str) -> str:
    """Return a rule's verdicts: the first letter of each outcome, `e` for an error."""
    evaluator = _bench(rule).subject.evaluator

    def letter(trial: Trial, answers: Sequence[Json]) -> str:
        try:
            return evaluator.judge(rule, trial, answers).word[0]
        except Exception:
            return "e"

    return "".join(
        letter(trial, one) for trial, answers in answered_trials(rule) for one in answers
    )


@cache
def recorded() -> Mapping[str, str]:
    """Return the recorded verdicts of each rule."""
    found: dict[str, str] = json.loads(FILE.read_text("utf-8"))
    return found


@cache
def _bench(rule: str) -> Bench:
    return Bench(Model, profile_of(rule), specs.load().rules[rule].reading)


def _answers(right: Sequence[Json], trial: Trial, rule: str) -> Iterator[Sequence[Json]]:
    """Yield the right answers, and answers with one random change each."""
    yield right
    random = Random(f"{SEED}/{rule}/{trial.as_json()}")
    settings = set(specs.load().rules[rule].settings)
    names = sorted({one for question in trial.questions for one in _names(question.case)})
    brokers = sorted({one for question in trial.questions for one in _brokers(question.case)})
    for _ in range(CHANGES):
        changed = deepcopy([*right])
        places = [*_places(changed)]
        own = [one for one in places if one[1] in settings]
        if own and random.random() < 0.5:
            places = own
        if places:
            holder, key = random.choice(places)
            pool = brokers if brokers and random.random() < 0.7 else names
            owned = [*_owned(trial)] if key == "unload" else []
            holder[key] = _changed(holder[key], random, pool or ["x"], owned)
        yield changed


def _names(value: Any) -> Iterator[str]:
    """Yield the strings of a case, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from _names(one)
    elif isinstance(value, list):
        for one in value:
            yield from _names(one)


def _brokers(value: Any) -> Iterator[str]:
    """Yield the names of brokers in a case."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("brokers", "candidates"):
                yield from (name for name in one if isinstance(name, str))
            yield from _brokers(one)
    elif isinstance(value, list):
        for one in value:
            yield from _brokers(one)


def _owned(trial: Trial) -> Iterator[dict[str, str]]:
    """Yield each bundle of a question about shedding as an unload from its broker."""
    for question in trial.questions:
        brokers = question.case.get("brokers", {})
        for name, report in brokers.items() if isinstance(brokers, dict) else []:
            bundles = report.get("bundles", ()) if isinstance(report, dict) else ()
            for bundle in bundles:
                to = next((one for one in brokers if one != name), name)
                goes = {"to": to} if question.case.get("strategy") == "TransferShedder" else {}
                yield {"broker": name, "bundle": bundle, **goes}


def _places(value: Any, *, inner: bool = False) -> Iterator[tuple[Any, Any]]:
    """Yield each place in the answers that may be changed, as a container and a key or an index."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in list(pairs):
        if inner:
            yield value, key
        if isinstance(one, dict | list):
            yield from _places(one, inner=True)


def _changed(
    value: Any, random: Random, names: Sequence[str], owned: Sequence[dict[str, str]]
) -> Any:
    """Return a value with one change, such as an item less, or another name of the case."""
    more = [one for one in owned if one not in value]
    match value:
        case bool():
            return not value
        case int() | float():
            return random.choice([value + 1, value - 1, value * 2, value / 2, value * 1.01, 0])
        case str():
            return random.choice(names)
        case list() if more and (not value or random.random() < 0.5):
            return [*value, *random.sample(more, random.randint(1, min(3, len(more))))]
        case list() if value:
            at = random.randrange(len(value))
            kept = [*value[:at], *value[at + 1 :]]
            named = isinstance(value[0], str)
            added = [*value, random.choice(names) if named else value[at]]
            return random.choice([kept, [], added, value[::-1], [value[at]]])
        case list():
            return [random.choice(names)]
        case dict() if value and {*value} <= {*names}:
            gone = random.choice([*value])
            return {key: one for key, one in value.items() if key != gone}
    return value


def main() -> None:
    """Record the verdicts of all rules."""
    text = json.dumps({one: verdicts(one) for one in judged_rules()}, indent=0)
    FILE.write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
