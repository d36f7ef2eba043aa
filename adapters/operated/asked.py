"""The questions that a user's cluster can answer without changes, and its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pulsar_conformance.adapters.admin_api.http import FORBIDDEN_STATUSES, NoAnswer
from pulsar_conformance.adapters.admin_api.requests import namespace_of_topic
from pulsar_conformance.adapters.operated.cluster_state import MANAGER_SETTING, ClusterState, Reader
from pulsar_conformance.adapters.protocol import JSON, Row
from pulsar_conformance.reference.answers.managers import MANAGERS

LAST = 0xFFFFFFFF
PARTITIONS = 16
"""Number of partitions to look up in a namespace; namespaces with fewer bundles are skipped."""

NOT_IN_CLUSTER = "this cluster can answer {} only for {}"


class AnswerableQuestions:
    """The questions that a cluster can answer, built from its observed state."""

    def __init__(self, state: ClusterState, reader: Reader) -> None:
        self._state = state
        self._reader = reader

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations about which the cluster can answer at least one question."""
        return tuple(dict.fromkeys(name for _, row in self._rows() for name, _ in row))

    def questions_by_rule(self) -> dict[str, tuple[Row, ...]]:
        """Return, for each rule, the sequences of questions that test the rule."""
        found: dict[str, tuple[Row, ...]] = {}
        for rule, row in self._rows():
            found[rule] = (*found.get(rule, ()), row)
        return found

    def answer(self, operation: str, case: Mapping[str, Any]) -> JSON:
        """Return the cluster's answer. Errors: `NoAnswer`."""
        return ANSWERS[operation](self, case)

    def _rows(self) -> Iterator[tuple[str, Row]]:
        for case in self._division_cases():
            yield "BUNDLE-01", (("bundles.create", case),)
        for case in self._location_cases():
            for rule in ("BUNDLE-04", "BUNDLE-11"):
                yield rule, (("bundles.locate", case),)
            again = {**case, "topics": case["topics"][::-1]}
            yield "BUNDLE-05", (("bundles.locate", case), ("bundles.locate", again))
        for case in self._partition_cases():
            yield "BUNDLE-07", (("bundles.locate", case),)
        for case in self._report_cases():
            for rule in ("REPORT-01", "REPORT-02"):
                yield rule, (("report.read", case),)
        for case in self._configuration_cases():
            for rule in ("MANAGER-01", "MANAGER-02", "MANAGER-03", "MANAGER-05"):
                yield rule, (("manager.choose", case),)

    def _division_cases(self) -> list[JSON]:
        """Return a case for each number of bundles found in a namespace."""
        counts = {len(cuts) - 1 for cuts in self._state.boundaries.values()}
        return [{"bundles": count, "settings": {}} for count in sorted(counts) if count > 0]

    def _location_cases(self) -> Iterator[JSON]:
        for space, cuts in self._state.boundaries.items():
            if covers_all_hashes(cuts):
                yield {"boundaries": list(cuts), "topics": list(self._state.topics[space])}

    def _partition_cases(self) -> Iterator[JSON]:
        """Yield cases with partitions of nonexistent topics, whose bundles can be looked up."""
        for space, cuts in self._state.boundaries.items():
            if covers_all_hashes(cuts) and len(cuts) > PARTITIONS:
                topic = f"persistent://{space}/conformance-partition-"
                topics = [f"{topic}{number}" for number in range(PARTITIONS)]
                yield {"boundaries": list(cuts), "topics": topics}

    def _report_cases(self) -> Iterator[JSON]:
        for broker in self._state.managers():
            if self._state.configured(broker) in ("simple", "modular"):
                yield {"report": self._state.look.reports[broker]}

    def _configuration_cases(self) -> list[JSON]:
        """Return the distinct configurations of brokers whose reports show their load manager."""
        found = []
        for broker in sorted(self._state.managers()):
            case = self._configuration(broker)
            if case is not None and case not in found:
                found.append(case)
        return found

    def _configuration(self, broker: str) -> JSON | None:
        """Return the load manager classes configured for a broker; None if none can be read.

        If the class is set dynamically, the class in broker.conf cannot be read, so `conf` is None.
        """
        dynamic, conf = self._state.dynamic.get(MANAGER_SETTING), self._state.classes.get(broker)
        if dynamic is None and not conf:
            return None
        return {"conf": None if dynamic is not None else conf, "dynamic": dynamic}

    def create(self, case: Mapping[str, Any]) -> JSON:
        """Return the boundaries of an existing namespace that has the requested number of bundles.

        If there are several, a namespace whose boundaries leave out some hashes is preferred,
        because it reveals a fault.
        """
        having = {
            space: cuts
            for space, cuts in self._state.boundaries.items()
            if len(cuts) - 1 == case["bundles"]
        }
        if not having:
            return {
                "unsupported": NOT_IN_CLUSTER.format(
                    "bundles.create", "a number of bundles that one of its namespaces has"
                )
            }
        space = min(having, key=lambda one: covers_all_hashes(having[one]))
        return {"boundaries": list(having[space]), "why": f"these are the boundaries of {space}"}

    def locate(self, case: Mapping[str, Any]) -> JSON:
        """Return each topic's bundle; consecutive requests go to different brokers."""
        spaces = {namespace_of_topic(topic) for topic in case["topics"]}
        space = spaces.pop() if len(spaces) == 1 else ""
        cuts = tuple(case["boundaries"])
        if self._state.boundaries.get(space) != cuts:
            why = "the topics of one of its namespaces, with the boundaries of that namespace"
            return {"unsupported": NOT_IN_CLUSTER.format("bundles.locate", why)}
        try:
            brokers = self._state.sight.owners
            bundles = [self._reader.bundle(topic, brokers) for topic in case["topics"]]
        except NoAnswer as error:
            if error.status in FORBIDDEN_STATUSES:
                return {"unsupported": str(error)}
            raise
        if self._reader.boundaries(space) != cuts:
            return {"unsupported": f"{space} was split while it was read; run the command again"}
        return {"bundles": bundles}

    def read(self, case: Mapping[str, Any]) -> JSON:
        """Return the load manager that wrote a report, according to the broker's configured
        class.
        """
        for broker, report in self._state.look.reports.items():
            manager = self._state.configured(broker)
            if report == case["report"] and manager in ("simple", "modular"):
                return {"manager": manager, "broker": {}, "why": f"{broker} runs this load manager"}
        return {"unsupported": NOT_IN_CLUSTER.format("report.read", "the reports of its brokers")}

    def choose(self, case: Mapping[str, Any]) -> JSON:
        """Return the load manager that load reports show for brokers with this configuration.

        If brokers differ, one that does not run the configured manager is preferred, because it
        reveals a fault.
        """
        named = MANAGERS.get(case["dynamic"] or case["conf"] or "")
        running = {
            manager: broker
            for broker, manager in self._state.managers().items()
            if self._configuration(broker) == case
        }
        if not running:
            return {"unsupported": NOT_IN_CLUSTER.format("manager.choose", "its settings")}
        manager = min(running, key=lambda one: one == named)
        return {
            "manager": manager,
            "why": f"{running[manager]} writes load reports of this manager",
        }


ANSWERS: Mapping[str, Callable[[AnswerableQuestions, Mapping[str, Any]], JSON]] = {
    "bundles.create": AnswerableQuestions.create,
    "bundles.locate": AnswerableQuestions.locate,
    "report.read": AnswerableQuestions.read,
    "manager.choose": AnswerableQuestions.choose,
}
"""The method that answers each operation."""


def covers_all_hashes(cuts: tuple[str, ...]) -> bool:
    """True if boundaries ascend from the lowest hash to the highest."""
    ends = [int(cut, 16) for cut in cuts]
    ascending = all(low < high for low, high in pairwise(ends))
    return len(ends) > 1 and ends[0] == 0 and ends[-1] == LAST and ascending
