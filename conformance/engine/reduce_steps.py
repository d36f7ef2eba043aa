"""Steps of a reduction: remove names and fields, merge names, simplify names and numbers.

The steps work on any valid trial, whether drawn or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from pulsar_conformance.conformance.any_answer.transformations import (
    edits_to_plain_names,
    transformations_of,
)
from pulsar_conformance.conformance.cases.reduction import (
    Failing,
    first_failing,
    shorten_story,
)
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import Question, Trial, copied

Path = tuple[int | str, ...]
"""Keys and indexes that lead to a value in a case; the value is changed in all cases of a trial."""

Replacement = tuple[Path, float, float]
"""The path of a number, the number, and a simpler number that replaces it."""

MAX_CHUNKS = 256
"""Maximum number of chunks of names or fields that are removed one after the other.

Because of this limit, a list of 1,000 samples is not divided into single samples.
"""

MAX_NUMBERS = 120
"""Maximum number of numbers in a trial for which every simpler value of each number is tried."""

MAX_MERGED = 8
"""Maximum number of names in one object that are tentatively merged in pairs."""


MILLION = 1_000_000

ROUND_NUMBERS = (0, 1, 10, 100, 1000)
ROUND_MILLIONS = (0, MILLION, 10 * MILLION, 100 * MILLION, 1000 * MILLION)
"""Round numbers that replace large numbers: 1 MB/s of traffic is more plausible than 1 B/s."""

ReductionStep = Callable[[Trial, Failing], Trial]
"""Function that reduces a trial in one way while it still fails, and returns the result."""


def _without_names(trial: Trial, failing: Failing) -> Trial:
    return _remove_while_failing(trial, _removable_names, _drop_names, failing)


def _without_fields(trial: Trial, failing: Failing) -> Trial:
    return _remove_while_failing(trial, _removable_fields, _drop_fields, failing)


def _remove_while_failing(
    trial: Trial,
    units_of: Callable[[Trial], list[Any]],
    drop: Callable[[Trial, Sequence[Any]], Trial],
    failing: Failing,
) -> Trial:
    """Remove names or fields while the trial still fails: halves, then quarters, down to single
    ones.

    `units_of` returns a trial's names or fields, and `drop` removes some of them.
    """
    size = len(units_of(trial))
    while size:
        units = units_of(trial)
        size = min(size, len(units))
        if not size:
            break
        chunks = [units[start : start + size] for start in range(0, len(units), size)]
        if len(chunks) > MAX_CHUNKS:
            break
        smaller = [(chunk, one) for chunk in chunks if (one := drop(trial, chunk)) != trial]
        verdicts = failing([one for _, one in smaller]) if smaller else ()
        found = [pair for pair, fails in zip(smaller, verdicts, strict=True) if fails]
        if not found:
            size //= 2
            continue
        every = drop(trial, [unit for chunk, _ in found for unit in chunk])
        together = found[1:] and every != trial and all(failing([every]))
        trial = every if together else found[0][1]
    return trial


def _removable_names(trial: Trial) -> list[str]:
    """Return each name that could be removed, in reverse order of appearance."""
    found: dict[str, None] = {}
    for operation, case in trial.questions:
        named = OPERATIONS[operation].removable
        for path, value in _values_in(case):
            if isinstance(value, dict) and path and path[-1] in named:
                found.update(dict.fromkeys(value))
            if isinstance(value, list) and path and path[-1] in named:
                found.update(dict.fromkeys(item for item in value if isinstance(item, str)))
    return list(found)[::-1]


def _drop_names(trial: Trial, names: Sequence[str]) -> Trial:
    gone = frozenset(names)
    return _with_edited_cases(trial, lambda case: _value_without(case, gone))


def _value_without(value: Any, gone: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _value_without(item, gone) for key, item in value.items() if key not in gone}
    if isinstance(value, list):
        kept = (item for item in value if not (isinstance(item, str) and item in gone))
        return [_value_without(item, gone) for item in kept]
    return value


def _removable_fields(trial: Trial) -> list[Path]:
    """Return the paths of all fields of nested objects and of all list items except strings."""
    found: dict[Path, None] = {}
    for _, case in trial.questions:
        for path, value in _values_in(case):
            if isinstance(value, dict) and path:
                found.update(dict.fromkeys((*path, key) for key in value))
            if isinstance(value, list):
                numbers = (i for i, item in enumerate(value) if not isinstance(item, str))
                found.update(dict.fromkeys((*path, i) for i in numbers))
    return list(found)


def _drop_fields(trial: Trial, paths: Sequence[Path]) -> Trial:
    def dropped(case: Any) -> Any:
        case = copied(case)
        for path in sorted(paths, key=_removal_order, reverse=True):
            holder = _value_at(case, path[:-1])
            if _contains_step(holder, path[-1]):
                del holder[path[-1]]
        return case

    return _with_edited_cases(trial, dropped)


def _with_names_merged(trial: Trial, failing: Failing) -> Trial:
    """Merge pairs of names into one with the sum of their numbers, while the trial still fails."""
    while True:
        pairs = [
            pair
            for group in _removable_groups(trial)
            for pair in combinations(group[:MAX_MERGED], 2)
        ]
        found = first_failing(failing, [_merge_names(trial, *pair) for pair in pairs])
        if found is None:
            return trial
        trial = found


def _removable_groups(trial: Trial) -> list[list[str]]:
    """Return the removable names that have data, grouped by the object that holds the data."""
    groups: dict[Path, list[str]] = {}
    for operation, case in trial.questions:
        named = OPERATIONS[operation].removable
        for path, value in _values_in(case):
            if isinstance(value, dict) and path and path[-1] in named:
                groups.setdefault(path, [name for name in value if isinstance(value[name], dict)])
    return list(groups.values())


def _merge_names(trial: Trial, kept: str, gone: str) -> Trial:
    def merged(value: Any) -> Any:
        if isinstance(value, list):
            return [merged(item) for item in value]
        if not isinstance(value, dict):
            return value
        both = {kept: _added(value[kept], value[gone])} if {kept, gone} <= value.keys() else {}
        return {key: merged(item) for key, item in {**value, **both}.items()}

    return _drop_names(_with_edited_cases(trial, merged), [gone])


def _added(first: Any, second: Any) -> Any:
    """Return the sum of two numbers, or of two objects field by field.

    Values that are not numbers are taken from `first`.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: _added(item, second[key]) if key in second else item for key, item in first.items()
        }
    numbers = not {type(first), type(second)} - {int, float}
    return first + second if numbers else first


