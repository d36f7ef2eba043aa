"""Assignment of a bundle to a broker in a release (`ModularLoadManagerImpl.selectBroker`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from pulsar_conformance.reference.context import Readings, Settings
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.placement import Assignment
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.java import in_set_order, map_capacity
from pulsar_conformance.reference.released.loads import SYSTEM, Json, Leader, brokers_by_address
from pulsar_conformance.reference.released.placement import CHOICE, IN_TURN, ReleasedPlacement
from pulsar_conformance.reference.released.release import ReleasedWays
from pulsar_conformance.reference.shedding import EXCLUDED, excluded_namespaces

MAX_TOPICS = "loadBalancerBrokerMaxTopics"
EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
PREFER_LATER = "preferLaterVersions"
FAILURE_DOMAINS_ENABLED = "failureDomainsEnabled"
"""Setting that is true by default here, because the documents assume that it is true."""

SHARED = "LoadManagerShared."
POLICIES = f"{SHARED}applyNamespacePolicies"
TOPICS = f"{SHARED}filterBrokersWithLargeTopicCount"
GROUP = f"{SHARED}filterAntiAffinityGroupOwnedBrokers"
EVEN = f"{SHARED}removeMostServicingBrokersForNamespace"
VERSION = "BrokerVersionFilter.filter"
RESTORED = "ModularLoadManagerImpl.selectBroker"

FILTERS = {
    POLICIES: "isolation",
    TOPICS: "topics",
    GROUP: "anti-affinity",
    EVEN: "even spread",
    VERSION: "version",
    RESTORED: "none is left",
}
"""Name of each filter, by its place in the release's source."""

Candidates = Sequence[str]


