"""Facts about growing bundles: which certainly exceed a threshold, and which may."""

from __future__ import annotations

from collections import Counter

from pulsar_conformance.conformance.bundles.view import Locating
from pulsar_conformance.conformance.common.expect import same
from pulsar_conformance.reference import Readings
from pulsar_conformance.reference.bundles import PARTITION
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.ranges import namespace_of


def exceeds(growth: Growth, bundle: str, name: str) -> bool | None:
    """Whether a bundle exceeds a threshold; None if floating point might decide."""
    measured, limit = growth.measured(bundle, name), growth.limits[name]
    whole = measured.denominator == limit.denominator == 1
    if measured != limit and not whole and same(measured, limit):
        return None
    return measured > limit


def may_split(growth: Growth) -> list[str]:
    """The bundles that exceed a threshold, or almost do."""
    names = growth.limits
    return [b for b in growth.stats if any(exceeds(growth, b, n) is not False for n in names)]


def crowded(growth: Growth) -> set[str]:
    """The namespaces that may have more candidates than room for new bundles."""
    counted = Counter(map(namespace_of, may_split(growth)))
    return {space for space, count in counted.items() if count > growth.room(space)}


def locating_settled(case: Locating, readings: Readings) -> bool:
    """No document says how partitions are spread."""
    return readings["partitions"] == "hashed" or not any(map(PARTITION.search, case["topics"]))


def growth_settled(case: Growth, _readings: Readings) -> bool:
    """Each bundle certainly exceeds a threshold or none, and each namespace has enough room."""
    found = {bundle: [exceeds(case, bundle, name) for name in case.limits] for bundle in case.stats}
    growing = Counter(namespace_of(bundle) for bundle, over in found.items() if any(over))
    room = all(count <= case.room(space) for space, count in growing.items())
    return room and not any(None in over for over in found.values())
