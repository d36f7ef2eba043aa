"""Versions of Pulsar that were judged but have no profile of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pulsar_conformance.specs.broker import (
    BrokerSetting,
    Value,
    broker_data,
    is_older,
    nearest_release,
    release_line,
)
from pulsar_conformance.specs.loading import load

Version = tuple[int, int, int]

STRATEGY = "loadBalancerLoadSheddingStrategy"
PLACEMENT = "loadBalancerLoadPlacementStrategy"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
OVERLOAD = f"{PACKAGE}OverloadShedder"


@dataclass(frozen=True)
class JudgedVersion:
    """A version, the profile that decides like it, and how it differs from that profile.

    `defaults` and `ways` are its own, and `lacks` the shedding strategies that it does not have;
    those in `unlike` decide otherwise. `has` and `without` are the settings that it has and the
    nearest known release has not, and the other way round.
    """

    version: str
    profile: str
    defaults: Mapping[str, Value] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""

    def differences(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return clauses on the differences that matter with a cluster's settings."""
        found = [
            f"{name} is {str(value).removeprefix(PACKAGE)} by default"
            for name, value in self.defaults.items()
            if settings.get(name) is None
        ]
        if self._lacks_strategy(settings):
            lacking = str(settings[STRATEGY]).removeprefix(PACKAGE)
            found.append(f"it has no {lacking}, and OverloadShedder runs instead")
        for name, taken in self.ways.items():
            way = load().ways[name]
            found.append(f"{way.question} {way.alternatives[taken].means}")
        return (*found, *filter(None, [self.differs]))

    def adapted(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return a cluster's settings with this version's own defaults, and OverloadShedder in
        place of a strategy that it lacks.
        """
        given = {name: value for name, value in settings.items() if value is not None}
        own = {**settings, **self.defaults, **given}
        if STRATEGY in given and PLACEMENT not in given:
            own.pop(PLACEMENT, None)  # A default that may not fit is replaced.
        return {**own, STRATEGY: OVERLOAD} if self._lacks_strategy(settings) else own

    def _lacks_strategy(self, settings: Mapping[str, Any]) -> bool:
        return str(settings.get(STRATEGY)).rpartition(".")[2] in self.lacks


@cache
def _judged() -> Mapping[Version, JudgedVersion]:
    return {
        _numbers(version): JudgedVersion(
            version, **{key: _frozen(value) for key, value in entry.items()}
        )
        for version, entry in broker_data().get("judged", {}).items()
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _not_yet(version: str) -> tuple[str, ...]:
    """Return the strategies that a version lacks, since they were added to its line later."""
    wanted = _numbers(version)
    return tuple(
        strategy
        for strategy, firsts in broker_data().get("added", {}).items()
        if wanted < max(map(_numbers, firsts))
        and not any(one[:2] == wanted[:2] and one <= wanted for one in map(_numbers, firsts))
    )


def judged_version(version: str) -> JudgedVersion | None:
    """Return the judged version of the same release line that is nearest to a version.

    That is the newest that is not newer or else the oldest; None if the line has none. It lacks
    the strategies that the version itself lacks; of a line with a profile, such a version differs
    in that alone.
    """
    wanted = _numbers(version)
    if _is_milestone(version) and _is_milestone(nearest_release(version)):
        return None
    if not any(wanted):
        return None
    line = [one for one in _judged() if one[:2] == wanted[:2]]
    lacks = () if is_older(version) else _not_yet(version)
    if not line:
        nearest = f"released-{'.'.join(map(str, release_line(nearest_release(version))))}"
        return JudgedVersion(version, nearest, lacks=lacks) if lacks else None
    found = _judged()[max((one for one in line if one <= wanted), default=min(line))]
    return replace(found, lacks=(*found.lacks, *(one for one in lacks if one not in found.lacks)))


def assumption(version: str) -> str:
    """Return a clause on a version that no known release decides for, because its line has none or
    only a milestone; otherwise empty. Errors: as `nearest_release`.
    """
    known = nearest_release(version)
    same = release_line(known) == release_line(version)
    judged = judged_version(version)
    if is_older(version) or (judged and not same):
        return ""
    if same and (not _is_milestone(known) or version.removeprefix("v") == known):
        return ""
    more = ", except where they are said to differ" if judged else ""
    return f"Pulsar {version} is newer than {known}, whose behaviour is assumed{more}"


def default_in_version(setting: BrokerSetting, version: str) -> Value | None:
    """Return the default of a setting in any version, by the nearest release that is known.

    None if that release lacks the setting. Errors: as `nearest_release`.
    """
    judged = judged_version(version)
    default = setting.default(nearest_release(version))
    if judged is not None and setting.name in judged.has:
        default = next(iter(setting.defaults.values()))
    return default if judged is None else judged.defaults.get(setting.name, default)


def has_setting(setting: BrokerSetting, version: str) -> bool:
    """True if a version has a setting, as far as is known. Errors: as `nearest_release`."""
    judged = judged_version(version)
    if judged is not None and setting.name in (*judged.has, *judged.without):
        return setting.name in judged.has
    lacking = judged.lacks if judged else ()
    only_of_lacking = bool(setting.strategies) and set(setting.strategies) <= {*lacking}
    return setting.is_in(nearest_release(version)) and not only_of_lacking


def nearest_profile(version: str) -> str:
    """Return the `released-*` profile nearest to a version.

    It is that of the judged version, or else the newest that is not newer. Errors: `UnknownName`
    for text that does not start with a version number.
    """
    judged = judged_version(version)
    if judged is not None:
        return judged.profile
    wanted = release_line(version)
    known = {
        release_line(name.partition("-")[2]): name
        for name, profile in load().profiles.items()
        if profile.kind == "released"
    }
    return known[max((one for one in known if one <= wanted), default=min(known))]


def version_of_released(profile: str) -> str:
    """Return the version of a `released-*` profile; empty for other profiles.

    Errors: `UnknownName`.
    """
    return profile.partition("-")[2] if load().profile(profile).released else ""


def ways_of_version(version: str) -> Mapping[str, str]:
    """Return a version's alternative for every way. Errors: as `nearest_profile`."""
    judged = judged_version(version)
    return {**load().ways_of(nearest_profile(version)), **(judged.ways if judged else {})}


def _is_milestone(version: str) -> bool:
    return "-M" in version


def _numbers(version: str) -> Version:
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)
