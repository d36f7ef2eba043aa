"""Answers to bundles.split_candidates: the leader checks all bundles and requests splits."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pulsar_conformance.adapters.cluster.decisions.bundles import divide
from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
from pulsar_conformance.adapters.pulsar.jvm import call
from pulsar_conformance.adapters.pulsar.namespaces import FIRST, LAST
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Unsupported


def candidates(leader: AskedLeader, case: Case) -> Answer:
    """Return the bundles to split, and the bundles whose parts are unloaded afterwards."""
    if not case["leader"]:
        raise Unsupported(
            "the case is about a broker that is not the leader, but only the leader's decision can "
            "be observed"
        )
    leader.begin(case["settings"], case["brokers"])
    divide(leader, dict(_boundaries_by_namespace(case)))
    requests = leader.requests()
    leader.release.loads.fill_load_data(leader.frozen_load_data(), case["brokers"], case["bundles"])
    call(leader.manager, "checkNamespaceBundleSplit")
    split = [one for one in requests.recorded if one.what == "split"]
    return {
        "split": [one.bundle for one in split],
        "unload": [one.bundle for one in split if one.unload],
    }


def _boundaries_by_namespace(case: Case) -> Iterable[tuple[str, list[str]]]:
    """Yield each namespace of the case with boundaries of the given number of bundles.

    If this number is large enough, they include the boundaries of the bundles in brokers' reports.
    """
    parts: dict[str, list[tuple[int, int]]] = {name: [] for name in case["namespaceBundles"]}
    for report in case["brokers"].values():
        for bundle in report.get("bundles", ()):
            space, _, part = bundle.rpartition("/")
            low, high = (int(end, 16) for end in part.split("_"))
            parts.setdefault(space, []).append((low, high))
    for space, owned in parts.items():
        yield space, boundaries_including(owned, case["namespaceBundles"].get(space, 1))


def boundaries_including(owned: Iterable[tuple[int, int]], count: int) -> list[str]:
    """Return the boundaries of `count` bundles, including the `owned` ones if `count` permits."""
    first, last = int(FIRST, 16), int(LAST, 16)
    cuts = {first, last, *(end for part in owned for end in part)}
    if len(cuts) - 1 > count:
        cuts = {first, last}
    low, high = max(pairwise(sorted(cuts)), key=lambda gap: gap[1] - gap[0])
    missing = count - (len(cuts) - 1)
    cuts |= {low + (high - low) * place // (missing + 1) for place in range(1, missing + 1)}
    return [f"0x{cut:08x}" for cut in sorted(cuts)]
