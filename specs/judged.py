"""Versions of Pulsar that were judged but have no profile of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from pulsar_conformance.specs.broker import (
    BrokerSetting,
    Value,
    broker_data,
    broker_settings,
    every_release,
    former_default,
    is_older,
    nearest_release,
    release_line,
    was_added_by,
)
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.revisions import Revision, differing_revisions
from pulsar_conformance.specs.versions import Version, numbers_of, precedes

MILESTONE = re.compile(r"-m\d", re.IGNORECASE)
STRATEGY = "loadBalancerLoadSheddingStrategy"
PLACEMENT = "loadBalancerLoadPlacementStrategy"
PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
OVERLOAD = f"{PACKAGE}OverloadShedder"


@dataclass(frozen=True)
class JudgedVersion:
    """A version without a profile of its own, and how it differs from the most similar `profile`.

    `defaults` and `ways` are the version's own. `lacks` has shedding strategies that the version
    does not have; `unlike` has strategies under which no profile decides like it. `has` has
    settings of the version that the nearest known release lacks. `since` is an earlier version with
    the same defaults, if any.
    """

    version: str
    profile: str
    defaults: Mapping[str, Value] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    ways: Mapping[str, str] = field(default_factory=dict)
    differs: str = ""
    since: str = ""
    revised: tuple[tuple[Revision, bool], ...] = ()
    """Changes that only the version or only the profile's release has, each with true if the
    version has it.
    """
    asked: str = ""
    """The version that the user named; `version` is the judged version nearest to it."""

    def differences(self, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return clauses on how this version differs from its profile, for differences that have an
        effect under these settings.
        """
        found = [
            default_clause(name, value)
            for name, value in self.defaults.items()
            if settings.get(name) is None and not _is_replaced(name, value, settings)
        ]
        if self._lacks_strategy(settings):
            lacking = str(settings[STRATEGY]).removeprefix(PACKAGE)
            found.append(f"it has no {lacking}, and OverloadShedder runs instead")
        version = self.asked or self.version
        strategy = _short(
            settings.get(STRATEGY) or default_in_version(broker_settings()[STRATEGY], version)
        )
        others = {
            name
            for one, _ in self.revised
            for name in one.ways
            if one.strategy not in ("", strategy)
        }
        others |= {name for name in self.ways if not concerns_version(name, self.asked)}
        found += (way_clause(name, way) for name, way in self.ways.items() if name not in others)
        found.append(self.differs)
        found += (one.clause(has) for one, has in self.revised if one.strategy in ("", strategy))
        return tuple(filter(None, found))

    def why_unlike(self, strategy: str) -> str:
        """Return why no profile decides like this version under a strategy; empty if any does."""
        release = release_of_profile(self.profile)
        if was_added_later(strategy, release) and not was_added_later(strategy, self.asked):
            return f"it has {strategy}, but {release}, the most similar release, does not"
        for one, has in self.revised:
            if one.strategy == strategy and not one.ways:
                return one.clause(has)
        return "it decides differently" if strategy in self.unlike else ""

    def completed_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return a cluster's settings with this version's defaults.

        OverloadShedder replaces a strategy that the version lacks.
        """
        given = {name: value for name, value in settings.items() if value is not None}
        own = {**settings, **self.defaults, **given}
        if STRATEGY in given and PLACEMENT not in given:
            own.pop(PLACEMENT, None)  # The default may not fit the given shedding strategy.
        return {**own, **self.strategy_instead(settings)}

    def strategy_instead(self, settings: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the setting that replaces a missing strategy; empty if no strategy is missing."""
        return {STRATEGY: OVERLOAD} if self._lacks_strategy(settings) else {}

    def _lacks_strategy(self, settings: Mapping[str, Any]) -> bool:
        return _short(settings.get(STRATEGY)) in self.lacks


def former_defaults(version: str, release: str, *, lists: bool = False) -> dict[str, Value]:
    """Return former defaults of a version that differ in `release`; `lists` adds list settings."""
    found = {name: former_default(name, version) for name in broker_data()["former"]}
    return {
        name: value
        for name, value in found.items()
        if value is not None and value != former_default(name, release)
        if lists or broker_settings()[name].type != "list"
    }


def default_clause(name: str, value: Value) -> str:
    """Return text that gives a version's default of a setting."""
    return f"{name} is {_as_text(value)} by default"


def concerns_version(name: str, version: str) -> bool:
    """True if a way exists in a version, and the version has all names that the way mentions."""
    way = load().ways[name]
    if numbers_of(version) < numbers_of(way.since):
        return False
    return not any(
        was_added_later(one, version) or (one in broker_settings() and not knows_name(version, one))
        for one in re.findall(r"\w+", way.question)
    )


