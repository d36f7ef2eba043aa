"""The effect of each event on a cluster. [OWN, SPLIT, SHED, ANTI, MANAGER]"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.reference import splitting
from pulsar_conformance.reference.cluster import Rates
from pulsar_conformance.reference.context import Refused, Value
from pulsar_conformance.reference.numbers import exact, throughput
from pulsar_conformance.reference.ranges import boundaries, ranges_of
from pulsar_conformance.reference.story.destination import assign, eligible_brokers, split_bundle
from pulsar_conformance.reference.story.timers import pass_time
from pulsar_conformance.reference.story.world import EventResult, Ignored, World

TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "class": (str,),
}

MIN_VALUES = {
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerReportUpdateMaxIntervalMinutes": 1,
    "loadBalancerResourceQuotaUpdateIntervalMinutes": 1,
    "defaultNumberOfNamespaceBundles": 1,
}
"""Minimum meaningful value of some settings, by name."""

MAX_BUNDLES = 65536


def why_invalid(name: str, value: Value) -> str | None:
    """Return why a setting cannot have a value; None if it can."""
    known = specs.load().settings.get(name)
    if known is None:
        return f"there is no setting {name}"
    # JSON writes a whole number with or without decimals.
    whole = known.type == "integer" and isinstance(value, float) and value.is_integer()
    of_type = whole or isinstance(value, TYPES.get(known.type, ()))
    if not of_type or isinstance(value, bool) != (known.type == "boolean"):
        return f"{value!r} is not of type {known.type}, as {name} requires"
    if isinstance(value, int | float):
        least, most = known.range or (MIN_VALUES.get(name, 0), None)
        if name == "defaultNumberOfNamespaceBundles":
            most = MAX_BUNDLES
        if value < least or (most is not None and value > most):
            return f"{name} cannot be {value}"
    return None


def change_setting(world: World, name: str, value: Value, how: str) -> str:
    """Change a setting, and return text on when the value takes effect.

    `how` is `conf` for broker.conf, which a broker reads when it starts, or `dynamic`. Errors:
    `Ignored` for an unknown setting or an invalid value.
    """
    why = why_invalid(name, value)
    if why:
        raise Ignored(why)
    if how == "conf":
        world.file[name] = value
        return f"{value} in broker.conf: in force after a restart"
    world.dynamic[name] = value
    world.changed()
    return f"{value} from now on, or after a restart if it needs one"


Event = Callable[[World, Mapping[str, Any], EventResult], None]
"""Function that applies an event to a cluster.

Errors: `Ignored` if the event is impossible, `Refused` if a rule refuses it.
"""

STARTS_GRACE: Mapping[str, bool] = {"shed": False, "unload": True}
"""True if an administrator's unload starts the grace period, for each alternative of the reading
`grace-starts`. [SHED-12, 14]
"""

DEFAULT_BUNDLES = "defaultNumberOfNamespaceBundles"


def broker_up(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Add a broker, and assign bundles that have no owner. [OWN-06]"""
    name = event["broker"]
    if name in world.brokers:
        raise Ignored(f"{name} is up")
    world.join(name, exact(event["capacity"]))
    result.note(name, f"joins, {throughput(exact(event['capacity']))}")
    _assign_all(world, result, world.unowned())


