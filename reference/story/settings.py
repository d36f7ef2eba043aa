"""Changes of settings during a story. [CONFIG, SHED-10]"""

from __future__ import annotations

from pulsar_conformance import specs
from pulsar_conformance.reference.settings import Value
from pulsar_conformance.reference.story.results import Ignored
from pulsar_conformance.reference.story.world import World

TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "class": (str,),
}

LEAST = {
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerResourceQuotaUpdateIntervalMinutes": 1,
    "defaultNumberOfNamespaceBundles": 1,
}
"""Least meaningful values of settings."""

MOST_BUNDLES = 65536


def why_invalid(name: str, value: Value) -> str | None:
    """Reason why a setting cannot have a value; None if it can."""
    known = specs.load().settings.get(name)
    if known is None:
        return f"there is no setting {name}"
    of_type = isinstance(value, TYPES.get(known.type, ()))
    if not of_type or isinstance(value, bool) != (known.type == "boolean"):
        return f"{value!r} is not of type {known.type}, as {name} requires"
    if isinstance(value, int | float):
        least, most = known.range or (LEAST.get(name, 0), None)
        if name == "defaultNumberOfNamespaceBundles":
            most = MOST_BUNDLES
        if value < least or (most is not None and value > most):
            return f"{name} cannot be {value}"
    return None


def change_setting(world: World, name: str, value: Value, how: str) -> str:
    """Set a setting in broker.conf, read at the next start, or dynamically.

    Errors: `Ignored` for an unknown setting or an invalid value.
    """
    why = why_invalid(name, value)
    if why:
        raise Ignored(why)
    if how == "conf":
        world.file[name] = value
        return f"{value} in the files: in force after a restart"
    world.dynamic[name] = value
    world.changed()
    return f"{value} from now on, or after a restart where it needs one"