def _as_text(value: Value) -> str:
    """Return a default as written in broker.conf, but the name of a class without its package."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text.removeprefix(PACKAGE).replace(",", ", ")


def way_clause(name: str, taken: str) -> str:
    """Return text on a version that follows the alternative `taken` of the way `name`."""
    way = load().ways[name]
    return f"{way.question} {way.alternatives[taken].means}"


def _is_replaced(name: str, value: object, settings: Mapping[str, Any]) -> bool:
    """True if a default is a placement strategy that does not fit the given shedding strategy."""
    strategy = settings.get(STRATEGY)
    return name == PLACEMENT and strategy is not None and _short(strategy) != _short(value)


def _short(name: object) -> str:
    """Return the name of a class without its package."""
    return str(name).rpartition(".")[2]


@cache
def _judged() -> Mapping[Version, JudgedVersion]:
    return {
        numbers_of(version): JudgedVersion(
            version, **{key: _frozen(value) for key, value in entry.items()}
        )
        for version, entry in broker_data().get("judged", {}).items()
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _strategies_added_later(version: str) -> tuple[str, ...]:
    """Return the strategies that a version lacks because they were added later."""
    return tuple(name for name in broker_data()["added"] if was_added_later(name, version))


def was_added_later(name: str, version: str) -> bool:
    """True if a class of load balancing was added in a later version, or in a later line."""
    return name in broker_data()["added"] and precedes(version, broker_data()["added"][name])


def users_in_version(setting: BrokerSetting, release: str, version: str) -> tuple[str, ...]:
    """Return the strategies and load managers that use a setting in a version; empty if all use it.

    `release` is the known release nearest to the version.
    """
    users = setting.users(release)
    return tuple(one for one in users if not (version and was_added_later(one, version)))


def algorithms_in(version: str) -> tuple[str, ...]:
    """Return the split algorithms of a version, or of all versions if `version` is empty."""
    return tuple(
        name
        for name, first in broker_data()["algorithms"].items()
        if not (version and first and precedes(version, first))
    )


def schedules_cycles_once(version: str) -> bool:
    """True if a version reads the interval of shedding cycles only when a broker becomes leader.

    Later versions read it in each cycle (apache/pulsar#16408). False if the version is empty.
    """
    return bool(version) and precedes(version, ("2.10.2", "2.11.0"))


def requires_strategy_pair(version: str) -> bool:
    """True if a version requires both strategy settings to name AvgShedder, or neither."""
    return not precedes(version, broker_data()["paired"])


@cache
def judged_version(version: str) -> JudgedVersion | None:
    """Return how a version differs from the profile nearest to it; None if no difference is known.

    The result starts from the nearest judged version of the line (the newest up to `version`, else
    the oldest), or else from the profile's release. It adds strategies that `version` lacks, and
    the revisions and defaults in which `version` differs from the profile's release.
    """
    wanted = numbers_of(version)
    if _is_milestone(version) and _is_milestone(nearest_release(version)):
        return None
    if not any(wanted):
        return None
    line = {
        numbers_of(one.since or one.version): one
        for place, one in _judged().items()
        if place[:2] == wanted[:2]
    }
    lacks = () if is_older(version) else _strategies_added_later(version)
    found = None
    if line:
        found = line[_nearest_in([*line], wanted)]
        lacks = (*found.lacks, *(one for one in lacks if one not in found.lacks))
    base = found or JudgedVersion(version, _released_profile_for(version))
    release = release_of_profile(base.profile)
    changed, defaults = (
        tuple(differing_revisions(version, release)),
        former_defaults(version, release),
    )
    if not (found or lacks or changed or defaults):
        return None
    ways = {name: both[has] for one, has in changed for name, both in one.ways.items()}
    own, defaults = {**base.ways, **ways}, {**base.defaults, **defaults}
    base = replace(base, lacks=lacks, ways=own, defaults=defaults)
    return replace(base, revised=changed, asked=version)


def newest_of_line(version: str) -> str:
    """Return the newest examined version of a line such as 3.0: a known release or judged version.

    A complete version such as 3.0.4, and a line with only a milestone, are returned unchanged.
    """
    if re.fullmatch(r"\d+\.\d+", version) is None:
        return version
    for known in (every_release(), [one.version for one in _judged().values()]):
        line = [one for one in known if release_line(one) == release_line(version)]
        if line:
            newest = max(line, key=numbers_of)
            return version if _is_milestone(newest) else newest
    return version


def _nearest_in(line: Sequence[Version], wanted: Version) -> Version:
    """Return the newest version of a line up to the wanted version, or else the oldest."""
    return max((one for one in line if one <= wanted), default=min(line))


def release_of_profile(profile: str) -> str:
    """Return the examined release of a `released-*` profile."""
    line = release_line(profile.partition("-")[2])
    return next(one for one in every_release() if release_line(one) == line)


def assumption_text(version: str) -> str:
    """Return text saying that a version is assumed to decide like an earlier release.

    Empty if the version is older than all known releases, or if its line was judged or has a known
    release other than a milestone. Errors: as for `nearest_release`.
    """
    known = nearest_release(version)
    same = release_line(known) == release_line(version)
    judged = judged_version(version)
    examined = judged is not None and numbers_of(judged.version) in _judged()
    if is_older(version) or (examined and not same):
        return ""
    if same and (not _is_milestone(known) or _is_milestone(version)):
        return ""
    return f"Pulsar {version} is newer than {known}, whose behavior is assumed{_but(version)}"


def caveat_text(version: str) -> str:
    """Return text saying that a version was not examined; empty if it was. Errors: as for
    `nearest_release`.
    """
    if version.count(".") < 2 or _is_milestone(version) or assumption_text(version):
        return assumption_text(version)
    like = _examined_like(version)
    if numbers_of(like) == numbers_of(version):
        return ""
    return f"Pulsar {version} was not examined: the behavior of {like} is assumed{_but(version)}"


def _but(version: str) -> str:
    return ", except where a difference is listed" if judged_version(version) else ""


def _examined_like(version: str) -> str:
    """Return the examined version whose behavior is assumed for another version.

    It is the newest of its line up to that version, else the oldest, else the profile's release.
    """
    wanted = numbers_of(version)
    whole = [one for one in every_release() if not _is_milestone(one)]
    known = {numbers_of(one): one for one in (*whole, *(one.version for one in _judged().values()))}
    line = [one for one in known if one[:2] == wanted[:2]]
    if not line:
        return release_of_profile(nearest_profile(version))
    return known[_nearest_in(line, wanted)]


def default_in_version(setting: BrokerSetting, version: str) -> Value | None:
    """Return the default of a setting in any version, as far as is known.

    None if the version lacks the setting. Errors: as for `nearest_release`.
    """
    former = former_default(setting.name, version)
    if former is not None:
        return former
    judged = judged_version(version)
    default = setting.default(nearest_release(version))
    if default is None and has_setting(setting, version):
        default = next(iter(setting.defaults.values()))
    return default if judged is None else judged.defaults.get(setting.name, default)


def has_setting(setting: BrokerSetting, version: str) -> bool:
    """True if, as far as is known, a version has a setting. Errors: as for `nearest_release`."""
    judged = judged_version(version)
    if judged is not None and setting.name in judged.has:
        return True
    lacking = judged.lacks if judged else ()
    only_of_lacking = bool(setting.strategies) and set(setting.strategies) <= {*lacking}
    known = setting.name in broker_data()["first"] or setting.is_in(nearest_release(version))
    return known and was_added_by(setting.name, version) and not only_of_lacking


def knows_name(version: str, name: str) -> bool:
    """True if, as far as is known, a version has a setting with this name."""
    return name in broker_settings() and has_setting(broker_settings()[name], version)


def nearest_profile(version: str) -> str:
    """Return the `released-*` profile nearest to a version.

    It is the profile of the judged version, else the newest profile up to the version. Errors:
    `UnknownName` for text that does not start with a version number.
    """
    judged = judged_version(version)
    return _released_profile_for(version) if judged is None else judged.profile


def _released_profile_for(version: str) -> str:
    """Return the `released-*` profile of the newest line that is not after the version, else of the
    oldest line.
    """
    wanted = release_line(version)
    known = {
        release_line(name.partition("-")[2]): name
        for name, profile in load().profiles.items()
        if profile.kind == "released"
    }
    return known[max((one for one in known if one <= wanted), default=min(known))]


def version_of_released(profile: str) -> str:
    """Return the examined release of a `released-*` profile; empty for others. Errors:
    `UnknownName`.
    """
    return release_of_profile(profile) if load().profile(profile).released else ""


def ways_of_version(version: str) -> Mapping[str, str]:
    """Return a version's alternative of every way. Errors: as for `nearest_profile`."""
    judged = judged_version(version)
    return {**load().ways_of(nearest_profile(version)), **(judged.ways if judged else {})}


def _is_milestone(version: str) -> bool:
    return MILESTONE.search(version) is not None
