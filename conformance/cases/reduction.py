"""Reduces a failing story: drops events, and merges namespaces and consecutive events.

Any subset of a story's events is a story, so every event may be dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from pulsar_conformance.conformance.common.trial import Json, Question, Trial

Failing = Callable[[Sequence[Trial]], Sequence[bool]]
"""Function that returns, for each trial, whether it is valid and still fails in the same way."""

Place = tuple[int, int]
"""Index of a question in a trial, and index of an event in that question's case."""


def shorten_story(trial: Trial, failing: Failing) -> Trial:
    """Drop and merge as many events as possible while the trial still fails.

    A trial without events is returned unchanged.
    """
    size = len(_places_of_events(trial))
    while size:
        places = _places_of_events(trial)
        size = min(size, len(places))
        if not size:
            break
        chunks = [places[start : start + size] for start in range(0, len(places), size)]
        found = first_failing(
            failing, [_without_events(trial, chunk) for chunk in reversed(chunks)]
        )
        if found is None:
            size //= 2
        else:
            trial = found
    return _with_pairs_joined(_with_namespaces_joined(trial, failing), failing)


def _with_namespaces_joined(trial: Trial, failing: Failing) -> Trial:
    """Move topics to other namespaces while the trial still fails, and drop unused namespaces."""
    while True:
        spaces = [_event(trial, place) for place in _places_of_events(trial)]
        names = list(
            dict.fromkeys(one["namespace"]["name"] for one in spaces if "namespace" in one)
        )
        pairs = [(one, other) for one in names for other in names if one != other]
        found = first_failing(
            failing, [_with_namespace_moved(trial, one, other) for one, other in pairs]
        )
        if found is None:
            return trial
        trial = found


def _with_namespace_moved(trial: Trial, space: str, to: str) -> Trial:
    gone = [
        place
        for place in _places_of_events(trial)
        if _creates_namespace(_event(trial, place), space)
    ]
    trial = _without_events(trial, gone)
    for place in _places_of_events(trial):
        [(kind, about)] = _event(trial, place).items()
        named = {key: _with_namespace(value, space, to) for key, value in about.items()}
        trial = _with_event(trial, place, {kind: named})
    return trial


def _creates_namespace(event: Json, space: str) -> bool:
    return "namespace" in event and event["namespace"]["name"] == space


def _with_namespace(value: object, space: str, to: str) -> object:
    if not isinstance(value, str):
        return value
    return to if value == space else value.replace(f"://{space}/", f"://{to}/")


def _with_pairs_joined(trial: Trial, failing: Failing) -> Trial:
    """Replace consecutive events with a single equivalent one while the trial still fails."""
    while True:
        joined = (
            _without_events(_with_event(trial, first, one), [second])
            for first, second in pairwise(_places_of_events(trial))
            if first[0] == second[0]
            for one in _merged_events(_event(trial, first), _event(trial, second))
        )
        found = first_failing(failing, list(joined))
        if found is None:
            return trial
        trial = found


def _merged_events(first: Json, second: Json) -> Iterator[Json]:
    """Yield the event that replaces two events, if there is one: a longer tick, or a restart."""
    if "tick" in first and "tick" in second:
        yield {"tick": {"minutes": first["tick"]["minutes"] + second["tick"]["minutes"]}}
    if "broker_down" in first and "broker_up" in second:
        name = first["broker_down"]["broker"]
        if second["broker_up"]["broker"] == name:
            yield {"restart": {"broker": name}}


def _places_of_events(trial: Trial) -> list[Place]:
    return [
        (question, event)
        for question, (_, case) in enumerate(trial.questions)
        for event in range(len(_events(case)))
    ]


def _events(case: Json) -> list[Json]:
    events = case.get("events")
    return events if isinstance(events, list) else []


def _event(trial: Trial, place: Place) -> Json:
    return _events(trial.questions[place[0]].case)[place[1]]


def _without_events(trial: Trial, places: Iterable[Place]) -> Trial:
    gone = frozenset(places)
    return Trial(
        tuple(
            Question(operation, _kept_events(case, question, gone))
            for question, (operation, case) in enumerate(trial.questions)
        )
    )


def _kept_events(case: Json, question: int, removed: frozenset[Place]) -> Json:
    if not _events(case):
        return case
    kept = [one for index, one in enumerate(_events(case)) if (question, index) not in removed]
    return {**case, "events": kept}


def _with_event(trial: Trial, place: Place, event: Json) -> Trial:
    questions = list(trial.questions)
    operation, case = questions[place[0]]
    events = list(_events(case))
    events[place[1]] = event
    questions[place[0]] = Question(operation, {**case, "events": events})
    return Trial(tuple(questions))


def first_failing(failing: Failing, candidates: Sequence[Trial]) -> Trial | None:
    """Return the first candidate that fails, or None. All candidates are checked in one batch."""
    if not candidates:
        return None
    verdicts = failing(candidates)
    return next((one for one, fails in zip(candidates, verdicts, strict=True) if fails), None)
