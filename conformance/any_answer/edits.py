"""Random edits of drawn cases, which also make valid cases that no strategy draws on purpose.

A strategy draws only cases that its author thought of. An edit changes any one value of a case: it
raises a limit, repeats an entry of a list, or inserts the loss of the leader into a story. The
result may be invalid; the caller checks that. The rules decide which answers are allowed.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from pulsar_conformance.conformance.common.trial import Json, Question, Trial, copied

MOST_EDITS = 3
"""Maximum number of edits of one case."""

EDITED_OPERATIONS = frozenset(
    {
        "bundles.create",
        "channel.apply",
        "cluster.replay",
        "place.broker",
        "policy.changed",
        "report.bundles",
        "report.due",
    }
)
"""Operations whose cases may be edited, because their checks are known to handle edited cases."""

REGEXES = frozenset({"primary", "secondary", "namespaces"})
"""Fields with a list of regular expressions, which an edit may join into one expression."""

MAX_EDITED_BYTES = 20_000
"""Maximum size of an edited trial in bytes. Larger ones would take too long."""

LARGEST_SETTING = 65_536
"""Largest number to which an edit sets a setting, such as the number of bundles to create."""

GROWN_SIZES = (17, 33, 65, 100, 129)
"""Numbers of entries to which edits extend a map: just above the sizes of common batches."""

MAPS = frozenset(
    {"settings", "stats", "lastStats", "bundles", "brokers", "recentlyUnloaded", "preallocated"}
)
"""Fields that hold a map from names to values."""

SETTING = "settings entry"
"""The value of `_Place.field` for every setting.

Text settings are not edited, because their type is unknown.
"""

GROWING_MAPS = frozenset({"stats", "preallocated"})
"""Maps that an edit extends with copies of entries; transformations add entries to other maps."""

EVENTS: tuple[Json, ...] = (
    {"leader_lost": {}},
    {"tick": {"minutes": 1}},
    {"tick": {"minutes": 30}},
)
"""Events that may occur at any point of a story."""

SLOW_FIELDS = frozenset({"minutes", "bundles", "value"})
"""Fields whose numbers are not multiplied by 10 or 1000: such cases would take too long."""

SEPARATORS = ("|", ",")
"""Separators by which lists are commonly joined."""


@dataclass(frozen=True)
class _Place:
    """A place in a case: the field `key` of an object, or the entry at index `key` of a list."""

    parent: Any
    key: Any
    field: str
    """The value's name; each entry of a list or map named `x` has the name `x entry`."""

    @property
    def value(self) -> Any:
        """The value at this place."""
        return self.parent[self.key]

    def put(self, value: Any) -> None:
        """Replace the value."""
        self.parent[self.key] = value


def edited(trial: Trial, random: Random) -> Trial:
    """Return a trial of one question with a few random edits of its case; the result may be
    invalid.

    A trial is returned unchanged in three cases: its operation is not in `EDITED_OPERATIONS`, it is
    large, or it has several questions, because its rule compares the answers to them.
    """
    alone = len(trial.questions) == 1 and not trial.before and trial.operation in EDITED_OPERATIONS
    if not alone or not fits(trial, MAX_EDITED_BYTES):
        return trial
    [(operation, original)] = trial.questions
    case = copied(original)
    for _ in range(random.randint(1, MOST_EDITS)):
        _edit(case, random)
    return Trial((Question(operation, case),))


def fits(trial: Trial, size: int) -> bool:
    """True if the trial's cases together have at most about `size` bytes."""
    return sum(len(marshal.dumps(case)) for _operation, case in trial.questions) <= size


def _edit(case: Json, random: Random) -> None:
    """Edit a value of the case in place."""
    places: dict[str, list[_Place]] = {}
    _add_places(places, case, "")
    if not places:
        return
    known = random.choice(sorted(places))
    place = random.choice(places[known])
    kind, value = type(place.value), place.value
    same = [one.value for one in places[known] if one.value != value]
    _functions_to_edit(value)(place, [one for one in same if type(one) is kind], random)


