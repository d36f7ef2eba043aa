"""CHANNEL: how brokers agree on bundle states under the extensible load manager."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.check import Expect, Violated
from pulsar_conformance.conformance.common.clusters import is_part
from pulsar_conformance.conformance.common.operation import Operation, Problems
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing import aim, composite
from pulsar_conformance.conformance.drawing.loads import randoms
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.ranges import namespace_of


class State(NamedTuple):
    """A bundle's state, with the brokers `to` and `source` if the state has them."""

    name: str
    to: str | None
    source: str | None

    @classmethod
    def read(cls, data: Json) -> State:
        """Parse a change, or the state of a bundle in `units`."""
        return cls(data["state"], data["to"], data["from"])

    def __str__(self) -> str:
        return f"{self.name} from {self.source or 'nobody'} to {self.to or 'nobody'}"


class ChannelTurn(NamedTuple):
    """A change of a bundle's state, and the state before it according to the answer."""

    bundle: str
    before: State | None
    change: State
    counts: bool  # True if the change takes effect according to the answer.

    @property
    def is_assignment(self) -> bool:
        """True if the change starts assigning a bundle that has no owner."""
        return self.change.name == "assigning" and self.change.source is None

    def was_in(self, *states: str | None) -> bool:
        """True if the bundle was in one of `states` before the change; None stands for no entry."""
        return (self.before.name if self.before else None) in states

    @property
    def holder(self) -> str | None:
        """The broker that owned the bundle before the change, or to which it was being assigned."""
        return self.before.to if self.before else None

    @property
    def continues(self) -> bool:
        """True if the change has the same two brokers as the state before it."""
        return self.before is not None and self.before[1:] == self.change[1:]

    @property
    def is_foreign(self) -> bool:
        """True if the change names a source that is not the broker with the bundle."""
        has = self.holder if self.was_in("owned") else self.before and self.before.source
        return self.change.source not in (None, has)

    def demand(self, counts: bool, expect: Expect) -> None:
        """Mark the rule as reached; demand that the change takes effect if and only if `counts`."""
        expect.reached()
        wanted, found = ("counts" if one else "is ignored" for one in (counts, self.counts))
        allowed = f"{self.bundle} is {self.before or 'without an entry'}: {self.change} {wanted}"
        expect.that(wanted == found, allowed, found)


def _states(units: Json) -> dict[str, State]:
    return {name: State.read(one) for name, one in units.items()}


@dataclass(frozen=True)
class Applied:
    """An answer: states after all changes, the ignored changes, and the results of lookups."""

    case: Json
    units: Mapping[str, State]
    ignored: frozenset[int]
    lookups: tuple[Json, ...]

    @classmethod
    def read(cls, case: Json, answer: Json) -> Applied:
        """Parse an answer. Errors: `Violated` if it lacks results of lookups, or has too many."""
        asked, found = len(case["lookups"]), len(answer["lookups"])
        if asked != found:
            raise Violated(f"{asked} lookups", f"{found} lookups")
        ignored, lookups = frozenset(answer["ignored"]), tuple(answer["lookups"])
        return cls(case, _states(answer["units"]), ignored, lookups)

    def turns(self) -> Iterator[ChannelTurn]:
        """Yield each change with the state before it, according to the answer."""
        units = _states(self.case["units"])
        for index, change in enumerate(self.case["changes"]):
            bundle, state, counts = change["bundle"], State.read(change), index not in self.ignored
            yield ChannelTurn(bundle, units.get(bundle), state, counts)
            if counts:
                units[bundle] = state

    def found(self) -> Iterator[tuple[str, State | None, str, Json]]:
        """Yield each lookup: text, the bundle's final state, the broker asked, and the result."""
        for lookup, found in zip(self.case["lookups"], self.lookups, strict=True):
            bundle, at = lookup["bundle"], lookup["at"]
            state = self.units.get(bundle)
            yield f"{bundle}, {state or 'without an entry'}, looked up at {at}", state, at, found


NEEDS: Mapping[str, str] = {"free": "-?", "assigning": "+?", "owned": "+?", "releasing": "?+"}
"""For some states, if `to` and `from` name a broker: + yes, - no, ? either; for others, -+."""


def _problems(case: Json, _settings: Settings) -> Problems:
    """Yield a problem for each state with wrong brokers, and for each change of unknown effect."""
    for bundle, unit in case["units"].items():
        yield from _broker_problems(f"case.units.{bundle}", unit)
    known = set(case["units"])
    for index, change in enumerate(case["changes"]):
        where = f"case.changes[{index}]"
        yield from _broker_problems(where, change)
        begins = change["state"] in ("assigning", "owned") and change["from"] is None
        if change["bundle"] not in known and not begins:
            yield f"{where}: no document says what this change means for a bundle without an entry"
        known.add(change["bundle"])


