"""Restricting a derivation to one broker or bundle."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from pulsar_conformance.reference import Step

STAYS = "stays"
FATES = ("goes", STAYS)
"""Labels of steps that say whether a bundle is moved or stays."""


MAX_STAYING = 10
"""Maximum number of staying bundles in a decision that are all listed."""

MAX_LISTED = 5
"""Maximum number of brokers that a message names."""

NEARLY_MOVED = 2
"""Number of a broker's staying bundles that are listed if not all are."""


@dataclass(frozen=True)
class Focus:
    """The broker or bundle to which a derivation is restricted; None means all."""

    broker: str | None = None
    bundle: str | None = None

    def __bool__(self) -> bool:
        return self.broker is not None or self.bundle is not None

    def of(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Yield the general steps, and the steps about the selected broker or bundle."""
        for section in _sections(steps):
            if not section[0].text and not self._includes(section):
                continue
            yield from (step for step in section if self._is_shown(step))

    def _includes(self, section: Sequence[Step]) -> bool:
        if self.broker is not None and section[0].label.strip() != self.broker:
            return False
        return self.bundle is None or any(_is_about(step, self.bundle) for step in section)

    def _is_shown(self, step: Step) -> bool:
        walked = step.label.strip() in FATES
        return self.bundle is None or not walked or _is_about(step, self.bundle)

    def answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an answer with only the unloads of the selected broker or bundle."""
        pairs = answer.get("unload")
        if not isinstance(pairs, list) or not self:
            return answer
        return {**answer, "unload": [pair for pair in pairs if self._matches(pair)]}

    def _matches(self, pair: Mapping[str, str]) -> bool:
        asked = {"broker": self.broker, "bundle": self.bundle}
        return all(name is None or pair[what] == name for what, name in asked.items())

    def missing(self, case: Mapping[str, Any]) -> str | None:
        """Return a message if a case lacks the selected broker or bundle, else None."""
        text = repr(case)
        asked = {"broker": self.broker, "bundle": self.bundle}
        gone = {what: name for what, name in asked.items() if name and repr(name) not in text}
        if not gone:
            return None
        known = set(re.findall(r"'([^']+)'", text))
        near = [one for name in gone.values() for one in get_close_matches(name, known, n=1)]
        brokers = list(case.get("brokers") or ())
        listed = ", ".join(brokers[:MAX_LISTED]) + (", …" if len(brokers) > MAX_LISTED else "")
        known_brokers = f"its brokers are {listed}" if "broker" in gone else "see the names in it"
        hint = f"did you mean {' and '.join(near)}?" if near else known_brokers
        named = " and no ".join(f"{what} {name}" for what, name in gone.items())
        return f"it contains no {named}; {hint}"


def shortened(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield a decision's steps, with only the first two bundles that each broker keeps.

    These come closest to being moved. If the decision keeps few bundles, all steps are yielded.
    """
    if sum(step.label.strip() == STAYS for step in steps) <= MAX_STAYING:
        yield from steps
        return
    for label, run in groupby(steps, key=lambda step: step.label):
        each = list(run)
        if label.strip() != STAYS or len(each) <= NEARLY_MOVED + 1:
            yield from each
            continue
        yield from each[:NEARLY_MOVED]
        rest = each[NEARLY_MOVED:]
        reasons = dict.fromkeys(step.text.rpartition(", ")[2] for step in rest)
        yield Step(label, f"{len(rest)} more bundles, {'; '.join(reasons)} (--all lists each)")


def _sections(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Group consecutive steps into sections: a heading and the indented steps below it."""
    section: list[Step] = []
    for step in steps:
        if section and not step.label.startswith(" "):
            yield section
            section = []
        section.append(step)
    if section:
        yield section


def _is_about(step: Step, bundle: str) -> bool:
    return step.label.strip() in FATES and step.text.startswith(bundle)
