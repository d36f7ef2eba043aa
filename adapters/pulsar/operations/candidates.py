"""Answers to bundles.split_candidates by the leader's own check, `checkNamespaceBundleSplit`."""

from __future__ import annotations

from collections import defaultdict

import jpype
from pulsar_conformance.adapters.pulsar.manager import Manager
from pulsar_conformance.adapters.pulsar.namespaces import divide
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release
from pulsar_conformance.adapters.pulsar.service import Service


def candidates(release: Release, case: Case) -> Answer:
    """Return the bundles that the leader asks to split, and the bundles whose parts it unloads."""
    configuration = release.configuration(case["settings"])
    counts = case["namespaceBundles"]
    replies = {"getBundleCount": lambda namespace: jpype.JInt(counts.get(str(namespace), 1))}
    service = Service(configuration, case["brokers"], case["leader"], replies)
    spaces: dict[str, list[str]] = defaultdict(list)
    for report in case["brokers"].values():
        for bundle in report.get("bundles", ()):
            space, _, part = bundle.rpartition("/")
            spaces[space].append(part)
    for space, parts in spaces.items():
        divide(service.factory, space, parts)
    with Manager(service) as manager:
        release.loads.fill_load_data(manager.load_data, case["brokers"], case["bundles"])
        manager.remove_inactive_brokers()
        manager.java.checkNamespaceBundleSplit()
    split, unload = [], []
    for what, (namespace, part, unloading, *_) in service.requests:
        if what == "split":
            split.append(f"{namespace}/{part}")
            if unloading:
                unload.append(split[-1])
    return {"split": split, "unload": unload}