def _broker_problems(where: str, unit: Json) -> Problems:
    for name, sign in zip(("to", "from"), NEEDS.get(unit["state"], "-+"), strict=True):
        if sign == ("+" if unit[name] is None else "-"):
            yield f"{where}: {unit['state']} {'needs' if sign == '+' else 'must not have'} `{name}`"


LOWER, UPPER = "shop/eu/0x00000000_0x80000000", "shop/eu/0x80000000_0xffffffff"
WHOLE = "shop/eu/0x00000000_0xffffffff"
BROKERS = "broker-1", "broker-10", "broker-2", "roker-1"


def change_of(bundle: str, state: str, to: str | None = None, source: str | None = None) -> Json:
    """Return a change in the protocol's format."""
    return {"bundle": bundle, "state": state, "to": to, "from": source}


APPLY = Operation(
    id="channel.apply",
    view=lambda case, _settings, _readings: case,
    read=Applied.read,
    matches=lambda allowed, answer: (
        all(allowed[name] == answer[name] for name in ("units", "lookups"))
        and set(allowed["ignored"]) == set(answer["ignored"])
    ),
    examples=tuple(
        {"units": {}, "changes": [change_of(LOWER, "assigning", one)], "lookups": []}
        for one in BROKERS[:2]
    ),
    legal=_problems,
    removable=frozenset({"units", "changes", "lookups"}),
    sequential=True,
)

SEQUENCES: Mapping[str, Sequence[str]] = {
    "assignment": ("", "assigning a -", "owned a -"),
    "reassignment": ("free - b", "assigning a -", "owned a -"),
    "transfer": ("owned a -", "releasing b a", "assigning b a", "owned b a"),
    "transfer at once": ("owned a -", "assigning b a", "owned b a"),
    "being assigned": ("assigning a -", "owned a -"),
    "being released": ("releasing b a", "assigning b a", "owned b a"),
    "unload": ("owned a -", "releasing - a", "free - a"),
    "split": ("owned a -", "splitting - a", "owned a - lower", "owned a - upper", "deleted - a"),
}
"""A bundle's first state (empty if none), then changes; each with the state, `to` and `from`."""

TRANSFERS = ("transfer", "transfer at once", "unload")
ASSIGNMENTS = ("assignment", "reassignment", "unload")
SPLITS = ("splitting - a", "splitting - b")
CONFLICTS = ("assigning b -", "owned b -", *SPLITS, "releasing b a", "assigning b a", "owned b a")
FOREIGN_RELEASES = ("releasing a b", "releasing c b", "releasing - b", "free - b", "assigning c b")
"""Changes whose source is not the bundle's owner; they must be ignored."""


def _changes(bundle: str, steps: Iterable[str], **brokers: str) -> Iterator[Json]:
    """Yield changes of a bundle or its parts; `brokers` maps letters in `steps` to brokers."""
    parts = {"lower": LOWER.rpartition("/")[2], "upper": UPPER.rpartition("/")[2]}
    for step in steps:
        state, to, source, *part = step.split()
        name = f"{namespace_of(bundle)}/{parts[part[0]]}" if part else bundle
        yield change_of(name, state, brokers.get(to), brokers.get(source))


def _log(random: Random, bundle: str, steps: Sequence[str], conflicts: Sequence[str]) -> list[Json]:
    """Return a bundle's first state and changes, mixed with up to three changes of `conflicts`."""
    owner, *others = random.sample(BROKERS, 3)
    first, *later = steps
    changes = list(_changes(bundle, later, a=owner, b=others[0]))
    for _ in range(random.randint(0, 3)):
        place = random.randint(0 if first else 1, len(changes))
        changes[place:place] = _changes(
            bundle, [random.choice(conflicts)], a=owner, b=random.choice(others), c=others[0]
        )
    return [*_changes(bundle, filter(None, [first]), a=owner, b=others[0]), *changes]


def _interleaved(random: Random, logs: Sequence[list[Json]]) -> list[Json]:
    """Interleave logs, keeping the order within each."""
    places = [place for place, log in enumerate(logs) for _ in log]
    random.shuffle(places)
    waiting = [iter(log) for log in logs]
    return [next(waiting[place]) for place in places]