def _add_places(places: dict[str, list[_Place]], value: Any, field: str) -> None:
    """Add the place of each value inside `value` to those of its field, outer values first."""
    if isinstance(value, dict):
        entry = f"{field} entry" if field in MAPS else ""
        for name, inner in value.items():
            known = entry or name
            places.setdefault(known, []).append(_Place(value, name, known))
            if isinstance(inner, dict | list):
                _add_places(places, inner, known)
    elif isinstance(value, list):
        known = f"{field} entry"
        for index, inner in enumerate(value):
            places.setdefault(known, []).append(_Place(value, index, known))
            if isinstance(inner, dict | list):
                _add_places(places, inner, known)


def _functions_to_edit(value: Any) -> Callable[[_Place, list[Any], Random], None]:
    if isinstance(value, bool):
        return _negate
    if isinstance(value, int | float):
        return _edit_number
    if isinstance(value, list):
        return _edit_list
    if isinstance(value, dict):
        return _edit_object
    return _exchange


def _negate(place: _Place, _alternatives: list[Any], _random: Random) -> None:
    place.put(not place.value)


def _edit_number(place: _Place, alternatives: list[Any], random: Random) -> None:
    """Replace a number with a number from the same field elsewhere, a related number, or 0."""
    value = place.value
    less = value // 2 if isinstance(value, int) else value * 0.9
    related = [value + 1, value * 2, less or value]
    related += [0] if place.field != "value" else []  # No document says which settings may be 0.
    if place.field not in SLOW_FIELDS:
        related += [value * 10, value * 1000]
    if place.field == SETTING:
        related = [one for one in related if one <= LARGEST_SETTING] or [value]
    place.put(random.choice((*related, *alternatives[:2])))


def _exchange(place: _Place, alternatives: list[Any], random: Random, share: float = 0.7) -> None:
    """Replace a value with a value from the same field elsewhere, or remove it."""
    if place.field == SETTING:
        return
    if alternatives and random.random() < share:
        place.put(copied(random.choice(alternatives)))
    elif isinstance(place.parent, dict):
        del place.parent[place.key]


def _edit_list(place: _Place, alternatives: list[Any], random: Random) -> None:
    """Remove or move an entry, append an entry from another list, or join all entries into one."""
    entries: list[Any] = place.value
    if place.field == "events":
        return _edit_events(entries, random)
    if not entries:
        entries += copied(random.choice(alternatives)) if alternatives else []
        return None
    one = random.randrange(len(entries))
    how = random.randrange(4)
    if how == 0:
        del entries[one]
    elif how == 1:
        entries.insert(random.randint(0, len(entries)), entries.pop(one))
    elif how == 2 and alternatives:
        entries.append(copied(random.choice(random.choice(alternatives) or entries)))
    elif place.field in REGEXES:
        entries[:] = [random.choice(SEPARATORS).join(entries)]
    return None


def _edit_events(events: list[Json], random: Random) -> None:
    """Remove, move, repeat or insert an event of a story."""
    other, how = random.randint(0, len(events)), random.randrange(5) if events else 4
    one = other % max(1, len(events))
    if how == 0:
        del events[one]
    elif how == 1:
        events.insert(other, events.pop(one))
    elif how == 2:
        events.insert(other, copied(events[one]))
    else:
        events.insert(other, copied(random.choice(EVENTS)))


def _edit_object(place: _Place, alternatives: list[Any], random: Random) -> None:
    """Remove an object, replace it with another from the same field, or add entries to a map."""
    entries: dict[str, Any] = place.value
    if place.field in GROWING_MAPS and entries:
        _add_copies(entries, random)
    else:
        _exchange(place, alternatives, random, share=0.5)


def _add_copies(entries: dict[str, Any], random: Random) -> None:
    """Add copies of entries under new names, which sort before and after the others."""
    known = list(entries)
    for number in range(random.choice(GROWN_SIZES) - len(known)):
        name = random.choice(known)
        entries[f"{'az'[number % 2]}{number}-{name}"] = copied(entries[name])