def broker_down(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Crash a broker; its bundles go to other brokers immediately. [OWN-04, OWN-05]"""
    name = _running_broker(world, event)
    lost = world.leave(name)
    result.note(name, f"goes down; without an owner: {', '.join(lost) or 'no bundle'}")
    _assign_all(world, result, lost)


def broker_stop(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Shut a broker down; it releases its bundles, and other brokers take them. [OWN-17]"""
    name = _running_broker(world, event)
    owned = world.leave(name)
    for bundle in owned:
        result.unloaded.append({"bundle": bundle, "from": name, "reason": "stop"})
    _assign_all(world, result, owned)


def restart(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Restart a broker; meanwhile, other brokers take over its bundles. [SHED-10]"""
    name = _running_broker(world, event)
    capacity = world.brokers[name].capacity
    broker_down(world, event, result)
    world.join(name, capacity)
    result.note(name, "is up again, with the settings as they are now")
    _assign_all(world, result, world.unowned())


def leader_lost(world: World, _event: Mapping[str, Any], result: EventResult) -> None:
    """Make the next broker the leader, if there is another broker; bundles stay. [MANAGER-10,
    MANAGER-11]
    """
    if world.leader is None:
        raise Ignored("no broker leads")
    names = list(world.brokers)
    world.leader = names[(names.index(world.leader) + 1) % len(names)]
    world.changed()
    result.note(world.leader, "leads from now on")


def namespace(world: World, event: Mapping[str, Any], _happened: EventResult) -> None:
    """Create a namespace with its bundles. [BUNDLE-01, BUNDLE-02]"""
    name = event["name"]
    if name in world.namespaces:
        raise Ignored(f"{name} exists")
    count = int(event.get("bundles") or world.settings.number(DEFAULT_BUNDLES))
    world.namespaces[name] = list(ranges_of(boundaries(count)))


def topic(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Use a topic; assign its bundle if no broker owns it. [OWN-01, OWN-02]"""
    name = event["topic"]
    tenant, space, _ = name.partition("://")[2].split("/", 2)
    if f"{tenant}/{space}" not in world.namespaces:
        raise Ignored(f"there is no namespace {tenant}/{space}")
    bundle = world.use(name, f"{tenant}/{space}", Rates.read(event))
    if bundle in world.owner:
        result.note(name, f"is in {bundle}, owned by {world.owner[bundle]}")
        return
    result.note(name, f"is in {bundle}, owned by no broker")
    assign(world, result, bundle)


def setting(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Change a setting. [SHED-10]"""
    result.note(event["name"], change_setting(world, event["name"], event["value"], event["how"]))


def domain(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Set the brokers of a failure domain; an empty list removes the domain. [ANTI-13]"""
    name, brokers = event["name"], list(event["brokers"])
    if not brokers and name not in world.domains:
        raise Ignored(f"there is no domain {name}")
    for other, registered in list(world.domains.items()):
        both = [broker for broker in brokers if broker in registered]
        if other != name and both:
            SECOND_DOMAIN[world.readings["second-domain"]](world, other, both, result)
    world.domains[name] = brokers
    if not brokers:
        del world.domains[name]


def _refuse_registration(
    _world: World, domain: str, brokers: list[str], _happened: EventResult
) -> None:
    raise Refused(f"{brokers[0]} is registered to {domain}")


def _leave_domain(world: World, domain: str, brokers: list[str], result: EventResult) -> None:
    world.domains[domain] = [one for one in world.domains[domain] if one not in brokers]
    result.note(domain, f"no longer has {', '.join(brokers)}")


SECOND_DOMAIN: Mapping[str, Callable[[World, str, list[str], EventResult], None]] = {
    "refused": _refuse_registration,
    "moved": _leave_domain,
}
"""The function that handles brokers that already belong to another domain.

The keys are the alternatives of the reading `second-domain`. [ANTI-15, ANTI-16]
"""


def group(world: World, event: Mapping[str, Any], _happened: EventResult) -> None:
    """Set a namespace's anti-affinity group, replacing any earlier group. [ANTI-12]"""
    name, given = event["namespace"], event["group"]
    if name not in world.namespaces:
        raise Ignored(f"there is no namespace {name}")
    if given == world.groups.get(name):
        raise Ignored(f"{name} is in {given or 'no group'}")
    world.groups.pop(name, None)
    if given is not None:
        world.groups[name] = given


def unload(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Unload a topic, a namespace or a bundle, as an administrator requests.

    [OWN-07 … 11, OWN-16]
    """
    if "to" in event and event["to"] not in world.brokers:
        raise Ignored(f"{event['to']} is not up")
    if "namespace" in event:
        bundles = world.bundles_in(event["namespace"])
        if not bundles:
            raise Ignored(f"no broker owns a bundle of {event['namespace']}")
    else:
        bundles = [_owned_bundle(world, event.get("topic") or event["bundleOf"])]
        if "topic" in event and world.readings["unload-topic"] == "stays":
            result.note(event["topic"], f"closed and opened again, in {bundles[0]}")
            return
    released = [(bundle, world.release(bundle)) for bundle in bundles]
    for bundle, owner in released:
        result.unloaded.append({"bundle": bundle, "from": owner, "reason": "admin"})
        if STARTS_GRACE[world.readings["grace-starts"]]:
            world.unloaded_at[bundle] = world.clock
    for bundle, owner in released:
        eligible = eligible_brokers(world, owner, "unload-destination")
        assign(world, result, bundle, [event["to"]] if "to" in event else eligible)


def split(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Split a bundle, as an administrator requests. [SPLIT-10 … 17]"""
    name = event["bundleOf"]
    if name not in world.bundle_of:
        raise Ignored(f"{name} is not in use")
    algorithm = splitting.algorithm_of(
        event.get("algorithm"), "admin", world.settings, world.readings
    )
    positions = event.get("positions", ())
    if not split_bundle(world, result, world.bundle_of[name], algorithm, positions, "admin"):
        raise Ignored(f"there is no position at which to split {world.bundle_of[name]}")


def tick(world: World, event: Mapping[str, Any], result: EventResult) -> None:
    """Let time pass. [SHED-09]"""
    pass_time(world, exact(event["minutes"]), result)


def _running_broker(world: World, event: Mapping[str, Any]) -> str:
    name: str = event["broker"]
    if name not in world.brokers:
        raise Ignored(f"{name} is not up")
    return name


def _owned_bundle(world: World, name: str) -> str:
    bundle = world.bundle_of.get(name)
    if bundle not in world.owner:
        raise Ignored(f"no broker owns {name}")
    return bundle


def _assign_all(world: World, result: EventResult, bundles: Iterable[str]) -> None:
    for bundle in bundles:
        assign(world, result, bundle)


EVENTS: Mapping[str, Event] = {
    event.__name__: event
    for event in (
        broker_up,
        broker_down,
        broker_stop,
        restart,
        leader_lost,
        namespace,
        topic,
        setting,
        domain,
        group,
        unload,
        split,
        tick,
    )
}
"""The function that applies each event, by the event's name in the protocol."""