@composite
def channel_logs(
    draw: st.DrawFn,
    sequences: Sequence[str] = tuple(SEQUENCES),
    conflicts: Sequence[str] = CONFLICTS,
    whole: float = 0.7,
) -> Trial:
    """Draw logs of changes, mixed with `conflicts`; the share `whole` of the logs is complete."""
    random, logs = draw(randoms), []
    units = {UPPER: _unit(change_of(UPPER, "owned", random.choice(BROKERS)))}
    for index in range(draw(st.integers(1, 3))):
        bundle, kind = WHOLE.replace("eu", f"eu-{index}"), draw(st.sampled_from(sequences))
        log = _log(random, bundle, SEQUENCES[kind], conflicts)
        if SEQUENCES[kind][0]:
            units[bundle] = _unit(log.pop(0))
        logs.append(log if random.random() < whole else log[: random.randint(0, len(log))])
    changes = _interleaved(random, logs)
    bundles = [*dict.fromkeys([*units, *(one["bundle"] for one in changes)]), LOWER]
    named = [one["to"] for one in changes if one["to"]]
    lookups = [
        {"bundle": random.choice(bundles), "at": random.choice((*BROKERS, *named))}
        for _ in range(draw(st.integers(0, 8)))
    ]
    return Trial.of(APPLY.id, {"units": units, "changes": changes, "lookups": lookups})


def _unit(change: Json) -> Json:
    return {name: one for name, one in change.items() if name != "bundle"}


def a_direct_transfer(random: Random) -> Json:
    """Return a transfer whose first change assigns an owned bundle to its destination."""
    source, to = random.sample(BROKERS, 2)
    first, *changes = _changes(LOWER, SEQUENCES["transfer at once"], a=source, b=to)
    return {"units": {LOWER: _unit(first)}, "changes": changes, "lookups": []}


UNFINISHED = channel_logs(("being assigned", "being released", *ASSIGNMENTS), whole=0.1)
AIMED = (aim("channel-transfer", APPLY.id, a_direct_transfer),)


@APPLY.check("CHANNEL-01", draws=channel_logs(ASSIGNMENTS + TRANSFERS))
def the_first_assignment_counts(_case: Json, answer: Applied, expect: Expect) -> None:
    """While a bundle is being assigned or has an owner, a second assignment is ignored."""
    for turn in answer.turns():
        if turn.is_assignment and turn.was_in("assigning", "owned"):
            turn.demand(False, expect)


@APPLY.check("CHANNEL-02", draws=channel_logs())
def conflicting_changes_are_ignored(_case: Json, answer: Applied, expect: Expect) -> None:
    """While a bundle is being assigned or split, a change to transfer or split it is ignored."""
    for turn in answer.turns():
        other = turn.change.name in ("assigning", "releasing", "splitting")
        if other and turn.was_in("assigning", "splitting") and not turn.is_assignment:
            turn.demand(False, expect)


@APPLY.check("CHANNEL-03", draws=channel_logs(ASSIGNMENTS))
def the_named_broker_gets_the_bundle(_case: Json, answer: Applied, expect: Expect) -> None:
    """A bundle without an owner is assigned to, and then owned by, the named broker only."""
    for turn in answer.turns():
        if turn.is_assignment and turn.was_in(None, "free"):
            turn.demand(True, expect)
        owned = turn.change.name == "owned" and turn.was_in("assigning")
        if owned and (turn.continues or turn.change.to != turn.holder):
            turn.demand(turn.continues, expect)


def _leaves_its_owner(turn: ChannelTurn) -> bool:
    """True if a change moves a bundle from its owner to another broker."""
    source, to = turn.change.source, turn.change.to
    return turn.was_in("owned") and turn.holder == source and to not in (None, source)


@APPLY.check("CHANNEL-04", draws=channel_logs(TRANSFERS))
def a_transfer_begins_with_releasing(_case: Json, answer: Applied, expect: Expect) -> None:
    """A transfer first releases a bundle, then assigns it to its destination."""
    for turn in answer.turns():
        state, to = turn.change.name, turn.holder
        if _leaves_its_owner(turn) and state in ("releasing", "assigning"):
            turn.demand(state == "releasing", expect)
        if turn.was_in("releasing") and state in ("releasing", "splitting", "owned"):
            turn.demand(False, expect)
        continued = turn.was_in("releasing") and state == "assigning" and to is not None
        if continued and (turn.continues or turn.change.to != to):
            turn.demand(turn.continues, expect)


@APPLY.check("CHANNEL-05", draws=channel_logs(TRANSFERS))
def a_transfer_begins_with_assigning(_case: Json, answer: Applied, expect: Expect) -> None:
    """A transfer first assigns the owned bundle to its destination."""
    for turn in answer.turns():
        if turn.change.name == "assigning" and _leaves_its_owner(turn):
            turn.demand(True, expect)


