"""Assignment of a bundle in a release, `ModularLoadManagerImpl.selectBroker`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from pulsar_conformance.reference.assignment import Assignment
from pulsar_conformance.reference.derivation import Step
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.released.loads import Json, Leader
from pulsar_conformance.reference.released.placement import ReleasedPlacement
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.settings import Settings

MOST_TOPICS = "loadBalancerBrokerMaxTopics"
EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
LATER = "preferLaterVersions"
DOMAINS = "failureDomainsEnabled"

SHARED = "LoadManagerShared."
POLICIES = f"{SHARED}applyNamespacePolicies"
TOPICS = f"{SHARED}filterBrokersWithLargeTopicCount"
GROUP = f"{SHARED}filterAntiAffinityGroupOwnedBrokers"
EVEN = f"{SHARED}removeMostServicingBrokersForNamespace"
VERSION = "BrokerVersionFilter.filter"
RESTORED = "ModularLoadManagerImpl.selectBroker"

Candidates = Sequence[str]


class ReleasedAssignment:
    """One bundle to assign: each filter leaves candidates to the next, the strategy chooses."""

    def __init__(self, case: Json, settings: Settings, release: ReleasedWays) -> None:
        self.known = Leader(case, settings, release)
        self._all = Assignment(case, settings, Readings({"domain-counts": "candidates"}))
        self._release = release
        self._settings = settings

    @property
    def permitted(self) -> Candidates:
        """Brokers that isolation policies permit."""
        return self._all.permitted

    @cached_property
    def served(self) -> dict[str, Counter[str]]:
        """Number of bundles of each namespace on each broker."""
        return {
            name: Counter(map(namespace_of, bundles)) for name, bundles in self._all.serving.items()
        }

    @cached_property
    def filtered(self) -> list[tuple[str, Candidates]]:
        """Candidates after each filter, with the filter's place in the source."""
        found: list[tuple[str, Candidates]] = [(POLICIES, self.permitted)]
        filters: tuple[tuple[str, Callable[[Candidates], Candidates]], ...] = (
            (TOPICS, self._few_topics),
            (GROUP, self._apart),
            (EVEN, self._even),
            (VERSION, self._latest),
        )
        for place, leaves in filters:
            found.append((place, leaves(found[-1][1])))
        if not found[-1][1]:
            found.append((RESTORED, self.permitted))
        return found

    @cached_property
    def placing(self) -> ReleasedPlacement:
        """The choice among the remaining candidates, or among all if those are overloaded."""
        left = self._among(self.filtered[-1][1])
        return left if left.scores else self._among(self.permitted)

    def steps(self) -> Iterator[Step]:
        """Candidates after each filter that removes some, and the choice."""
        before: Candidates = tuple(self.known.case["brokers"])
        for place, left in self.filtered:
            if set(left) != set(before):
                yield Step("left", f"{', '.join(left) or 'nobody'} ({place})")
            before = left
        if set(self.placing.candidates) != set(before):
            yield Step("again", f"all of these are overloaded: any that may take it ({RESTORED})")
        yield from self.placing.steps()

    def _among(self, candidates: Candidates) -> ReleasedPlacement:
        case = {**self.known.case, "candidates": list(candidates)}
        return ReleasedPlacement(Leader(case, self._settings, self._release))

    def _set(self, name: str) -> float | bool:
        """A setting that no document names, else the release's own default."""
        value = self._settings.given.get(name, self._release.hidden.get(name, DEFAULTS[name]))
        assert isinstance(value, bool | int | float)
        return value

    def _few_topics(self, among: Candidates) -> Candidates:
        """Brokers within the limit of topics, or all if none is."""
        reports = self.known.case["brokers"]
        most = self._set(MOST_TOPICS)
        few = [name for name in among if reports[name].get("numTopics", 0) <= most]
        return few or among

    def _apart(self, among: Candidates) -> Candidates:
        """Brokers that serve the fewest of the group, in the domains that do."""
        groups, group = self.known.case["groups"], self._all.spread.group
        if group is None:
            return among
        count = {name: sum(groups.get(one) == group for one in self.served[name]) for name in among}
        home = self._all.spread.home if self._set(DOMAINS) else {}
        return fewest(emptiest_domains(among, count, home), count)

    def _even(self, among: Candidates) -> Candidates:
        """Brokers with the fewest bundles of the namespace."""
        if self._release.ways["even-spread"] == "setting" and not self._set(EVENLY):
            return among
        namespace = self._all.namespace
        return fewest(among, {name: self.served[name][namespace] for name in among})

    def _latest(self, among: Candidates) -> Candidates:
        """Brokers of the latest version; all permitted ones if a version is unknown."""
        if not self._set(LATER) or not among:
            return among
        versions = self.known.case["versions"]
        if not all(name in versions for name in among):
            return self.permitted
        number = {name: tuple(map(int, versions[name].split("."))) for name in among}
        latest = max(number.values())
        return [name for name in among if number[name] == latest]


def emptiest_domains(
    among: Candidates, count: Mapping[str, int], home: Mapping[str, str]
) -> Candidates:
    """Candidates in the domains with the lowest total count; all if there are no domains."""
    if not home:
        return among
    of_domain = Counter[str | None]()
    for name in among:
        of_domain[home.get(name)] += count[name]
    least = min((of_domain[home.get(name)] for name in among), default=0)
    return [name for name in among if of_domain[home.get(name)] == least]


def fewest(among: Candidates, count: Mapping[str, int]) -> Candidates:
    """Candidates with the lowest count."""
    least = min((count[name] for name in among), default=0)
    return [name for name in among if count[name] == least]


DEFAULTS = {MOST_TOPICS: 50000, EVENLY: True, LATER: False, DOMAINS: True}
"""Values of settings that a case leaves out; failure domains count as enabled."""
