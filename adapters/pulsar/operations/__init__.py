"""The answers of a release to each operation."""

from collections.abc import Callable, Mapping
from functools import partial

from pulsar_conformance.adapters.pulsar.operations import (
    anti_affinity,
    averages,
    bundles,
    candidates,
    channel,
    managers,
    placement,
    policies,
    reports,
    settings,
    shedding,
    splitting,
    usage,
    whole_placement,
)
from pulsar_conformance.adapters.pulsar.plugged import check_instantiable
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Release

Operation = Callable[[Release, Case], Answer]

OPERATIONS: Mapping[str, Operation] = {
    "settings.defaults": settings.defaults,
    "bundles.create": bundles.create,
    "bundles.locate": bundles.locate,
    "bundles.split": splitting.split,
    "bundles.split_candidates": candidates.candidates,
    "usage.max": usage.maximum,
    "usage.nic": usage.nic,
    "average.bundle": averages.bundle,
    "average.broker": averages.broker,
    "shed.select": shedding.select,
    "shed.cycles": shedding.cycles,
    "place.select": placement.select,
    "place.anti_affinity": anti_affinity.filter_candidates,
    "place.broker": whole_placement.assign_bundle,
    "manager.choose": managers.choose,
    "report.read": reports.read,
    "report.due": reports.due,
    "report.bundles": reports.top_bundles,
    "policy.changed": policies.changed_namespaces,
    "channel.apply": channel.apply_changes,
}
"""The functions that answer operations, by ID, in the order of the protocol."""


def offered_operations(release: Release) -> Mapping[str, Operation]:
    """Return, by operation, the functions that answer for a release.

    With a user's strategy, only those that depend on the strategy are offered.
    """
    if not (release.shedder or release.placer):
        return OPERATIONS
    shed = ("shed.select", "shed.cycles") if release.shedder else ()
    place = ("place.select", "place.broker") if release.placer else ()
    return {name: OPERATIONS[name] for name in (*shed, *place)}


def check_strategies(release: Release) -> None:
    """Check that the release can instantiate the user's strategy. Errors: `CannotLoad`."""
    for strategy, make in (
        (release.shedder, shedding.make_user_strategy),
        (release.placer, placement.make_user_strategy),
    ):
        if strategy:
            check_instantiable(strategy, partial(make, release), release.version)


def strategies(release: Release) -> list[str]:
    """Return the shedding strategies that the release offers."""
    return shedding.strategies(release)


def algorithms(release: Release) -> list[str]:
    """Return the split algorithms that the release offers."""
    return splitting.algorithms(release)
