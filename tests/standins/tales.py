"""Answers to stories without decisions: each step depends only on the form of the event."""

WHOLE = "0x00000000_0xffffffff"
HALVES = ("0x00000000_0x80000000", "0x80000000_0xffffffff")
REASONS = ("admin", "shed", "split")


def space_of(topic):
    return "/".join(topic.partition("://")[2].split("/")[:2])


class Named:
    """The names in a story's events so far."""

    def __init__(self):
        self.up, self.topics, self.owners = {}, {}, {}

    def take(self, event):
        [(kind, about)] = event.items()
        if kind == "broker_up":
            self.up[about["broker"]] = None
        elif kind == "broker_down":
            self.up.pop(about["broker"], None)
        elif kind == "topic":
            self.topics[about["topic"]] = None
        return kind

    @property
    def bundles(self):
        return [f"{space}/{WHOLE}" for space in dict.fromkeys(map(space_of, self.topics))]


def told(case, step):
    """Return an answer with one step for each event; `step` gets the names that occurred so far."""
    named, steps = Named(), []
    for event in case["events"]:
        steps.append(step(named, named.take(event)))
    return {"steps": steps}


def nothing(named, _kind):
    return {"owners": dict.fromkeys(named.topics)}


def everything(named, _kind):
    """At every step, assign every bundle to every broker, unload it from there, and split it."""
    pairs = [(bundle, broker) for bundle in named.bundles for broker in named.up]
    parts = [half for bundle in named.bundles for half in halves(bundle)]
    return {
        "owners": dict.fromkeys(named.topics, next(iter(named.up), None)),
        "assigned": [{"bundle": bundle, "to": broker} for bundle, broker in pairs],
        "unloaded": [
            {"bundle": bundle, "from": broker, "reason": reason}
            for bundle, broker in pairs
            for reason in REASONS
        ],
        "split": [
            {"bundle": bundle, "into": parts * 100, "reason": "broker"} for bundle in named.bundles
        ],
        "leader": next(iter(named.up), None),
        "decidedBy": next(reversed(named.up), None),
    }


def at_random(random):
    """Return a step function that assigns bundles at random, and moves them at random over time.

    In some stories, owners also change at any time, separately for each topic.
    """
    restless = random.random() < 0.5

    def step(named, kind):
        found = {"assigned": [], "unloaded": [], "split": []}
        for topic in named.topics:
            if topic not in named.owners:
                move(named, topic, found, kind)
            elif restless and random.random() < 0.2:
                named.owners[topic] = random.choice((None, *named.up))
        if named.topics and random.random() < (0.9 if restless else 0.3 * (kind == "tick")):
            move(named, random.choice(list(named.topics)), found, kind)
        if kind == "tick" and named.bundles and random.random() < 0.3:
            part(named, random.choice(named.bundles), found)
        if named.up:
            found["leader"], found["decidedBy"] = random.choices(list(named.up), k=2)
        return {"owners": dict(named.owners), **found}

    def move(named, topic, found, kind):
        space, old = space_of(topic), named.owners.get(topic)
        to = random.choice((*named.up, None) if restless else (*named.up,) or (None,))
        bundle = f"{space}/{WHOLE}"
        if old is not None:
            reason = random.choice(("shed", "shed", "split") if kind == "tick" else REASONS)
            found["unloaded"].append({"bundle": bundle, "from": old, "reason": reason})
        if to is not None:
            found["assigned"].append({"bundle": bundle, "to": to})
        moved = [one for one in named.topics if space_of(one) == space]
        named.owners |= dict.fromkeys(moved, to)

    def part(named, bundle, found):
        parts = halves(bundle)
        found["split"].append({"bundle": bundle, "into": parts, "reason": "broker"})
        for one in parts if named.up and random.random() < 0.5 else ():
            source, to = random.choices(list(named.up), k=2)
            found["unloaded"].append({"bundle": one, "from": source, "reason": "split"})
            found["assigned"].append({"bundle": one, "to": to})

    return step


def halves(bundle):
    return [f"{bundle[: -len(WHOLE)]}{half}" for half in HALVES]


def strange(random, upside_down):
    bundle = f"a/b/{upside_down}"

    def step(_named, _kind):
        return random.choice(
            (
                {"ignored": "no"},
                {"refused": "no"},
                {
                    "owners": {"nothing at all": "nobody"},
                    "assigned": [{"bundle": bundle, "to": "nobody"}] * 2,
                    "unloaded": [{"bundle": bundle, "from": "nobody", "reason": "shed"}] * 2,
                    "split": [{"bundle": bundle, "into": [], "reason": "broker"}],
                    "leader": None,
                    "decidedBy": "nobody",
                },
            )
        )

    return step