def _with_plain_names(trial: Trial, failing: Failing) -> Trial:
    """Replace long, non-ASCII and misleading names by simple names while the trial still fails."""
    plainer = [_with_edited_cases(trial, edit) for edit in edits_to_plain_names(trial)]
    return first_failing(failing, plainer) or trial


def _removal_order(path: Path) -> list[tuple[int, str]]:
    """Return a sort key by which later list elements are removed first.

    Otherwise, removing an element would invalidate the paths of later elements.
    """
    return [(step, "") if isinstance(step, int) else (0, step) for step in path]


def _without_questions(trial: Trial, failing: Failing) -> Trial:
    """Remove questions, but keep a question if all other questions are transformed copies of it."""
    first = 1 if transformations_of(trial) else 0

    def drop(now: Trial, gone: Sequence[int]) -> Trial:
        kept = (one for index, one in enumerate(now.questions) if index not in gone)
        return Trial(tuple(kept) or now.questions)

    return _remove_while_failing(
        trial, lambda now: list(range(first, len(now.questions))), drop, failing
    )


def _value_at(value: Any, path: Path) -> Any:
    for step in path:
        if not _contains_step(value, step):
            return None
        value = value[step]
    return value


def _contains_step(holder: Any, step: int | str) -> bool:
    if isinstance(holder, dict):
        return step in holder
    return isinstance(holder, list) and isinstance(step, int) and step < len(holder)


