"""Placement of anti-affinity groups: spread over domains first, then over brokers. [ANTI]"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Spread:
    """A namespace to place, and the brokers that serve the other namespaces of its group.

    Brokers without a domain together form one unnamed domain.
    """

    namespace: str
    groups: Mapping[str, str]
    """The anti-affinity group of each namespace; a namespace is in one group at most. [ANTI-06]"""
    domains: Mapping[str, Sequence[str]]
    owned: Mapping[str, Collection[str]]
    """The namespaces that each broker serves."""
    candidates: Sequence[str]
    counted: str
    """The alternative of the reading `domain-counts`: the brokers whose namespaces are counted."""

    @classmethod
    def of(cls, case: Mapping[str, Any], counted: str) -> Spread:
        """Read a `place.anti_affinity` case; `counted` is an alternative of the reading
        `domain-counts`.
        """
        names = ("namespace", "groups", "domains", "owned", "candidates")
        return cls(**{name: case[name] for name in names}, counted=counted)

    @property
    def group(self) -> str | None:
        """The namespace's group, or None."""
        return self.groups.get(self.namespace)

    @cached_property
    def home(self) -> dict[str, str]:
        """The domain of each broker that has a domain; no broker has two. [ANTI-08]"""
        return {broker: domain for domain, brokers in self.domains.items() for broker in brokers}

    def rivals(self, broker: str) -> frozenset[str]:
        """Return the group's other namespaces on a broker. [ANTI-06]"""
        return frozenset(
            one
            for one in self.owned.get(broker, ())
            if self.group is not None
            and one != self.namespace
            and self.groups.get(one) == self.group
        )

    def rivals_of_all(self, brokers: Iterable[str]) -> frozenset[str]:
        """Return the group's other namespaces on any of these brokers."""
        return frozenset(one for broker in brokers for one in self.rivals(broker))

    @cached_property
    def in_domain(self) -> dict[str | None, int]:
        """For each domain that has a candidate, the number of the group's namespaces. [ANTI-01]"""
        known = COUNTED[self.counted](self)
        members: dict[str | None, list[str]] = {self.home.get(one): [] for one in self.candidates}
        for broker in known:
            if self.home.get(broker) in members:
                members[self.home.get(broker)].append(broker)
        return {name: len(self.rivals_of_all(brokers)) for name, brokers in members.items()}

    @cached_property
    def best_domains(self) -> tuple[str | None, ...]:
        """The domains with the fewest of the group's namespaces. [ANTI-01]"""
        fewest = min(self.in_domain.values(), default=None)
        return tuple(name for name, count in self.in_domain.items() if count == fewest)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """Return the candidates with the fewest of the group's namespaces in the best domains.

        [ANTI-02]
        """
        among = {name: self.within(name) for name in self.best_domains}
        fewest = {
            name: min(len(self.rivals(one)) for one in brokers) for name, brokers in among.items()
        }
        return tuple(
            broker
            for broker in self.candidates
            for domain in (self.home.get(broker),)
            if domain in among and len(self.rivals(broker)) == fewest[domain]
        )

    def within(self, domain: str | None) -> list[str]:
        """Return the candidates in a domain; None means candidates without a domain."""
        return [one for one in self.candidates if self.home.get(one) == domain]

    @property
    def chosen(self) -> str | None:
        """The first of the best candidates, or None."""
        return self.best[0] if self.best else None


COUNTED: Mapping[str, Callable[[Spread], Collection[str]]] = {
    "all": lambda spread: spread.owned,
    "candidates": lambda spread: spread.candidates,
}
"""The brokers whose namespaces are counted, for each alternative of the reading `domain-counts`.

[ANTI-01]
"""
