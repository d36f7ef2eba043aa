"""The model's machine with one part exchanged: each exchange breaks one rule that time shows.

An exchange is made by pytest's `monkeypatch`.
"""

from fractions import Fraction

from pulsar_conformance.reference import Settings, candidates
from pulsar_conformance.reference.shedding import ENABLED, STRATEGY
from pulsar_conformance.reference.story import destination, due, events, reporting, shedding, world
from pulsar_conformance.reference.story.happened import Happened, Ignored

World = world.World


def event(patch, name, function):
    """Exchanges what an event does."""
    patch.setitem(events.EVENTS, name, function)


def nobody_takes_new_topics(patch):
    def topic(world, about, happened):
        before = dict(world.owner)
        events.topic(world, about, happened)
        for bundle in set(world.owner) - set(before):
            del world.owner[bundle]
        happened.assigned.clear()

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
    def broker_down(world, about, happened):
        events.broker_down(world, about, happened)
        happened.assigned.clear()

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
    def broker_down(world, about, happened):
        if about["broker"] not in world.brokers:
            raise Ignored("it is not up")
        world.leave(about["broker"])

    def tick(world, about, happened):
        for bundle in world.unowned():
            destination.assign(world, happened, bundle)
        events.tick(world, about, happened)

    event(patch, "broker_down", broker_down)
    event(patch, "tick", tick)


def newcomers_own_nothing(patch):
    right = events.assign
    seen = {}

    def topic(world, about, happened):
        if not seen.get(id(world)):
            seen[id(world)] = list(world.brokers) or ["nobody"]
        events.topic(world, about, happened)

    def assign(world, happened, bundle, preferred=None):
        veterans = [one for one in seen.get(id(world), world.brokers) if one in world.brokers]
        if veterans:
            right(world, happened, bundle, veterans)

    event(patch, "topic", topic)
    patch.setattr(events, "assign", assign)


def released_and_left(patch):
    def unload(world, about, happened):
        events.unload(world, about, happened)
        for one in happened.assigned:
            del world.owner[one["bundle"]]
        happened.assigned.clear()

    event(patch, "unload", unload)


def requests_are_ignored(patch):
    def unload(world, about, happened):
        raise Ignored("not now")

    event(patch, "unload", unload)


def sheds_without_a_word(patch):
    right = shedding._move

    def move(world, happened, bundle, idler):
        before = len(happened.unloaded)
        right(world, happened, bundle, idler)
        del happened.unloaded[before:]

    patch.setattr(shedding, "_move", move)


def the_first_takes_all(patch):
    patch.setattr(destination, "_apart", lambda world, bundle, brokers: list(world.brokers)[:1])


def never_looks(patch):
    patch.setattr(due, "look", lambda world, happened: None)


def looks_every_minute(patch):
    right = due.passes

    def passes(world, minutes, happened):
        patch.setattr(due, "LOOKS", "always")
        world.dynamic["always"] = 1
        right(world, minutes, happened)

    patch.setattr(events, "passes", passes)


def follows_at_once(patch):
    right = World.settings.fget

    def settings(world):
        found = right(world)
        newest = {**world.file, **world.dynamic}.get(STRATEGY, found.given.get(STRATEGY))
        return Settings({**found.given, STRATEGY: newest}, found.defaults)

    patch.setattr(World, "settings", property(settings))


def sheds_to_itself(patch):
    patch.setattr(shedding, "less_loaded", lambda world, broker, usage: [broker])


def sheds_to_the_busiest(patch):
    def busiest(world, broker, usage):
        others = [name for name in world.brokers if name != broker]
        return sorted(others, key=lambda name: -usage[name])[:1]

    patch.setattr(shedding, "less_loaded", busiest)


def forgets_what_it_shed(patch):
    right = shedding._move

    def move(world, happened, bundle, idler):
        right(world, happened, bundle, idler)
        world.unloaded_at.clear()

    patch.setattr(shedding, "_move", move)


def cannot_be_switched_off(patch):
    right = World.settings.fget

    def settings(world):
        found = right(world)
        return Settings({**found.given, ENABLED: True}, found.defaults)

    patch.setattr(World, "settings", property(settings))


def counts_no_splits(patch):
    right = reporting._reports

    def reports(world):
        found = right(world)
        found["namespaceBundles"] = dict.fromkeys(found["namespaceBundles"], 1)
        return found

    patch.setattr(reporting, "_reports", reports)


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
    right = Happened.step

    def step(happened, world, owners):
        found = right(happened, world, owners)
        if "decidedBy" in found:
            found["decidedBy"] = list(world.brokers)[-1]
        return found

    patch.setattr(Happened, "step", step)


def the_dead_lead(patch):
    right = World.leave

    def leave(world, name):
        leader = world.leader
        lost = right(world, name)
        world.ghost = leader
        return lost

    def step(happened, world, owners):
        found = told(happened, world, owners)
        ghost = getattr(world, "ghost", None)
        if ghost is not None and ghost not in world.brokers:
            found["leader"] = found["leaderNode"] = ghost
        return found

    told = Happened.step
    patch.setattr(World, "leave", leave)
    patch.setattr(Happened, "step", step)


def the_node_is_never_written_again(patch):
    right = Happened.step

    def step(happened, world, owners):
        found = right(happened, world, owners)
        world.node = getattr(world, "node", None) or world.leader
        found["leaderNode"] = world.node
        return found

    patch.setattr(Happened, "step", step)


def the_first_never_reports(patch):
    right = Happened.reported

    def reported(happened, world):
        right(happened, world)
        happened.reports.pop(next(iter(world.brokers)), None)

    patch.setattr(Happened, "reported", reported)


def reports_no_topics(patch):
    right = World.local_data
    patch.setattr(World, "local_data", lambda world, name: {**right(world, name), "numTopics": 0})


def writes_once(patch):
    right = Happened.wrote

    def wrote(happened, world):
        if not getattr(world, "written_once", False):
            right(happened, world)
        world.written_once = True

    patch.setattr(Happened, "wrote", wrote)


def counts_half_the_samples(patch):
    right = Happened.wrote

    def wrote(happened, world):
        right(happened, world)
        for counts in happened.written["bundles"].values():
            for frame in counts:
                counts[frame] //= 2

    patch.setattr(Happened, "wrote", wrote)


def a_new_leader_starts_afresh(patch):
    def leader_lost(world, about, happened):
        events.leader_lost(world, about, happened)
        for bundle in list(world.owner):
            world.release(bundle)
            destination.assign(world, happened, bundle, list(world.brokers)[-1:])

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
    event(patch, "group", lambda world, about, happened: None)


def keeps_the_first_group(patch):
    def group(world, about, happened):
        if about["namespace"] not in world.groups:
            events.group(world, about, happened)

    event(patch, "group", group)


def keeps_the_first_domains(patch):
    def domain(world, about, happened):
        known = {broker for brokers in world.domains.values() for broker in brokers}
        if about["name"] not in world.domains and not known & set(about["brokers"]):
            events.domain(world, about, happened)

    event(patch, "domain", domain)


def a_crash_moves_everything(patch):
    def broker_down(world, about, happened):
        events.broker_down(world, about, happened)
        for bundle in list(world.owner) if world.brokers else ():
            world.release(bundle)
            destination.assign(world, happened, bundle, list(world.brokers)[-1:])

    event(patch, "broker_down", broker_down)
