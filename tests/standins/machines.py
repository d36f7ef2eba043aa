"""The model of stories with one part replaced, so that it breaks one rule about time.

Each function makes one replacement with Pytest's `monkeypatch`.
"""

from fractions import Fraction

from pulsar_conformance.reference import Settings, candidates
from pulsar_conformance.reference.shedding import ENABLED, STRATEGY
from pulsar_conformance.reference.story import (
    destination,
    events,
    timers,
    world,
)
from pulsar_conformance.reference.story.world import EventResult, Ignored

World = world.World


def event(patch, name, function):
    """Replace the function that applies an event."""
    patch.setitem(events.EVENTS, name, function)


def nobody_takes_new_topics(patch):
    def topic(world, about, result):
        before = dict(world.owner)
        events.topic(world, about, result)
        for bundle in set(world.owner) - set(before):
            del world.owner[bundle]
        result.assigned.clear()

    event(patch, "topic", topic)


def every_second_topic_elsewhere(patch):
    right = World.owners

    def owners(world):
        names = list(world.brokers)
        found = right(world)
        for place, (topic, owner) in enumerate(found.items()):
            if place % 2 and owner is not None:
                found[topic] = names[(names.index(owner) + 1) % len(names)]
        return found

    patch.setattr(World, "owners", owners)


def a_crash_without_assignments(patch):
    def broker_down(world, about, result):
        events.broker_down(world, about, result)
        result.assigned.clear()

    event(patch, "broker_down", broker_down)


def the_dead_keep_what_they_had(patch):
    report = World.report

    def leave(world, name):
        del world.brokers[name]
        world.leader = next(iter(world.brokers), None)
        return []

    patch.setattr(World, "leave", leave)
    patch.setattr(
        World, "report", lambda world, name: name in world.brokers and report(world, name)
    )


def a_crash_is_noticed_later(patch):
    def broker_down(world, about, result):
        if about["broker"] not in world.brokers:
            raise Ignored("it is not up")
        world.leave(about["broker"])

    def tick(world, about, result):
        for bundle in world.unowned():
            destination.assign(world, result, bundle)
        events.tick(world, about, result)

    event(patch, "broker_down", broker_down)
    event(patch, "tick", tick)


def newcomers_own_nothing(patch):
    right = events.assign
    seen = {}

    def topic(world, about, result):
        if not seen.get(id(world)):
            seen[id(world)] = list(world.brokers) or ["nobody"]
        events.topic(world, about, result)

    def assign(world, result, bundle, preferred=None):
        veterans = [one for one in seen.get(id(world), world.brokers) if one in world.brokers]
        if veterans:
            right(world, result, bundle, veterans)

    event(patch, "topic", topic)
    patch.setattr(events, "assign", assign)


def released_and_left(patch):
    def unload(world, about, result):
        events.unload(world, about, result)
        for one in result.assigned:
            del world.owner[one["bundle"]]
        result.assigned.clear()

    event(patch, "unload", unload)


def a_new_namespace_is_assigned_whole(patch):
    def namespace(world, about, result):
        events.namespace(world, about, result)
        for one in world.namespaces[about["name"]]:
            destination.assign(world, result, f"{about['name']}/{one.name}")

    event(patch, "namespace", namespace)


def the_load_chooses_the_destination(patch):
    def unload(world, about, result):
        events.unload(world, {name: one for name, one in about.items() if name != "to"}, result)

    event(patch, "unload", unload)


def stops_as_if_it_crashed(patch):
    event(patch, "broker_stop", events.broker_down)


def requests_are_ignored(patch):
    def unload(world, about, result):
        raise Ignored("not now")

    event(patch, "unload", unload)


def sheds_without_a_word(patch):
    right = destination.move

    def move(world, result, bundle, idler):
        before = len(result.unloaded)
        right(world, result, bundle, idler)
        del result.unloaded[before:]

    patch.setattr(destination, "move", move)


def the_first_takes_all(patch):
    patch.setattr(
        destination,
        "_brokers_that_spread_group",
        lambda world, bundle, brokers: list(world.brokers)[:1],
    )


def never_looks(patch):
    patch.setattr(timers, "run_shedding_cycle", lambda world, result: None)


def looks_every_minute(patch):
    right = timers.pass_time

    def pass_time(world, minutes, result):
        patch.setattr(timers, "SHEDDING_INTERVAL", "always")
        world.dynamic["always"] = 1
        right(world, minutes, result)

    patch.setattr(events, "pass_time", pass_time)


def follows_at_once(patch):
    right = World.settings.fget

    def settings(world):
        found = right(world)
        newest = {**world.file, **world.dynamic}.get(STRATEGY, found.given.get(STRATEGY))
        return Settings({**found.given, STRATEGY: newest}, found.defaults)

    patch.setattr(World, "settings", property(settings))


def sheds_to_itself(patch):
    patch.setattr(destination, "less_loaded", lambda world, broker, usage: [broker])


def sheds_to_the_busiest(patch):
    def busiest(world, broker, usage):
        others = [name for name in world.brokers if name != broker]
        return sorted(others, key=lambda name: -usage[name])[:1]

    patch.setattr(destination, "less_loaded", busiest)