@APPLY.check("CHANNEL-06", draws=channel_logs(("split",)))
def a_split_ends_and_creates(_case: Json, answer: Applied, expect: Expect) -> None:
    """An owner's split, the creation of the parts, and the bundle's deletion take effect."""
    splitting: dict[str, str | None] = {}
    for turn in answer.turns():
        change, bundle = turn.change, turn.bundle
        begun = change.name == "splitting" and turn.was_in("owned") and turn.holder == change.source
        ended = change.name == "deleted" and turn.was_in("splitting") and turn.continues
        part = any(owner == change.to and is_part(bundle, one) for one, owner in splitting.items())
        created = change.name == "owned" and change.source is None and turn.was_in(None) and part
        if begun or ended or created:
            turn.demand(True, expect)
        if turn.counts:
            splitting.pop(bundle, None)
            splitting |= {bundle: change.source} if change.name == "splitting" else {}


def _only_the_owner(answer: Applied, expect: Expect, change: str, then: str) -> None:
    """Demand that `change` is ignored in the state `then`, unless the bundle's owner sends it."""
    for turn in answer.turns():
        if turn.change.name == change and turn.was_in(then) and turn.is_foreign:
            turn.demand(False, expect)


@APPLY.check("CHANNEL-07", draws=channel_logs(("split", "transfer"), SPLITS))
def only_the_owner_splits(_case: Json, answer: Applied, expect: Expect) -> None:
    """A split by a broker that does not own the bundle is ignored."""
    _only_the_owner(answer, expect, "splitting", "owned")


@APPLY.check("CHANNEL-13", draws=channel_logs(("transfer", "unload"), FOREIGN_RELEASES))
def only_the_owner_releases(_case: Json, answer: Applied, expect: Expect) -> None:
    """A broker that does not own a bundle cannot start or end its release."""
    _only_the_owner(answer, expect, "releasing", "owned")
    for end in ("assigning", "free"):
        _only_the_owner(answer, expect, end, "releasing")


@APPLY.check("CHANNEL-14", draws=channel_logs(("split",), ("deleted - b",)))
def only_the_owner_ends_a_split(_case: Json, answer: Applied, expect: Expect) -> None:
    """The deletion of a split bundle is ignored unless it comes from the broker that split it."""
    _only_the_owner(answer, expect, "deleted", "splitting")


@APPLY.check("CHANNEL-08", draws=channel_logs())
def the_last_effective_change_holds(case: Json, answer: Applied, expect: Expect) -> None:
    """A bundle ends in the state of the last change that takes effect, or in its first state."""
    last = {turn.bundle: turn.change for turn in answer.turns() if turn.counts}
    units = _states(case["units"]) | last
    expect.reached(bool(units))
    for bundle, state in units.items():
        found = answer.units.get(bundle)
        expect.that(found == state, f"{bundle} is {state}", found or "without an entry")
    expect.nothing(answer.units.keys() - units.keys(), "no change of these bundles counts")


@APPLY.check("CHANNEL-09", draws=channel_logs())
def lookups_find_the_owner(_case: Json, answer: Applied, expect: Expect) -> None:
    """A lookup of an owned bundle is redirected to its owner by every broker."""
    for of, state, _, found in answer.found():
        if state is not None and expect.reached(state.name == "owned"):
            expect.equal(found, {"does": "redirect", "to": state.to}, of)


@APPLY.check("CHANNEL-10", draws=UNFINISHED)
def lookups_wait_at_the_destination(_case: Json, answer: Applied, expect: Expect) -> None:
    """A lookup at the destination waits while the bundle is being assigned or released."""
    for of, state, at, found in answer.found():
        if state and expect.reached(state.name in ("assigning", "releasing") and state.to == at):
            expect.equal(found, {"does": "wait"}, of)


@APPLY.check("CHANNEL-11", draws=channel_logs(ASSIGNMENTS))
def lookups_without_an_owner_assign(_case: Json, answer: Applied, expect: Expect) -> None:
    """A lookup of a bundle without an owner starts its assignment."""
    for of, state, _, found in answer.found():
        if expect.reached(state is None or state.name == "free"):
            expect.equal(found, {"does": "assign"}, of)


@APPLY.check("CHANNEL-12", draws=UNFINISHED)
def lookups_wait_elsewhere(_case: Json, answer: Applied, expect: Expect) -> None:
    """A lookup at a broker other than the destination waits while the bundle is being assigned."""
    for of, state, at, found in answer.found():
        if state is not None and expect.reached(state.name == "assigning" and state.to != at):
            expect.equal(found, {"does": "wait"}, of)
