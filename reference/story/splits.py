"""Split of a bundle, and assignment of its parts. [SPLIT]"""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.candidates import AUTO_UNLOAD
from pulsar_conformance.reference.story.destination import assign, eligible_brokers
from pulsar_conformance.reference.story.results import EventResult
from pulsar_conformance.reference.story.world import World


def split_bundle(
    world: World,
    result: EventResult,
    bundle: str,
    algorithm: str,
    positions: Sequence[str],
    by: str,
) -> bool:
    """Split a bundle, unload its parts if that is set, and return True if it was divided.

    Errors: `Refused`, by the rules of splitting. [SPLIT-20 … 23]
    """
    topics = list(world.topics_in.get(bundle, ()))
    request = splitting.Split.of(bundle, topics, positions)
    parts = splitting.parts(request, algorithm, world.readings)
    if len(parts) < 2:
        return False
    names = world.cut(bundle, parts)
    result.split.append({"bundle": bundle, "into": names, "reason": by})
    result.note(bundle, f"split into {len(names)}, by {algorithm}")
    if world.settings.flag(AUTO_UNLOAD):
        owned = [name for name in names if name in world.owner]
        released = [(name, world.release(name)) for name in owned]
        for name, owner in released:
            result.unloaded.append({"bundle": name, "from": owner, "reason": "split"})
        for name, owner in released:
            assign(world, result, name, eligible_brokers(world, owner, "split-destination"))
    return True
