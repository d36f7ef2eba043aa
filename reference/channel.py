"""Bundle states that the brokers agree on under the extensible load manager. [CHANNEL]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Entry = Mapping[str, Any]
"""A state of a bundle, with the brokers `to` and `from`."""

NEXT: Mapping[str | None, tuple[str, ...]] = {
    None: ("assigning", "owned"),
    "free": ("assigning",),
    "assigning": ("owned",),
    "releasing": ("assigning", "free"),
    "splitting": ("deleted",),
    "deleted": (),
}
"""Possible next states of each state except `owned`; None stands for a bundle without an entry."""

AFTER_OWNED: Mapping[str, tuple[str, ...]] = {
    "releasing": ("releasing", "splitting"),
    "assigning": ("assigning", "splitting", "free"),
}
"""Possible next states of `owned`, by alternative of `channel-transfer`. [CHANNEL-04, -05]"""

IN_FLIGHT = ("assigning", "releasing")
"""States in which a lookup waits. [CHANNEL-10]"""


def same_brokers(before: Entry, change: Entry) -> bool:
    """True if a change names the same brokers as the transition in progress.

    [CHANNEL-02, CHANNEL-03]
    """
    return (before["to"], before["from"]) == (change["to"], change["from"])


@dataclass(frozen=True)
class Channel:
    """A `channel.apply` case: bundle states, state changes, and lookups."""

    case: Mapping[str, Any]
    transfer: str
    """The alternative of the reading `channel-transfer`."""

    def _is_valid(self, before: Entry | None, change: Entry) -> bool:
        """True if the state change is allowed and names the right brokers. [CHANNEL-01]"""
        state = before["state"] if before else None
        following = AFTER_OWNED[self.transfer] if state == "owned" else NEXT[state]
        if change["state"] not in following:
            return False
        if before is None:
            return True
        if state == "free":
            return change["from"] is None
        if state == "owned":
            return bool(change["from"] == before["to"] != change["to"])
        return same_brokers(before, change)

    @cached_property
    def _states_and_ignored(self) -> tuple[dict[str, Entry], list[int]]:
        units, ignored = dict(self.case["units"]), []
        for index, change in enumerate(self.case["changes"]):
            bundle = change["bundle"]
            if self._is_valid(units.get(bundle), change):
                units[bundle] = {name: change[name] for name in ("state", "to", "from")}
            else:
                ignored.append(index)
        return units, ignored

    @property
    def units(self) -> dict[str, Entry]:
        """Each bundle's state after all changes. [CHANNEL-08]"""
        return self._states_and_ignored[0]

    @property
    def ignored(self) -> list[int]:
        """The positions of the changes that are ignored. [CHANNEL-01 … 07]"""
        return self._states_and_ignored[1]

    @property
    def lookups(self) -> Iterator[dict[str, str]]:
        """Yield the result of each lookup, which is the same at every broker. [CHANNEL-09 … 11]"""
        for lookup in self.case["lookups"]:
            entry = self.units.get(lookup["bundle"])
            if entry is None or entry["state"] == "free":
                yield {"does": "assign"}
            elif entry["state"] in IN_FLIGHT:
                yield {"does": "wait"}
            elif entry["state"] == "deleted":
                yield {"does": "fail"}
            else:
                owner = entry["from"] if entry["state"] == "splitting" else entry["to"]
                yield {"does": "redirect", "to": owner}


def with_numbered_changes(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer in which ignored changes are named by their numbers, counted from 1."""
    if "ignored" not in answer or "lookups" not in answer:
        return dict(answer)
    return {**answer, "ignored": [f"change {place + 1}" for place in answer["ignored"]]}
