"""Changes of behavior within a release line, with the first versions that have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pulsar_conformance.specs.broker import broker_data
from pulsar_conformance.specs.versions import precedes


@dataclass(frozen=True)
class Revision:
    """A change of behavior by one pull request.

    `first` lists the first versions with the change, one for each release line that did not have it
    from the start. If the change was reverted, `gone` lists the first versions without it. `ways`
    gives the alternatives of ways before and after the change; `before` and `after` describe
    behavior that no way covers. If `ways` is empty, the profile of a release without the change
    cannot reproduce decisions of a version with the change, and vice versa. If `strategy` is set,
    the change concerns only that strategy.
    """

    pull: int
    first: tuple[str, ...]
    gone: tuple[str, ...] = ()
    ways: Mapping[str, Sequence[str]] = field(default_factory=dict)
    strategy: str = ""
    before: str = ""
    after: str = ""

    def is_in(self, version: str) -> bool:
        """True if a version has the change."""
        return not precedes(version, self.first) and not self._is_gone(version)

    def _is_gone(self, version: str) -> bool:
        return bool(self.gone) and not precedes(version, self.gone)

    def clause(self, has: bool) -> str:
        """Return text on a version with or without the change; empty if ways describe it."""
        told = self.after if has else self.before
        return f"{told} (apache/pulsar#{self.pull})" if told else ""


@cache
def revisions() -> tuple[Revision, ...]:
    """Return all known revisions. Errors: `SpecError`."""
    return tuple(
        Revision(**{**entry, "first": tuple(entry["first"]), "gone": tuple(entry.get("gone", ()))})
        for entry in broker_data()["revisions"]
    )


def has_revision(version: str, pull: int) -> bool:
    """True if a version has the change that a pull request made."""
    return next(one for one in revisions() if one.pull == pull).is_in(version)


def differing_revisions(version: str, examined: str) -> Iterator[tuple[Revision, bool]]:
    """Yield each change that only one of two versions has, with true if `version` has it."""
    for one in revisions():
        has = one.is_in(version)
        if has != one.is_in(examined):
            yield one, has
