"""The checks, by the ID of the rule that each one judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy, one_of
from pulsar_conformance import specs
from pulsar_conformance.conformance.trial import Trial

CheckFunction = Callable[..., None]
"""`(case, answer, expect)`, or `(asked, expect)` for a check of several questions together, and
`(exchanges, expect)` for one of any operation."""


Drawn = SearchStrategy[Trial] | Sequence[SearchStrategy[Trial]]
"""A strategy of trials, or several that share the trials of a rule evenly."""


@dataclass(frozen=True)
class Check:
    """A rule's predicate, and the strategies that aim at it."""

    rule: str
    function: CheckFunction
    parts: tuple[SearchStrategy[Trial], ...]
    """Each has its share of the trials; mostly there is one."""
    together: bool
    """Whether it judges all questions of the trial at once, rather than the only one."""
    refusals: bool
    """Whether a refusal is an answer that it judges."""
    any_strategy: bool
    """Whether it holds for every strategy of shedding or placing, also one no document knows."""
    asks: tuple[str, ...]
    """The operations of the trial's questions, in order, where it judges several kinds together."""
    exchanges: bool
    """Whether it sees whole exchanges, of whatever operation."""

    def judges(self, trial: Trial) -> bool:
        """Whether the trial's questions are of the kind that the predicate takes."""
        asked = tuple(question.operation for question in trial.questions)
        if self.asks:
            return asked == self.asks
        operations = specs.load().rules[self.rule].operations
        return set(asked) <= set(operations) and (self.together or len(asked) == 1)

    @property
    def draws(self) -> SearchStrategy[Trial]:
        """The strategies as one."""
        return one_of(self.parts)


CHECKS: dict[str, Check] = {}


def check(
    *rules: str,
    draws: Callable[[str], Drawn] | Drawn,
    together: bool = False,
    refusals: bool = False,
    any_strategy: bool = False,
    asks: tuple[str, ...] = (),
    exchanges: bool = False,
) -> Callable[[CheckFunction], CheckFunction]:
    """Registers a predicate for a rule, or for several that differ in their data alone.

    `draws` is a strategy of trials, or several, or makes them for a rule's ID. With `any_strategy`,
    a plug-in is asked them in place of the strategies that documents name. `asks` are the
    operations that a check of several kinds of questions takes together. A check that sees
    `exchanges` judges any number of questions, and refusals.
    """

    def register(function: CheckFunction) -> CheckFunction:
        for rule in rules:
            if rule in CHECKS:
                raise ValueError(f"{rule} has two checks")
            drawn: Any = draws(rule) if callable(draws) else draws
            parts = (drawn,) if isinstance(drawn, SearchStrategy) else tuple(drawn)
            both, refused = together or exchanges, refusals or exchanges
            CHECKS[rule] = Check(
                rule, function, parts, both, refused, any_strategy, asks, exchanges
            )
        return function

    return register