def forgets_what_it_shed(patch):
    right = destination.move

    def move(world, result, bundle, idler):
        right(world, result, bundle, idler)
        world.unloaded_at.clear()

    patch.setattr(destination, "move", move)


def cannot_be_switched_off(patch):
    right = World.settings.fget

    def settings(world):
        found = right(world)
        return Settings({**found.given, ENABLED: True}, found.defaults)

    patch.setattr(World, "settings", property(settings))


def counts_no_splits(patch):
    right = timers._split_candidates_case

    def split_candidates_case(world):
        found = right(world)
        found["namespaceBundles"] = dict.fromkeys(found["namespaceBundles"], 1)
        return found

    patch.setattr(timers, "_split_candidates_case", split_candidates_case)


def _unloading(patch, value):
    right = World.settings.fget

    def settings(world):
        found = right(world)
        return Settings({**found.given, candidates.AUTO_UNLOAD: value}, found.defaults)

    patch.setattr(World, "settings", property(settings))


def leaves_parts_where_they_are(patch):
    _unloading(patch, False)


def unloads_parts_anyway(patch):
    _unloading(patch, True)


def anyone_decides(patch):
    right = EventResult.step

    def step(result, world, owners):
        found = right(result, world, owners)
        if "decidedBy" in found:
            found["decidedBy"] = list(world.brokers)[-1]
        return found

    patch.setattr(EventResult, "step", step)


def the_dead_lead(patch):
    right = World.leave

    def leave(world, name):
        leader = world.leader
        lost = right(world, name)
        world.ghost = leader
        return lost

    def step(result, world, owners):
        found = told(result, world, owners)
        ghost = getattr(world, "ghost", None)
        if ghost is not None and ghost not in world.brokers:
            found["leader"] = found["leaderNode"] = ghost
        return found

    told = EventResult.step
    patch.setattr(World, "leave", leave)
    patch.setattr(EventResult, "step", step)


def the_node_is_never_written_again(patch):
    right = EventResult.step

    def step(result, world, owners):
        found = right(result, world, owners)
        world.node = getattr(world, "node", None) or world.leader
        found["leaderNode"] = world.node
        return found

    patch.setattr(EventResult, "step", step)


def the_first_never_reports(patch):
    right = EventResult.reported

    def reported(result, world):
        right(result, world)
        result.reports.pop(next(iter(world.brokers)), None)

    patch.setattr(EventResult, "reported", reported)


def reports_no_topics(patch):
    right = World.local_data
    patch.setattr(World, "local_data", lambda world, name: {**right(world, name), "numTopics": 0})


def writes_once(patch):
    right = EventResult.record_bundle_data

    def wrote(result, world):
        if not getattr(world, "written_once", False):
            right(result, world)
        world.written_once = True

    patch.setattr(EventResult, "record_bundle_data", wrote)


def counts_half_the_samples(patch):
    right = EventResult.record_bundle_data

    def wrote(result, world):
        right(result, world)
        for counts in result.written["bundles"].values():
            for frame in counts:
                counts[frame] //= 2

    patch.setattr(EventResult, "record_bundle_data", wrote)


def a_new_leader_starts_afresh(patch):
    def leader_lost(world, about, result):
        events.leader_lost(world, about, result)
        for bundle in list(world.owner):
            world.release(bundle)
            destination.assign(world, result, bundle, list(world.brokers)[-1:])

    event(patch, "leader_lost", leader_lost)


def measures_the_idlest_resource(patch):
    from pulsar_conformance.reference import overload, threshold, usage

    def minimum(broker, weight):
        percents = {name: used * weight[name] for name, used in broker.percent.items()}
        resource = min(percents, key=lambda name: percents[name])
        return usage.Usage(percents[resource], resource if percents[resource] else None)

    def unweighted(broker):
        return minimum(broker, dict.fromkeys(broker.percent, Fraction(1)))

    patch.setattr(usage, "weighted_maximum", minimum)
    patch.setattr(threshold, "weighted_maximum", minimum)
    patch.setattr(overload, "maximum", unweighted)


def knows_no_groups(patch):
    event(patch, "group", lambda world, about, result: None)


def keeps_the_first_group(patch):
    def group(world, about, result):
        if about["namespace"] not in world.groups:
            events.group(world, about, result)

    event(patch, "group", group)


def keeps_the_first_domains(patch):
    def domain(world, about, result):
        known = {broker for brokers in world.domains.values() for broker in brokers}
        if about["name"] not in world.domains and not known & set(about["brokers"]):
            events.domain(world, about, result)

    event(patch, "domain", domain)


def a_crash_moves_everything(patch):
    def broker_down(world, about, result):
        events.broker_down(world, about, result)
        for bundle in list(world.owner) if world.brokers else ():
            world.release(bundle)
            destination.assign(world, result, bundle, list(world.brokers)[-1:])

    event(patch, "broker_down", broker_down)


def transfers_to_the_busiest(patch):
    right = destination.move

    def move(world, result, bundle, _idler):
        usage = {name: member.cpu for name, member in world.brokers.items()}
        right(world, result, bundle, [max(usage, key=usage.get)])

    patch.setattr(destination, "move", move)
