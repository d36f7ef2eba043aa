"""What the answers to one trial say about the readings behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from pulsar_conformance import specs
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.judge import Court
from pulsar_conformance.reference import Readings

Choices = Mapping[str, str]
"""Reading to alternative; of some readings, or of all."""

Domains = Mapping[str, Sequence[str]]
"""Reading to the alternatives that are left, the likeliest first."""


@dataclass(frozen=True)
class Conflict:
    """Choices under which the answers break a rule, whatever the other readings are."""

    rule: str
    choices: Choices


class Noting(Readings):
    """Readings that record which of them were consulted."""

    _noted: set[str]

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        object.__setattr__(self, "_noted", set())

    def __getitem__(self, name: str) -> str:
        self._noted.add(name)
        return super().__getitem__(name)

    @property
    def consulted(self) -> Choices:
        """The readings consulted so far, with their alternatives."""
        return {name: self.choices[name] for name in sorted(self._noted)}


def consulted(rule: specs.Rule, court: Court, trial: Trial, answers: Sequence[Json]) -> Choices:
    """The readings, with their alternatives, on which a rule's judgment of a trial depends."""
    noting = Noting(court.readings.choices)
    court.under(noting).judge(rule.id, trial, answers)
    return {**noting.consulted, **rule.reading}


def unconflicting(domains: Domains, conflicts: Sequence[Conflict]) -> Choices | None:
    """The most likely choices from the domains that no conflict forbids, or None."""
    names = list(dict.fromkeys(name for one in conflicts for name in one.choices))
    base = {name: values[0] for name, values in domains.items()}
    for values in product(*(domains[name] for name in names)):
        choices = {**base, **dict(zip(names, values, strict=True))}
        if not any(one.choices.items() <= choices.items() for one in conflicts):
            return choices
    return None


@dataclass(frozen=True)
class Evidence:
    """A trial with its answers, and what judging them under some readings has shown."""

    court: Court
    rules: Sequence[specs.Rule]
    """Those by which the answers are judged."""
    trial: Trial
    answers: Sequence[Json]
    conflicts: list[Conflict] = field(default_factory=list)
    fits: list[Choices] = field(default_factory=list)

    def allows(self, domains: Domains) -> bool:
        """Whether the answers break no rule under some choice from the domains."""
        chosen: Choices | None = {name: values[0] for name, values in domains.items()}
        while chosen is not None:
            if self._fits(chosen):
                return True
            chosen = unconflicting(domains, self.conflicts)
        return False

    @property
    def complaint(self) -> str:
        """The rule that the answers break under every reading, if a single rule can be named."""
        for one in self.conflicts:
            if not one.choices:
                return f"it breaks {one.rule}, whatever the reading"
        return f"it breaks {' or '.join(dict.fromkeys(one.rule for one in self.conflicts))}"

    def _fits(self, choices: Choices) -> bool:
        """Whether the answers break no rule; conflicts found on the way are kept."""
        if any(fit.items() <= choices.items() for fit in self.fits):
            return True
        if any(one.choices.items() <= choices.items() for one in self.conflicts):
            return False
        readings = Noting(choices)
        court = self.court.under(readings)
        for rule in self.rules:
            applies = all(readings[name] == value for name, value in rule.reading.items())
            if applies and court.judge(rule.id, self.trial, self.answers).violated:
                # What other rules consulted has no part in this conflict.
                alone = consulted(rule, court, self.trial, self.answers)
                self.conflicts.append(Conflict(rule.id, alone))
                return False
        self.fits.append(readings.consulted)
        return True