class ReleasedAssignment:
    """Assignment of one bundle: filters reduce the candidates, then the strategy chooses one."""

    def __init__(self, case: Json, settings: Settings, release: ReleasedWays) -> None:
        self.known = Leader(case, settings, release)
        self._all = Assignment(case, settings, Readings({"domain-counts": "candidates"}))
        self._release = release
        self._settings = settings

    @property
    def declined(self) -> Derivation | None:
        """The answer if the release fails for the bundle's name or the model lacks the strategy,
        else None.
        """
        if self._all.namespace.count("/") > 1 and self._release.ways["old-names"] == "refused":
            place = self._release.place("old-names")
            why = f"{self._all.namespace} is not tenant/namespace ({place})"
            return Derivation({"failed": why}, lambda: (Step("failed", why),))
        placement = self._place_on_one_of(()).strategy
        if placement not in CHOICE:
            why = f"the model of '{self._release.title}' does not include {placement}"
            return Derivation({"unsupported": why}, lambda: (Step("refused", why),))
        return None

    @cached_property
    def permitted(self) -> Candidates:
        """The brokers that isolation policies permit, in the iteration order of Java's hash set.

        Brokers enter the set in the order of their names. If several policies apply, the policy
        that was stored first decides.
        """
        addresses = brokers_by_address(self.known.case["brokers"], self._release.addresses)
        brokers = tuple(addresses[one] for one in in_set_order(sorted(addresses)))
        policies = self.known.case["isolation"]
        own = next((one for one in policies if self._all.namespace in one["namespaces"]), None)
        if own is None:
            dedicated = {name for one in policies for name in one["primary"]}
            return tuple(name for name in brokers if name not in dedicated)
        primary = tuple(name for name in brokers if name in own["primary"])
        if len(primary) >= own["least"]:
            return primary
        beside = (name for name in brokers if name in own["secondary"])
        return tuple(dict.fromkeys((*primary, *beside)))

    @cached_property
    def served(self) -> dict[str, Counter[str]]:
        """Number of bundles of each namespace on each broker."""
        return {
            name: Counter(map(namespace_of, bundles)) for name, bundles in self._all.serving.items()
        }

    @cached_property
    def filtered(self) -> list[tuple[str, Candidates]]:
        """The candidates after each filter, with the filter's place in the source."""
        found: list[tuple[str, Candidates]] = [(POLICIES, self.permitted)]
        filters: tuple[tuple[str, Callable[[Candidates], Candidates]], ...] = (
            (TOPICS, self._with_few_topics),
            (GROUP, self._with_fewest_of_group),
            (EVEN, self._with_fewest_of_namespace),
            (VERSION, self._of_latest_version),
        )
        for place, leaves in filters:
            found.append((place, leaves(found[-1][1])))
        if not found[-1][1]:
            found.append((RESTORED, self.permitted))
        return found

    @cached_property
    def first(self) -> ReleasedPlacement:
        """The strategy's choice among the filtered candidates."""
        return self._place_on_one_of(self.filtered[-1][1])

    @cached_property
    def second(self) -> ReleasedPlacement | None:
        """The choice among all permitted brokers, made if the first choice may be overloaded."""
        if self.first.overloaded.isdisjoint(self.first.best):
            return None
        among = dict.fromkeys((*self.filtered[-1][1], *self.permitted))
        return self._place_on_one_of(tuple(among), again=True)

    @cached_property
    def best(self) -> Candidates:
        """The brokers among which the choice is random."""
        kept = [name for name in self.first.best if name not in self.first.overloaded]
        return sorted({*kept, *self.second.best}) if self.second else kept

    def steps(self) -> Iterator[Step]:
        """Yield the candidates after each filter, and the choice, as steps."""
        brokers: Candidates = tuple(self.known.case["brokers"])
        before = brokers
        yield Step("brokers", ", ".join(before) or "none")
        for place, left in self.filtered:
            if not before and not left:
                continue  # No candidate is left to filter.
            same = set(left) == set(before)
            named = ", ".join(name for name in brokers if name in left)
            names = "all of these" if same else named or "no broker"
            names += self._why_spread() if place == EVEN else ""
            yield Step(f"  {FILTERS[place]}", f"{names} ({place})")
            before = left
        if self.second and (self.second.turn or set(self.second.candidates) != set(before)):
            yield Step("again", f"{self._why_second_choice()}: any that may take it ({RESTORED})")
        yield from (self.second or self.first).steps()

    def _why_second_choice(self) -> str:
        """Return the reason for choosing a second time: which candidates are overloaded."""
        if self.first.strategy == IN_TURN:
            return f"{self.first.best[0]}, the first in turn, is overloaded"
        whole = "all" if self.first.overloaded.issuperset(self.first.best) else "some"
        return f"{whole} of these are overloaded"

    def _place_on_one_of(self, candidates: Candidates, again: bool = False) -> ReleasedPlacement:
        """Return the placement of the bundle on one of the candidates, by the strategy in use.

        At the first choice, RoundRobinBrokerSelector places bundles of namespaces that are excluded
        from shedding. `again` marks the second choice.
        """
        spared = excluded_namespaces(self._settings.given.get(EXCLUDED, ""))
        excluded = self._all.namespace in spared
        return ReleasedPlacement(
            self.known,
            candidates,
            instead=IN_TURN if excluded and not again else None,
            table=map_capacity(len(self.permitted)),
            turn=int(again and not excluded),
        )

    def _with_few_topics(self, candidates: Candidates) -> Candidates:
        """Return the brokers whose number of topics is within the limit, or else all brokers."""
        reports = self.known.case["brokers"]
        most = self.known.number(MAX_TOPICS)
        few = [name for name in candidates if reports[name].get("numTopics", 0) <= most]
        return few or candidates

    def _with_fewest_of_group(self, candidates: Candidates) -> Candidates:
        """Return the brokers with the fewest namespaces of the group, in the domains that have the
        fewest of these namespaces.
        """
        groups = self.known.case["groups"]
        if group_of(groups, self._all.namespace) is None:
            return candidates
        count = {
            name: members(groups, self._all.namespace, self.served[name]) for name in candidates
        }
        home = (
            self._all.spread.home if self._settings.given.get(FAILURE_DOMAINS_ENABLED, True) else {}
        )
        return fewest(emptiest_domains(candidates, count, home), count)

    def _with_fewest_of_namespace(self, candidates: Candidates) -> Candidates:
        """Return the brokers with the fewest of the namespace's bundles, if even spread is on."""
        if self._spread_by_setting and not self._settings.flag(EVENLY):
            return candidates
        return fewest(
            candidates, {name: self.served[name][self._all.namespace] for name in candidates}
        )

    @property
    def _spread_by_setting(self) -> bool:
        """True if a setting decides whether bundles of the namespace are spread evenly."""
        way = self._release.ways["even-spread"]
        return way == "setting-alone" or (way == "setting" and self._all.namespace != SYSTEM)

    def _why_spread(self) -> str:
        """Return a remark on the setting for even spread if it is false; empty if it is true."""
        if self._release.ways["even-spread"] == "always" or self._settings.flag(EVENLY):
            return ""
        if self._spread_by_setting:
            return f", since {EVENLY} is false"
        return f", although {EVENLY} is false: {SYSTEM} is always spread"

    def _of_latest_version(self, candidates: Candidates) -> Candidates:
        """Return the brokers of the latest version; all permitted ones if a version is unknown."""
        if not self._settings.flag(PREFER_LATER) or not candidates:
            return candidates
        versions = self.known.case["versions"]
        if not all(name in versions for name in candidates):
            return tuple(dict.fromkeys((*candidates, *self.permitted)))
        number = {name: tuple(map(int, versions[name].split("."))) for name in candidates}
        latest = max(number.values())
        return [name for name in candidates if number[name] == latest]


def group_of(groups: Mapping[str, str], namespace: str) -> str | None:
    """Return a namespace's anti-affinity group in lower case; None if missing or blank."""
    group = groups.get(namespace, "")
    return group.lower() if group.strip() else None


def members(groups: Mapping[str, str], namespace: str, others: Iterable[str]) -> int:
    """Return how many of the namespaces in `others` share the group of `namespace`."""
    group = group_of(groups, namespace)
    return sum(group is not None and groups.get(one, "").lower() == group for one in others)


def emptiest_domains(
    candidates: Candidates, count: Mapping[str, int], home: Mapping[str, str]
) -> Candidates:
    """Return the candidates in the domains whose candidates have the lowest total count.

    Candidates without a domain count as one domain.
    """
    if not home:
        return candidates
    of_domain = Counter[str | None]()
    for name in candidates:
        of_domain[home.get(name)] += count[name]
    least = min((of_domain[home.get(name)] for name in candidates), default=0)
    return [name for name in candidates if of_domain[home.get(name)] == least]


def fewest(candidates: Candidates, count: Mapping[str, int]) -> Candidates:
    """Return the candidates with the lowest count."""
    least = min((count[name] for name in candidates), default=0)
    return [name for name in candidates if count[name] == least]
