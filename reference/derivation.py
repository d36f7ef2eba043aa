"""Derivations: the calculation of an answer, step by step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, starmap
from typing import Any

CYCLE = re.compile(r"cycle \d+")
"""Heading of one of several consecutive cycles."""

BUNDLE = re.compile(r"\S*0x[0-9a-f]{8}_0x[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a derivation: a label, and a calculation or a reason."""

    label: str
    text: str
    detail: bool = False
    """True if a short derivation leaves the step out."""

    def within(self) -> Step:
        """Return a copy of the step that is indented below a heading."""
        return replace(self, label=f"  {self.label}")


@dataclass(frozen=True)
class Derivation:
    """An answer and the steps that lead to it.

    Steps are formatted on demand only: a model may answer thousands of cases whose steps nobody
    reads.
    """

    answer: Mapping[str, Any]
    explain: Callable[[], Iterable[Step]]
    choices: Sequence[str] = ()
    """The brokers from which a release chooses one at random, in a placement; otherwise empty."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order."""
        return tuple(self.explain())

    def lines(self) -> list[str]:
        """Return the folded steps as text with aligned labels, without details."""
        steps = list(fold_steps([step for step in self.steps if not step.detail]))
        width = max((len(step.label) for step in steps), default=0)
        return [f"{step.label:<{width}}  {step.text}".rstrip() for step in steps]


def fold_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps; steps that repeat earlier steps are replaced by one line.

    Of consecutive equal steps, such as those of a constant history, one is kept, with their number.
    If consecutive brokers have equal steps, the steps of the first broker are kept. A line such as
    "b3 to b10 as b2", or "b3, b5 as b2" if the numbers have gaps, replaces the others. Steps are
    equal if they differ only in the names of the broker and its bundles. If a cycle directly
    follows another cycle, the line "as in the cycle before" replaces the steps that both have.
    """
    before: tuple[Step, ...] = ()
    for _, alike in groupby(blocks(_without_repetitions(steps)), key=_merge_key):
        first, *others = alike
        yield from _without_repeated(before, first)
        before = first
        if others:
            names = [block[0].label.strip() for block in others]
            label = first[0].label.replace(first[0].label.strip(), _names_text(names))
            yield Step(label, f"as {first[0].label.strip()}")


def _without_repetitions(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with one step, and its number, in place of consecutive equal steps."""
    kept: list[Step] = []
    for step, equal in groupby(steps):
        each = list(equal)
        said = f"{step.text}, {len(each)} times in a row"
        kept += [replace(step, text=said)] if step.text and len(each) > 1 else each
    return kept


def _without_repeated(before: tuple[Step, ...], block: tuple[Step, ...]) -> Iterator[Step]:
    """Yield the steps of a block. If this block and the block before are both cycles, one line
    replaces the steps that they share.
    """
    heading, *steps = block
    yield heading
    known: set[tuple[Step, ...]] = set()
    if before and all(CYCLE.fullmatch(one.label) for one in (before[0], heading)):
        known = set(blocks(before[1:]))
    each = list(blocks(steps))
    new = [one for one in each if one not in known]
    for one in new:
        yield from one
    if len(new) < len(each):
        yield Step("the rest" if new else "everything", "as in the cycle before").within()


def blocks(steps: Sequence[Step]) -> Iterator[tuple[Step, ...]]:
    """Yield each step together with the indented steps that follow it."""
    block: list[Step] = []
    for step in steps:
        if block and _depth(step) <= _depth(block[0]):
            yield tuple(block)
            block = []
        block.append(step)
    if block:
        yield tuple(block)


def _depth(step: Step) -> int:
    return len(step.label) - len(step.label.lstrip())


def _merge_key(block: tuple[Step, ...]) -> object:
    """Return a key that is equal for blocks that can be merged; other blocks have unique keys."""
    heading, *below = block
    if not below or heading.text:
        return id(block)
    name = re.compile(rf"\b{re.escape(heading.label.strip())}\b")
    return tuple((one.label, BUNDLE.sub("", name.sub("", one.text))) for one in below)


MAX_NAMES_LISTED = 6
"""Maximum number of brokers that are named one by one."""

NUMBERED = re.compile(r"(.*?)(\d+)(\D*)")
"""Pattern of a name; its groups are the last number in it, and the text before and after."""


def _names_text(names: Sequence[str]) -> str:
    """Return names as "b3 to b10" if they are numbered without a gap, and otherwise as a list."""
    if len(names) > 2 and all(starmap(_follows, pairwise(names))):
        return f"{names[0]} to {names[-1]}"
    if len(names) <= MAX_NAMES_LISTED:
        return ", ".join(names)
    return f"{', '.join(names[:3])}, …, {names[-1]} ({len(names)})"


def _follows(name: str, after: str) -> bool:
    """True if the names differ only in their last number, and `after` has the next number."""
    first, second = NUMBERED.fullmatch(name), NUMBERED.fullmatch(after)
    if first is None or second is None:
        return False
    alike = (first[1], first[3]) == (second[1], second[3])
    return alike and int(second[2]) == int(first[2]) + 1
