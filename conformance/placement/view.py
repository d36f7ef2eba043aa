"""Types in which checks see cases and answers about placement, with quantities computed from them.

The model computes the same quantities in `reference`. Checks do not use the model's functions, so
that an error in the model is not also an error in a check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.shedding.view import usage_of
from pulsar_conformance.reference import Readings, Settings
from pulsar_conformance.reference.cluster import Broker, Rates
from pulsar_conformance.reference.numbers import Fraction, Percent, Rate, total
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of

UNMEASURED = Rates(Fraction(50), Fraction(50), Fraction(50_000), Fraction(50_000))
"""The traffic that is assumed for a bundle without samples. [PLACE-08]"""


@dataclass(frozen=True)
class ComparedBroker:
    """A candidate's compared values: usage of its busiest resource, long-term message rate."""

    name: str
    usage: Percent
    rate: Rate


@dataclass(frozen=True)
class ComparedBrokers:
    """The candidates with the values to compare; checks change values to imitate a mistake."""

    candidates: tuple[ComparedBroker, ...]
    threshold: Percent
    bundle_rate: Rate
    """Long-term messages per second of the bundle to place."""
    readings: Readings

    def considers(self, candidate: ComparedBroker) -> bool:
        """True if a candidate is not overloaded, under the reading `placement-at-threshold`."""
        eligible = self.readings["placement-at-threshold"] == "eligible"
        return candidate.usage < self.threshold or (eligible and candidate.usage == self.threshold)

    def compared_rate(self, candidate: ComparedBroker) -> Rate:
        """Return the rate by which a candidate is compared, under the reading `placement-score`."""
        with_bundle = self.readings["placement-score"] == "weighted-with-bundle"
        return candidate.rate + self.bundle_rate if with_bundle else candidate.rate

    def score(self, candidate: ComparedBroker) -> Fraction | None:
        """Return a candidate's score; None if the formula is undefined for it."""
        if self.readings["placement-score"] == "plain":
            return candidate.rate
        distance = self.threshold - candidate.usage
        return self.compared_rate(candidate) / distance if distance else None


def measured_average(bundle: Json | None, average: str = "longTermData") -> Rates | None:
    """Return one of a bundle's averages; None if it has no samples."""
    data = (bundle or {}).get(average)
    return Rates.read(data) if data and data["numSamples"] else None


def long_term_messages(bundle: Json | None) -> Rate:
    """Return a bundle's measured or assumed long-term messages per second."""
    return (measured_average(bundle) or UNMEASURED).messages


@dataclass(frozen=True)
class Placing:
    """A `place.select` case: a bundle to place, and its candidates."""

    case: Mapping[str, Any]
    settings: Settings
    readings: Readings

    @cached_property
    def brokers(self) -> dict[str, Broker]:
        """The candidates' load reports."""
        reports = self.case["brokers"]
        return {name: Broker.read(name, reports[name]) for name in self.case["candidates"]}

    def bundles(self, broker: str) -> list[str]:
        """Return the bundles that a broker reports, and bundles assigned to it since the report."""
        return [*self.brokers[broker].bundles, *self.case["preallocated"].get(broker, ())]

    def rates(self, rate: Callable[[Json | None], Rate]) -> dict[str, Rate]:
        """Return each candidate's rate: the sum of `rate` over the candidate's bundles."""
        data = self.case["bundles"]
        each = {name: dict.fromkeys(self.bundles(name)) for name in self.brokers}
        return {name: total(rate(data.get(one)) for one in own) for name, own in each.items()}

    @cached_property
    def comparison(self) -> ComparedBrokers:
        """The values by which candidates are compared."""
        rates = self.rates(long_term_messages)
        return ComparedBrokers(
            tuple(ComparedBroker(n, usage_of(b), rates[n]) for n, b in self.brokers.items()),
            self.settings.number(OVERLOAD_THRESHOLD),
            long_term_messages(self.case["bundles"].get(self.case["bundle"])),
            self.readings,
        )

    @cached_property
    def candidates(self) -> dict[str, ComparedBroker]:
        """The compared values of each candidate."""
        return {one.name: one for one in self.comparison.candidates}

    @cached_property
    def owned(self) -> bool:
        """True if a broker still owns the bundle."""
        reports = self.case["brokers"].values()
        return any(self.case["bundle"] in report.get("bundles", ()) for report in reports)


