"""`place.anti_affinity`: which of the candidates takes a namespace of an anti-affinity group?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.facts.settled import spreading_settled
from pulsar_conformance.conformance.operations.balancing.placing import named, placed
from pulsar_conformance.conformance.views import Spreading
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.anti_affinity import Spread


def _legal(case: Json, _settings: Settings) -> Problems:
    home: dict[str, str] = {}
    for domain, brokers in case["domains"].items():
        for broker in brokers:
            if broker in home:
                yield f"case.domains.{domain}: {broker} is registered in {home[broker]}"
            home[broker] = domain


def _matches(allowed: Json, answer: Json) -> bool:
    """Compares domains and candidates only if both answers name them."""
    told = [name for name in ("domains", "candidates") if name in allowed and name in answer]
    same = all(set(allowed[name]) == set(answer[name]) for name in told)
    return same and bool(allowed["broker"] == answer["broker"])


def _example(owner: str) -> Json:
    return {
        "settings": {},
        "domains": {"east": ["broker-1"], "west": ["broker-2"]},
        "groups": {"t/first": "orders", "t/second": "orders"},
        "owned": {owner: ["t/first"]},
        "candidates": ["broker-1", "broker-2"],
        "namespace": "t/second",
    }


SPREAD = Operation(
    id="place.anti_affinity",
    view=lambda case, settings, readings: Spreading(
        case, settings, Spread.of(case, readings["domain-counts"])
    ),
    read=placed,
    matches=_matches,
    examples=(_example("broker-1"), _example("broker-2")),
    legal=_legal,
    names=frozenset({"brokers", "candidates", "domains", "groups", "owned"}),
    named=named,
    same=lambda _case, answer: answer["broker"],
    settled=spreading_settled,
)
