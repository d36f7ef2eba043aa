"""Settings of the broker's load balancing in each release: names, types and defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pulsar_conformance.specs.errors import UnknownName
from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.schemas import check_shape
from pulsar_conformance.specs.versions import precedes

Value = str | float | int | bool
T = TypeVar("T")


@dataclass(frozen=True)
class BrokerSetting:
    """A setting of the broker; fields that do not apply to the setting are empty."""

    name: str
    type: str
    defaults: Mapping[str, Value]
    """Default values, by the first release with each value."""
    since: str
    deprecated: str = ""
    replaces: str = ""
    managers: Mapping[str, str] = field(default_factory=dict)
    """Load managers that use the setting, by first release with this use; empty if all use it."""
    strategies: tuple[str, ...] = ()
    used_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Strategies and load managers that use the setting, by first release with this use; empty if
    all use it.
    """
    sheds_by: str = ""
    """For a setting that placement also uses: the modular load manager's only shedding strategy
    that uses the setting.
    """
    placement: str = ""
    algorithm: str = ""
    remark: str = ""
    """The circumstances in which the setting has no effect."""
    switch: str = ""

    def default(self, release: str) -> Value | None:
        """Return the default of a known release; None if the release lacks the setting."""
        default = _value_for(self.defaults, release, None)
        return default if self.is_in(release) else None

    def manager(self, release: str) -> str:
        """Return the load managers that use the setting in a known release; empty if all use it."""
        return _value_for(self.managers, release, "")

    def users(self, release: str) -> tuple[str, ...]:
        """Return the strategies and load managers that use the setting in a known release.

        The result is empty if all use it.
        """
        return _value_for(self.used_by, release, ())

    def is_in(self, release: str) -> bool:
        """True if a known release has the setting; a milestone lacks settings that its final
        release added.
        """
        return _release_index(self.since) <= _release_index(release)

    def is_deprecated_in(self, release: str) -> bool:
        """True if the known release `release` deprecates the setting."""
        since = self.deprecated
        return bool(since) and _release_index(since) <= _release_index(release)


def _value_for(by_release: Mapping[str, T], release: str, none: T) -> T:
    """Return the value of the last entry up to a release, else of the first entry, else `none`."""
    held = [one for one in by_release if _release_index(one) <= _release_index(release)]
    return by_release[held[-1]] if held else next(iter(by_release.values()), none)


def _release_index(release: str) -> int:
    """Return the index of a release among the known releases; for any other, their number."""
    known = known_releases()
    return known.index(release) if release in known else len(known)


@cache
def broker_settings() -> Mapping[str, BrokerSetting]:
    """Return all broker settings by name. Errors: `SpecError`."""
    return {name: _parse_setting(name, entry) for name, entry in broker_data()["settings"].items()}


@cache
def current_names() -> Mapping[str, str]:
    """Map the former name of each renamed setting to its current name."""
    return dict(broker_data()["renamed"])


@cache
def known_releases() -> tuple[str, ...]:
    """Return the releases whose settings are listed, oldest first."""
    return tuple(broker_data()["releases"])


@cache
def every_release() -> tuple[str, ...]:
    """Return the releases whose defaults are known, including those before `known_releases`."""
    return (*broker_data()["earlier"]["releases"], *known_releases())


def default_in(name: str, release: str) -> Value | None:
    """Return the default of a setting in one of `every_release`; None if the release lacks the
    setting.
    """
    setting = broker_settings()[name]
    if release in known_releases():
        return setting.default(release)
    if setting.since != known_releases()[0] or not was_added_by(name, release):
        return None
    former = former_default(name, release)
    return setting.default(known_releases()[0]) if former is None else former


def was_added_by(name: str, version: str) -> bool:
    """True if a version, or an earlier version, added a setting, or if it is unknown which one did.

    For each line of releases, the data name the first version that has the setting.
    """
    firsts: Sequence[str] = broker_data()["first"].get(name, ())
    return not firsts or not precedes(version, firsts)


def former_default(name: str, version: str) -> Value | None:
    """Return a setting's default in a version if the default was changed later; otherwise None.

    If the version lacks the setting, the result is the constant in the version's source.
    """
    former: Mapping[str, Value] = broker_data()["former"].get(name, {})
    return next((value for next_, value in former.items() if precedes(version, [next_])), None)


def nearest_release(version: str) -> str:
    """Return the newest known release that is not newer than a version.

    If every known release is newer, return the oldest. Errors: `UnknownName` for text that does not
    start with a version number.
    """
    wanted = release_line(version)
    return max(
        (one for one in known_releases() if release_line(one) <= wanted),
        default=known_releases()[0],
    )


def is_older(version: str) -> bool:
    """True if a version is older than every known release. Errors: as for `nearest_release`."""
    return release_line(version) < release_line(known_releases()[0])


@cache
def is_unlisted(name: str, version: str | None) -> bool:
    """True if it is known that conf/broker.conf of a version does not list a setting.

    A `version` of None stands for the newest release. Errors: `UnknownName` for text that does not
    start with a version number.
    """
    unlisted = broker_data()["unlisted"]
    version = version or known_releases()[-1]
    line, newest = release_line(version), release_line(unlisted["newest"])
    if line > newest or (line == newest and version.removeprefix("v") != unlisted["newest"]):
        return False
    return any(
        name in names and release_line(first) <= line
        for first, names in unlisted["settings"].items()
    )


def release_line(version: str) -> tuple[int, int]:
    """Return the major and minor version, which identify a release line."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if not found:
        raise UnknownName(version, "version of Pulsar", known_releases())
    return int(found[1]), int(found[2])


@cache
def broker_data() -> Mapping[str, Any]:
    """Return the contents of `broker.yaml`. Errors: `SpecError`."""
    sheet = read_sheet(Path(__file__).parent, "broker.yaml")
    check_shape(sheet, "broker")
    return dict(sheet.data)


def _parse_setting(name: str, entry: Mapping[str, Any]) -> BrokerSetting:
    since, default = entry.get("since", known_releases()[0]), entry["default"]
    given = {
        **entry,
        "since": since,
        "defaults": default if isinstance(default, dict) else {since: default},
        "strategies": tuple(entry.get("strategies", ())),
    }
    del given["default"]
    managers, used_by = given.pop("manager", {}), given.pop("used_by", {})
    given["managers"] = managers if isinstance(managers, dict) else {since: managers}
    users = used_by if isinstance(used_by, dict) else {since: used_by}
    given["used_by"] = {release: tuple(names) for release, names in users.items()}
    return BrokerSetting(name, **given)