@dataclass(frozen=True)
class GroupSpread:
    """A namespace to place, and the brokers that serve the other namespaces of its group.

    Brokers without a domain together form one unnamed domain.
    """

    namespace: str
    groups: Mapping[str, str]
    domains: Mapping[str, Sequence[str]]
    owned: Mapping[str, Collection[str]]
    """The namespaces that each broker serves."""
    candidates: Sequence[str]
    counted: str
    """An alternative of the reading `domain-counts`: the brokers that count in a domain's total."""

    @classmethod
    def of(cls, case: Mapping[str, Any], counted: str) -> GroupSpread:
        """Read a `place.anti_affinity` case."""
        names = ("namespace", "groups", "domains", "owned", "candidates")
        return cls(**{name: case[name] for name in names}, counted=counted)

    @property
    def group(self) -> str | None:
        """The namespace's group, or None."""
        return self.groups.get(self.namespace)

    @cached_property
    def home(self) -> dict[str, str]:
        """The domain of each broker that is in a domain."""
        return {broker: domain for domain, brokers in self.domains.items() for broker in brokers}

    def rivals(self, *brokers: str) -> set[str]:
        """Return the group's other namespaces that at least one of `brokers` serves."""
        if self.group is None:
            return set()
        served = {one for broker in brokers for one in self.owned.get(broker, ())}
        return {one for one in served - {self.namespace} if self.groups.get(one) == self.group}

    def candidates_in(self, domain: str | None) -> list[str]:
        """Return the candidates in a domain; None means candidates without a domain."""
        return [one for one in self.candidates if self.home.get(one) == domain]

    @cached_property
    def counts_by_domain(self) -> dict[str | None, int]:
        """The number of the group's namespaces in each domain that has a candidate."""
        known = self.owned if self.counted == "all" else self.candidates
        members: dict[str | None, list[str]] = {self.home.get(one): [] for one in self.candidates}
        for broker in known:
            if self.home.get(broker) in members:
                members[self.home.get(broker)].append(broker)
        return {domain: len(self.rivals(*brokers)) for domain, brokers in members.items()}

    @property
    def only_some_have_a_domain(self) -> bool:
        """True if only some candidates have a domain; no document describes such cases."""
        return None in self.counts_by_domain and len(self.counts_by_domain) > 1

    @cached_property
    def best_domains(self) -> list[str | None]:
        """The domains with the fewest of the group's namespaces."""
        fewest = min(self.counts_by_domain.values(), default=0)
        return [domain for domain, count in self.counts_by_domain.items() if count == fewest]

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The candidates in `best_domains` with the fewest of the group's namespaces."""
        counts = {one: len(self.rivals(one)) for one in self.candidates}
        fewest = {
            home: min(counts[one] for one in self.candidates_in(home)) for home in self.best_domains
        }
        return tuple(
            one for one in self.candidates if counts[one] == fewest.get(self.home.get(one))
        )


@dataclass(frozen=True)
class Spreading:
    """A `place.anti_affinity` case: a namespace of a group to place."""

    case: Json
    settings: Settings
    spread: GroupSpread

    def __getitem__(self, name: str) -> Any:
        return self.case[name]


@dataclass(frozen=True)
class Assigning:
    """A `place.broker` case: a bundle to assign by rules on isolation, groups, bundles and load."""

    case: Json
    settings: Settings
    readings: Readings

    @property
    def namespace(self) -> str:
        """The bundle's namespace."""
        return namespace_of(self.case["bundle"])

    @property
    def owned(self) -> bool:
        """True if a broker reports the bundle; the owner reports it until after the unload."""
        reports = self.case["brokers"].values()
        return any(self.case["bundle"] in report.get("bundles", ()) for report in reports)

    @cached_property
    def serving(self) -> dict[str, list[str]]:
        """The bundles on each broker: reported bundles, and bundles assigned since the report."""
        ahead = self.case["preallocated"]
        return {
            name: [*report.get("bundles", ()), *ahead.get(name, ())]
            for name, report in self.case["brokers"].items()
        }

    @cached_property
    def permitted(self) -> tuple[str, ...]:
        """The brokers that the isolation policies permit for the bundle. [PLACE-14]"""
        if self.case.get("policies"):
            return self._admitted
        policies, brokers = self.case["isolation"], self.case["brokers"]
        own = next((one for one in policies if self.namespace in one["namespaces"]), None)
        if own is None:
            dedicated = {name for one in policies for name in one["primary"]}
            return tuple(name for name in brokers if name not in dedicated)
        primary = [name for name in brokers if name in own["primary"]]
        secondary = [name for name in brokers if name in own["secondary"]]
        enough = len(primary) >= own["least"]
        return tuple(primary if enough else dict.fromkeys((*primary, *secondary)))

    @property
    def _admitted(self) -> tuple[str, ...]:
        policy, primary, secondary = self.policy_and_brokers
        if policy is None:
            return tuple(one for one in self.case["brokers"] if one not in primary)
        enough = len(primary) >= policy["minLimit"]
        return primary if enough else tuple(dict.fromkeys((*primary, *secondary)))

    def matching_brokers(self, group: str, policy: Json) -> tuple[str, ...]:
        """Return the brokers whose entire host matches a regex in the policy's list `group`."""
        hosts = {name: name[: name.rindex(":")] for name in self.case["brokers"]}
        patterns = [re.compile(f"(?:{one})\\Z") for one in policy[group]]
        return tuple(name for name, host in hosts.items() if any(p.match(host) for p in patterns))

    @cached_property
    def policy_and_brokers(self) -> tuple[Json | None, tuple[str, ...], tuple[str, ...]]:
        """The namespace's policy, or None, with its primary and its secondary brokers.

        If there is no policy, the brokers are the primary and secondary brokers of all policies.
        """
        policies = self.case["policies"]
        own = [
            one
            for one in policies
            if any(re.fullmatch(regex, self.namespace) for regex in one["namespaces"])
        ]
        named = own[:1] or policies
        primary, secondary = (
            tuple(
                dict.fromkeys(name for one in named for name in self.matching_brokers(group, one))
            )
            for group in ("primary", "secondary")
        )
        return (own[0] if own else None), primary, secondary

    @cached_property
    def spread(self) -> GroupSpread:
        """The distribution of the namespace's group over the brokers."""
        serving = {name: {*map(namespace_of, own)} for name, own in self.serving.items()}
        counted = self.readings["domain-counts"]
        groups, domains = self.case["groups"], self.case["domains"]
        return GroupSpread(self.namespace, groups, domains, serving, self.permitted, counted)

    @cached_property
    def comparison(self) -> ComparedBrokers:
        """The values by which permitted brokers are compared."""
        case = {**self.case, "candidates": self.permitted}
        return Placing(case, self.settings, self.readings).comparison


@dataclass(frozen=True)
class Placed:
    """An answer: the chosen broker (or None), and its domains and candidates if they are given."""

    broker: str | None
    domains: tuple[str, ...] | None = None
    candidates: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return self.broker or "no broker"

    def described(self, about: str) -> str:
        """Return the chosen broker followed by a text about it, or "no broker"."""
        return f"{self}, {about}" if self.broker else str(self)
