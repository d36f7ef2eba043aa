"""Steps of a story that differ from the model's steps in one respect.

A deviation is a function of an event, the model's step after it, and the deviating steps before it.
"""

from itertools import pairwise

NOTHING = {"minutes": [], "bundles": {}}
"""The records of a leader that wrote nothing."""


def nobody_owns(_event, step, _before):
    return step if "owners" not in step else {**step, "owners": dict.fromkeys(step["owners"])}


def the_stranger_owns(_event, step, _before):
    return {**step, "owners": dict.fromkeys(step["owners"], "nobody")} if "owners" in step else step


def as_before(_event, step, before):
    """Owners never change, and no bundle is unloaded or assigned again."""
    past = next((one["owners"] for one in reversed(before) if "owners" in one), {})
    if "owners" not in step:
        return step
    kept = {"owners": {**step["owners"], **past}, "leader": step.get("leader")}
    return kept | {name: step[name] for name in ("split",) if name in step}


def each_topic_for_itself(_event, step, _before):
    if "owners" not in step:
        return step
    names = sorted({one for one in step["owners"].values() if one} | {step.get("leader") or "b"})
    owners = {one: names[place % len(names)] for place, one in enumerate(sorted(step["owners"]))}
    return {**step, "owners": owners}


def to_the_last(event, step, before):
    """At each event, all owned bundles move to the broker that joined last."""
    if "owners" not in step:
        return step
    names = [one["lately"] for one in before if "lately" in one]
    names += [event["broker_up"]["broker"]] if "broker_up" in event else []
    if not names:
        return step
    past = next((one["owners"] for one in reversed(before) if "owners" in one), {})
    had = {one: past[one] for one in step["owners"] if past.get(one)}
    last = names[-1]
    bundles = sorted(
        {f"{one.split('://')[1].rpartition('/')[0]}/0x00000000_0xffffffff" for one in had}
    )
    owner = next(iter(had.values()), last)
    return {
        "owners": dict.fromkeys(step["owners"], last),
        "leader": last,
        "decidedBy": "nobody",
        "lately": last,
        "assigned": [{"bundle": one, "to": last} for one in bundles],
        "unloaded": [{"bundle": one, "from": owner, "reason": "shed"} for one in bundles],
    }


def never_moves_by_itself(_event, step, _before):
    moves = ("unloaded", "split", "assigned")
    return {name: one for name, one in step.items() if name not in moves}


def back_where_it_was(_event, step, before):
    """Unloaded bundles return to the broker that they were taken from."""
    if not step.get("unloaded"):
        return step
    past = next((one["owners"] for one in reversed(before) if "owners" in one), {})
    had = {one["bundle"]: one["from"] for one in step["unloaded"]}
    assigned = [
        {**one, "to": had.get(one["bundle"], one["to"])} for one in step.get("assigned", ())
    ]
    return {**step, "owners": {**step["owners"], **past}, "assigned": assigned}


def decided_by_nobody(_event, step, _before):
    return {**step, "decidedBy": "nobody", "leader": "nobody else"}


def split_often(_event, step, before):
    """Every step splits a bundle into very many parts."""
    if "owners" not in step:
        return step
    spaces = {one.split("://")[1].rpartition("/")[0] for one in step["owners"]}
    cuts = [f"0x{0x400000 * place:08x}" for place in range(0x3FF)] + ["0xffffffff"]
    parts = [f"{one}_{two}" for one, two in pairwise(cuts)]
    whole = [
        {
            "bundle": f"{space}/0x00000000_0xffffffff",
            "into": [f"{space}/{part}" for part in parts],
            "reason": "broker",
        }
        for space in sorted(spaces)
    ]
    return {**step, "split": whole}


def refuses_nothing(_event, step, before):
    past = next((one["owners"] for one in reversed(before) if "owners" in one), {})
    return step if "owners" in step else {"owners": past}


def writes_nothing(_event, step, _before):
    seen = {name: one for name, one in (("reports", {}), ("written", NOTHING)) if name in step}
    return {**step, **seen}


def counts_one_sample(_event, step, _before):
    if not step.get("written"):
        return step
    bundles = step["written"]["bundles"]
    once = {name: {**one, "numSamples": 1} for name, one in bundles.items()}
    return {**step, "written": {**step["written"], "bundles": once}}


def turned_down(_event, _step, _before):
    return {"refused": "not today"}


def passed_over(_event, _step, _before):
    return {"ignored": "not today"}


STORIES = (
    nobody_owns,
    the_stranger_owns,
    as_before,
    each_topic_for_itself,
    to_the_last,
    never_moves_by_itself,
    back_where_it_was,
    decided_by_nobody,
    split_often,
    refuses_nothing,
    writes_nothing,
    counts_one_sample,
    turned_down,
    passed_over,
)
"""Every deviation of a step."""