def _with_plainer_numbers(trial: Trial, failing: Failing) -> Trial:
    """Simplify numbers, as many at a time as possible while the trial still fails."""
    if len(_numbers_of(trial)) > MAX_NUMBERS:
        return _remove_while_failing(trial, _plainer_numbers, _with_replacements, failing)
    while True:
        candidates = [
            (path, number, plainer)
            for path, number in _numbers_of(trial)
            for plainer in simpler_numbers(number)
        ]
        if not candidates:
            return trial
        verdicts = failing([_with_replacements(trial, [one]) for one in candidates])
        best: dict[tuple[Path, float], Replacement] = {}
        for one, fails in zip(candidates, verdicts, strict=True):
            if fails:
                best.setdefault(one[:2], one)
        if not best:
            return trial
        trial = _apply_while_failing(trial, list(best.values()), failing)


def _plainer_numbers(trial: Trial) -> list[Replacement]:
    """Return the simplest replacement for each number that can be simplified."""
    pairs = ((path, number, simpler_numbers(number)) for path, number in _numbers_of(trial))
    return [(path, number, plainer[0]) for path, number, plainer in pairs if plainer]


def _apply_while_failing(trial: Trial, edits: list[Replacement], failing: Failing) -> Trial:
    """Apply all replacements; if the trial then passes, only the first half of them, and so on.

    The first replacement alone is known to fail.
    """
    sizes = (len(edits) >> shift for shift in range(len(edits).bit_length()))
    rounds = [_with_replacements(trial, edits[:size]) for size in sizes]
    return first_failing(failing, rounds[:-1]) or rounds[-1]


def _numbers_of(trial: Trial) -> list[tuple[Path, float]]:
    found = (
        (path, value)
        for _, case in trial.questions
        for path, value in _values_in(case)
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    return list(dict.fromkeys(found))


def simpler_numbers(number: float) -> list[float]:
    """Return simpler numbers, simplest first: round, with fewer digits, or whole.

    Round numbers are 0, 1, 10, 100 and 1000; for a number of 100,000 or more, they are millions.
    """
    candidates: list[float] = [*(ROUND_NUMBERS if abs(number) < MILLION / 10 else ROUND_MILLIONS)]
    if number:
        magnitude = math.floor(math.log10(abs(number)))
        candidates += [
            _without_zero_fraction(round(number, digits - magnitude)) for digits in (0, 1)
        ]
    candidates.append(round(number))
    plainer = (one for one in candidates if _simplicity(one) < _simplicity(number))
    return list(dict.fromkeys(plainer))


def _without_zero_fraction(number: float) -> float:
    return int(number) if number == int(number) else number


def _simplicity(number: float) -> tuple[int, int, float]:
    """Return a sort key for numbers: round ones first, then those with fewer digits, then small
    ones.
    """
    digits = f"{number:.17g}".replace(".", "").replace("-", "").strip("0")
    round_ones = ROUND_NUMBERS if number in ROUND_NUMBERS else ROUND_MILLIONS
    known = round_ones.index(number) if number in round_ones else len(round_ones)
    return (known, len(digits) + (number != int(number)), abs(number))


def _with_replacements(trial: Trial, edits: Sequence[Replacement]) -> Trial:
    def replaced(case: Any) -> Any:
        case = copied(case)
        for path, number, plainer in edits:
            holder = _value_at(case, path[:-1])
            if _contains_step(holder, path[-1]) and holder[path[-1]] == number:
                holder[path[-1]] = plainer
        return case

    return _with_edited_cases(trial, replaced)


STEPS = (
    shorten_story,
    _without_questions,
    _without_names,
    _without_fields,
    _with_names_merged,
    _with_plain_names,
    _with_plainer_numbers,
)
"""All steps; they are repeated in this order until none makes the trial smaller."""

CASE_STEPS = STEPS[2:]
"""The steps that change cases and keep all questions of a trial."""


def _with_edited_cases(trial: Trial, edit: Callable[[Any], Any]) -> Trial:
    """Return a trial with each case edited.

    If the other questions are transformed copies of the first, they are copied from its new form.
    """
    first, *others = (Question(operation, edit(case)) for operation, case in trial.questions)
    copies = transformations_of(trial)
    if copies:
        others = [transformation.copy(first) for transformation in copies]
    return Trial((first, *others))


def _values_in(
    value: Any, path: tuple[int | str, ...] = ()
) -> Iterator[tuple[tuple[int | str, ...], Any]]:
    yield path, value
    items: Iterable[tuple[int | str, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _values_in(item, (*path, key))
