"""Answers that differ from the model's answer to a case in one respect, by operation.

A deviation is a function of a case, the model's answer, and the question's number in its trial.
"""

from itertools import pairwise

from standins.deviating_channels import CHANNELS
from standins.deviating_stories import STORIES

STEP = 0x1000


def other_manager(_case, told, _turn):
    return {**told, "manager": "modular" if told.get("manager") == "simple" else "simple"}


def extensible(_case, _told, _turn):
    return {"manager": "extensible"}


def simple(_case, _told, _turn):
    return {"manager": "simple"}


def broken(_case, _told, _turn):
    return {"failed": "out of order"}


def refused(_case, _told, _turn):
    return {"refused": "not today"}


def other_values(_case, told, _turn):
    def other(value):
        if isinstance(value, bool):
            return not value
        return value + 1 if isinstance(value, int | float) else f"{value}x"

    return {"settings": {name: other(value) for name, value in told["settings"].items()}}


def no_measured_bundle(_case, _told, _turn):
    return {"bundles": []}


def every_measured_bundle(case, _told, _turn):
    return {"bundles": list(case["stats"])}


def the_others(case, told, _turn):
    return {"bundles": [one for one in case["stats"] if one not in told["bundles"]]}


def no_namespace(_case, _told, _turn):
    return {"unload": []}


def every_namespace(case, _told, _turn):
    return {"unload": case["namespaces"]}


def all_but_the_first(_case, told, _turn):
    return {"unload": told["unload"][1:]}


def not_due(_case, _told, _turn):
    return {"due": False}


def due(_case, _told, _turn):
    return {"due": True}


def boundaries(*cuts):
    return {"boundaries": [f"0x{cut:08x}" for cut in cuts]}


def one_bundle(_case, _told, _turn):
    return boundaries(0, 0xFFFFFFFF)


def a_gap(_case, told, _turn):
    first, *rest = (int(one, 16) for one in told["boundaries"])
    return boundaries(first + STEP, *rest)


def first_range(case, _told, _turn):
    return {"bundles": ["_".join(case["boundaries"][:2])] * len(case["topics"])}


def last_range(case, _told, _turn):
    return {"bundles": ["_".join(case["boundaries"][-2:])] * len(case["topics"])}


def in_turns(case, _told, turn):
    """Assign the ranges to the topics in turn, whatever the names of the topics are."""
    ranges = [f"{one}_{two}" for one, two in pairwise(case["boundaries"])]
    places = range(turn, turn + len(case["topics"]))
    return {"bundles": [ranges[place % len(ranges)] for place in places]}


def without_suffix(case, told, _turn):
    """Locate every topic in the bundle of the first topic."""
    return {"bundles": told["bundles"][:1] * len(told["bundles"])}


def beside(case, told, _turn):
    """Locate every topic in the range before its own range."""
    ranges = [f"{one}_{two}" for one, two in pairwise(case["boundaries"])]
    return {"bundles": [ranges[ranges.index(one) - 1] for one in told["bundles"]]}


def parts_at(*cuts):
    return {"bundles": [f"0x{one:08x}_0x{two:08x}" for one, two in pairwise(cuts)]}


def ends_of(case):
    return [int(end, 16) for end in case["bundle"].split("_")]


def cut_at(share):
    def cut(case, _told, _turn):
        lower, upper = ends_of(case)
        return parts_at(lower, lower + int((upper - lower) * share), upper)

    return cut


def in_three(case, _told, _turn):
    lower, upper = ends_of(case)
    third = (upper - lower) // 3
    return parts_at(lower, lower + third, upper - third, upper)


def beyond(case, _told, _turn):
    lower, upper = ends_of(case)
    return parts_at(lower, (lower + upper) // 2, upper - 1)


def at_positions(case, _told, _turn):
    lower, upper = ends_of(case)
    cuts = sorted({int(one, 16) for one in case.get("positions", ())})
    return parts_at(lower, *(cut for cut in cuts if lower < cut < upper), upper)


def bundles_of(case):
    return list(dict.fromkeys(one for b in case["brokers"].values() for one in b["bundles"]))


def every_bundle(case, _told, _turn):
    return {"split": bundles_of(case), "unload": bundles_of(case)}


def split_alone(_case, told, _turn):
    return {**told, "unload": []}


def unload_too(_case, told, _turn):
    return {**told, "unload": told["split"]}


def no_split(_case, _told, _turn):
    return {"split": [], "unload": []}


def unloading(case, brokers=None):
    chosen = case["brokers"] if brokers is None else brokers
    pairs = [(name, one) for name in chosen for one in case["brokers"][name].get("bundles", ())]
    return {"unload": [{"broker": name, "bundle": one} for name, one in pairs]}


def everything(case, _told, _turn):
    return unloading(case)


def nothing(_case, _told, _turn):
    return {"unload": []}


def one_each(case, _told, _turn):
    """Unload the last bundle of each broker."""
    pairs = [(name, one["bundles"][-1]) for name, one in case["brokers"].items() if one["bundles"]]
    return {"unload": [{"broker": name, "bundle": one} for name, one in pairs]}


def twice(_case, told, _turn):
    return {"unload": told["unload"] * 2}


def a_stranger(case, told, _turn):
    first = next(iter([*case["brokers"], "nobody"]))
    return {
        "unload": [*told["unload"], {"broker": first, "bundle": "no/where/0x00000000_0xffffffff"}]
    }


def first_broker(case, _told, _turn):
    return unloading(case, list(case["brokers"])[:1])


def idle_broker(case, _told, _turn):
    """Unload all bundles of the broker with the fewest bundles."""
    owned = {name: len(one.get("bundles", ())) for name, one in case["brokers"].items()}
    return unloading(case, [min(owned, key=owned.get)] if owned else [])


def by_turns(case, told, turn):
    """Unload all bundles at the first of several questions, and no bundle at later questions."""
    return unloading(case) if turn == 0 else {"unload": []}


def percent_off(off):
    return lambda _case, told, _turn: {**told, "percent": max(0, told["percent"] + off)}


def resource_named(name):
    return lambda _case, told, _turn: {**told, "resource": name}


def speed_off(_case, told, _turn):
    return {"gbps": (told.get("gbps") or 0) + 1}


def rates_off(_case, told, _turn):
    def off(frame):
        return {name: one + (1000 if name.startswith("msg") else 0) for name, one in frame.items()}

    return {name: off(frame) for name, frame in told.items()}


def samples_off(_case, told, _turn):
    return {name: {**one, "numSamples": one["numSamples"] + 1} for name, one in told.items()}


def frames_swapped(_case, told, _turn):
    return {"shortTermData": told["longTermData"], "longTermData": told["shortTermData"]}


def candidate(place):
    def chosen(case, told, _turn):
        names = sorted(case["candidates"])
        return {**told, "broker": names[place % len(names)] if names else "nobody"}

    return chosen


def any_broker(place):
    def chosen(case, told, _turn):
        names = sorted(case["brokers"])
        return {**told, "broker": names[place % len(names)] if names else "nobody"}

    return chosen


def nobody(_case, told, _turn):
    return {**told, "broker": None}


def a_stranger_takes_it(_case, told, _turn):
    return {**told, "broker": "nobody"}


def all_candidates(case, told, _turn):
    return {**told, "domains": sorted(case["domains"]), "candidates": sorted(case["candidates"])}


def empty_report(_case, told, _turn):
    return {**told, "broker": {}}


def doubled_report(_case, told, _turn):
    if "broker" not in told:
        return told

    def more(value):
        if isinstance(value, dict):
            return {name: more(one) for name, one in value.items()}
        return value * 2 + 1 if isinstance(value, int | float) else []

    return {**told, "broker": {name: more(one) for name, one in told["broker"].items()}}


def full_report(_case, told, _turn):
    resources = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    made_up = {name: {"usage": 7, "limit": 10} for name in resources}
    return {**told, "broker": {**made_up, "msgRateIn": 7, **told.get("broker", {})}}


def steps(change):
    def changed(case, told, _turn):
        new = []
        for event, step in zip(case["events"], told["steps"], strict=True):
            new.append(change(event, step, new))
        return {"steps": new}

    return changed


def outside(_case, told, _turn):
    """Answer with ranges that the namespace does not have."""
    return {"bundles": ["0x00000001_0x00000002"] * len(told["bundles"])}


def breaks_down(_case, _told, _turn):
    """Fail although an answer is possible."""
    return {"failed": "out of order"}


def renamed(_case, told, turn):
    """Replace each name by an unknown name, a different one at each question."""

    def other(value):
        if isinstance(value, str):
            return f"{value}-{turn}"
        if isinstance(value, list):
            return [other(one) for one in value]
        if isinstance(value, dict):
            return {name: other(one) for name, one in value.items()}
        return value

    return other(told)


def without(case, setting):
    """Return a case without a setting; if it is a boolean setting, with its opposite value."""
    value = case["settings"][setting]
    rest = {name: one for name, one in case["settings"].items() if name != setting}
    return {**case, "settings": {**rest, setting: not value} if isinstance(value, bool) else rest}


def deaf_to(case, kind):
    """Return a story without its last event of a kind."""
    last = max(place for place, event in enumerate(case["events"]) if kind in event)
    events = [
        {"tick": {"minutes": 0}} if place == last else event
        for place, event in enumerate(case["events"])
    ]
    return {**case, "events": events}


def misheard(case):
    """Yield named variants of the case, each without one setting or without one event."""
    for setting in case.get("settings", ()):
        yield f"without {setting}", without(case, setting)
    for kind in sorted({kind for event in case.get("events", ()) for kind in event} - {"tick"}):
        yield f"deaf to {kind}", deaf_to(case, kind)


COMMON = (broken, refused)
ANY_CANDIDATE = tuple(map(candidate, range(8)))

SHEDDING = (
    everything,
    nothing,
    one_each,
    twice,
    a_stranger,
    first_broker,
    idle_broker,
    by_turns,
)


def in_each_cycle(deviate):
    """Return a deviation of `shed.cycles` that applies `deviate` in every cycle."""

    def changed(case, answer, turn):
        cycles = zip(case["cycles"], answer["cycles"], strict=True)
        more = {name: case[name] for name in ("strategy", "settings")}
        return {"cycles": [deviate({**more, **cycle}, one, turn) for cycle, one in cycles]}

    changed.__name__ = f"{deviate.__name__} in each cycle"
    return changed


DEVIATIONS = {
    "settings.defaults": (other_values,),
    "bundles.create": (one_bundle, a_gap),
    "bundles.locate": (first_range, last_range, in_turns, beside, without_suffix, outside),
    "bundles.split": (cut_at(0.3), cut_at(0.5), in_three, beyond, at_positions),
    "bundles.split_candidates": (every_bundle, split_alone, unload_too, no_split),
    "usage.max": (percent_off(50), percent_off(-50), *map(resource_named, ("memory", "cpu"))),
    "usage.nic": (speed_off,),
    "average.bundle": (rates_off, samples_off, frames_swapped),
    "average.broker": (rates_off, frames_swapped),
    "shed.select": SHEDDING,
    "shed.cycles": tuple(map(in_each_cycle, SHEDDING)),
    "place.select": (*ANY_CANDIDATE, nobody, a_stranger_takes_it),
    "place.broker": (*map(any_broker, range(8)), nobody, a_stranger_takes_it),
    "place.anti_affinity": (*ANY_CANDIDATE, nobody, a_stranger_takes_it, all_candidates),
    "manager.choose": (other_manager, extensible, simple),
    "report.due": (not_due, due),
    "report.bundles": (no_measured_bundle, every_measured_bundle, the_others),
    "channel.apply": CHANNELS,
    "policy.changed": (no_namespace, every_namespace, all_but_the_first),
    "report.read": (other_manager, empty_report, doubled_report, full_report),
    "cluster.replay": tuple(map(steps, STORIES)),
}
