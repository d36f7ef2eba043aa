"""Finds the changes to a broker's settings, and to their effects, that an upgrade brings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from pulsar_conformance.adapters.programs import PULSAR_EXTRA
from pulsar_conformance.conformance.cases.effects import (
    BALANCING_ENABLED,
    KINDS,
    MODULAR,
    SHEDDING_ENABLED,
    STOPPED,
)
from pulsar_conformance.conformance.cases.settings import SettingsRead
from pulsar_conformance.specs.broker import (
    broker_settings,
    is_older,
    known_releases,
    nearest_release,
    release_line,
)
from pulsar_conformance.specs.differences import SHEDDERS
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import (
    PACKAGE,
    PLACEMENT,
    STRATEGY,
    concerns_version,
    default_in_version,
    has_setting,
    judged_version,
    knows_name,
    ways_of_version,
)
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.revisions import revisions
from pulsar_conformance.specs.text import counted, written_value
from pulsar_conformance.specs.versions import numbers_of

WEIGHT, NEUTRAL = "ResourceWeight", 1
"""The suffix of the names of weights, and the value of a weight that changes no decision."""


SETTING_WAYS = ("heap-memory", "overload-usage", "uniform-settings", "even-spread", "session-limit")
"""Ways (behaviors that differ between releases) on which the effect of settings depends."""


def release_compared(settings: SettingsRead) -> str:
    """Return the known release nearest to the version that reads the file."""
    return nearest_release(settings.version)


def default_for(settings: SettingsRead, name: str) -> Any:
    """Return the default in the version that reads the file; None if it lacks the setting."""
    if name not in broker_settings():
        return None
    return default_in_version(broker_settings()[name], settings.version)


def short_value(value: Any) -> str:
    """Format a value as in broker.conf, without Pulsar's package names."""
    return written_value(value).removeprefix(PACKAGE).replace(",", ", ")


def later_releases(settings: SettingsRead, to: str | None) -> tuple[str, ...]:
    """Return the known releases after the one that reads the file, up to `to`.

    If `to` is None, the result is only the next release. Errors: `UserError` if `to` is not later.
    """
    now, known = release_compared(settings), known_releases()
    later = known if settings.older else known[known.index(now) + 1 :]
    if to is None:
        return later[:1]
    last = nearest_release(to)
    if last not in later and numbers_of(to) <= numbers_of(settings.version):
        such = ", ".join(one.partition("-")[0] for one in later)
        raise UserError(
            f"--to {to}: name a version after {settings.version}{such and ', such as '}{such}; "
            "--release says which version reads the file"
        )
    return tuple(one for one in later if known.index(one) <= known.index(last) and not is_older(to))


def version_to_compare(later: tuple[str, ...], to: str | None) -> str:
    """Return the version to compare with: `to` if it is a full version, else the last of `later`.

    A suffix such as that of a milestone is removed from the last of `later`. Empty if there is
    nothing to compare.
    """
    if to and (to.count(".") > 1 or not later):
        return to
    return later[-1].partition("-")[0] if later else ""


def note_on_version(to: str | None, new: str) -> str:
    """Return a note if the version compared is not the one requested; otherwise empty."""
    if not to or not new or release_line(to) == release_line(new):
        return ""
    return f"Pulsar {to} is not known; {new}, the latest version known before it, is compared"


def command_to_compare(old: str, new: str) -> str:
    """Return text with the command that compares two releases, and what has to be installed."""
    command = f"run: pulsar-conformance changes {old} {new}"
    if find_spec("jpype"):
        return command
    return f"{command} (first, in the clone: {PULSAR_EXTRA}; it also needs Java)"


def upgrade_changes(
    settings: SettingsRead, later: tuple[str, ...], new: str, *, every: bool = True
) -> Iterator[str]:
    """Yield the changes from the file's version to `new`; `later` are the releases in between.

    Unless `every` is true, changed decisions are only counted, with two exceptions: decisions about
    the effect of settings, and decisions in which one of the versions differs from its profile.
    """
    if new:
        upgraded = settings.read_by(new)
        yield from _changes_of_classes(settings, upgraded)
        yield from _changes_of_effects(settings, upgraded)
        yield from _changes_of_settings(settings, upgraded, later)
        yield from _changes_of_decisions(settings, upgraded, every)


def _changes_of_classes(now: SettingsRead, upgraded: SettingsRead) -> Iterator[str]:
    """Yield changes to the load manager and the strategies that run."""
    before, after = now.running(), upgraded.running()
    why = f": {after}" if after.culprit else f"; until then, {before}" if before.culprit else ""
    named = {*now.values, *(one.name for one in now.unused)}
    default = STRATEGY not in named and not has_setting(broker_settings()[STRATEGY], now.version)
    if after.manager == STOPPED != before.manager:
        yield f"{_not_starting(now.reasons_not_to_start())}: {after.problem}"
    elif after.manager != before.manager and before.manager != STOPPED:
        yield f"the {after.manager} load manager runs instead of the {before.manager} one{why}"
    elif after.manager != before.manager:
        yield f"the broker starts, with the {after.manager} load manager; until then, {before}"
    elif after.manager != STOPPED and (before.culprit or after.culprit or default):
        pairs = [(before.shedding, after.shedding)]
        pairs += [(before.placement, after.placement)] if after.manager == MODULAR else []
        for old, new in pairs:
            if old != new:
                runs = "runs by default" if default else "runs"
                yield f"{short_value(new)} {runs} instead of {short_value(old)}{why}"


def _not_starting(already: Mapping[str, str]) -> str:
    """Return the beginning of a sentence about the settings that keep the broker from starting
    after an upgrade.

    `already` has the reasons for which the broker does not start even before the upgrade.
    """
    return f"the broker {'does not start for another reason' if already else 'no longer starts'}"


def _changes_of_effects(now: SettingsRead, upgraded: SettingsRead) -> Iterator[str]:
    """Yield the settings that gain or lose their effect, or keep the broker from starting.

    If the new version lacks the load manager's class, the most similar class is assumed. Without a
    similar class, it is not known which settings have an effect.
    """
    before, after = _without_effect(now), _without_effect(upgraded)
    will = upgraded.running()
    stopped = will.manager == STOPPED and not upgraded.similar_classes()
    culprits = {now.running().culprit, will.culprit, *upgraded.similar_classes()}
    stopping = upgraded.reasons_not_to_start()
    already = now.reasons_not_to_start()
    for name in stopping.keys() - already.keys() - {will.culprit}:
        yield f"{_not_starting(already)}: {name}: {stopping[name].rpartition(', so ')[0]}"
        culprits.add(name)
    once = " once the broker starts" if stopping else ""
    if stopped:
        yield f"correct {will.culprit} first to see which other settings have an effect"
    for name in (name for name in now.values if name not in culprits and not stopped):
        if name in after.keys() - before.keys() and name not in upgraded.values:
            instead = _default_instead(upgraded, name, now.values[name])
            yield f"{name}: it loses its effect{instead}: {after[name]}"
        elif not _may_change_decision(now, upgraded, name, now.values[name]):
            continue
        elif name in before.keys() - after.keys():
            under = _manager_clause(now, upgraded, name)
            yield f"{name}: it takes effect{under}{once}; until then, {before[name]}"
        elif name in after.keys() - before.keys():
            yield f"{name}: it loses its effect: {after[name]}"
    for name in (one.name for one in now.unused if one.name not in now.values):
        if not knows_name(now.version, name) and knows_name(upgraded.version, name):
            without = f", but it has no effect: {after[name]}" if name in after else ""
            yield f"{name}: Pulsar {upgraded.version} has this setting{without}"


def _default_instead(upgraded: SettingsRead, name: str, value: Any) -> str:
    """Return a clause on the default that applies instead of a value that is no longer read."""
    default = default_for(upgraded, name)
    if value == default:
        return ", and its value is also its default"
    return f", and its default, {short_value(default)}, applies instead"


def _without_effect(settings: SettingsRead) -> Mapping[str, str]:
    """Return the settings without effect, by name, each with the reason."""
    in_force = {settings.newer_names.get(name, name) for name in settings.values}
    unused = [one for one in settings.unused if one.name not in in_force]
    return {one.name: one.why for one in (*unused, *settings.disabled(defaults=True))}


def _may_change_decision(now: SettingsRead, upgraded: SettingsRead, name: str, value: Any) -> bool:
    """True if a decision may change when a setting with this value gains or loses its effect.

    A weight of 1 changes no decision. Two kinds of settings are left out because the change of
    strategies is listed: a setting with the default of both versions if another strategy runs, and
    a shedding strategy that only decides which placement strategies may run because nothing is
    shed.
    """
    if name == STRATEGY and not (_may_shed(now) or _may_shed(upgraded)):
        return False
    if value is None or name.endswith(WEIGHT):
        return value not in (None, NEUTRAL)
    unchanged = value == default_for(now, name) == default_for(upgraded, name)
    setting = broker_settings().get(name)
    of_managers = setting is not None and not (setting.strategies or setting.used_by)
    return not unchanged or of_managers or now.running() == upgraded.running()


def _may_shed(settings: SettingsRead) -> bool:
    """True if no setting turns shedding off."""
    return all(
        settings.values.get(one) is not False for one in (BALANCING_ENABLED, SHEDDING_ENABLED)
    )


def _changes_of_settings(
    now: SettingsRead, upgraded: SettingsRead, later: tuple[str, ...]
) -> Iterator[str]:
    """Yield changes to defaults, names and deprecations."""
    known, runs, will = release_compared(now), now.running(), upgraded.running()
    same = {PLACEMENT: runs.placement == will.placement, STRATEGY: runs.shedding == will.shedding}
    renamed = {one.replaces for one in broker_settings().values() if one.since in later}
    for name, setting in broker_settings().items():
        if not has_setting(setting, now.version) and setting.is_in(known):
            continue
        before, after = default_for(now, name), default_for(upgraded, name)
        kept = {*now.values} - {*now.newer_names} - {*upgraded.newer_names}
        if setting.since in later and setting.replaces in kept.intersection(upgraded.values):
            yield f"{setting.replaces}: its name becomes {name}; the former name still works"
        elif name not in now.values and setting.is_in(known) and before != after:
            matters = not (_why_off(now, name, after) and _why_off(upgraded, name, before))
            if matters and not same.get(name):
                new, old = short_value(after), short_value(before)
                yield f"{name}: the default changes from {old} to {new}"
        elif (
            before == after
            and name not in now.values
            and _may_change_decision(now, upgraded, name, after)
        ):
            off, still = (_why_off(one, name, after) for one in (now, upgraded))
            if off and not still and (will.manager != STOPPED or upgraded.similar_classes()):
                under = _manager_clause(now, upgraded, name)
                default = f"its default, {short_value(after)}, takes effect{under}"
                yield f"{name}: {default}; until then, {off}{_meaning_text(name)}"
        elif name in {*now.values} - renamed and setting.deprecated in later[now.older :]:
            yield f"{name}: it becomes deprecated"
        elif before is None is not after and not setting.is_in(release_compared(upgraded)):
            yield f"{name}: new in Pulsar {setting.since}, {short_value(after)} by default"


def new_settings(settings: SettingsRead, new: str) -> Iterator[tuple[str, list[str]]]:
    """Yield a title and the settings that a new version adds and whose defaults have an effect.

    Yield nothing if there are no such settings, or if it is not known which load manager runs.
    """
    upgraded = settings.read_by(new)
    known = upgraded.running().manager in KINDS or upgraded.similar_classes()
    if known and (added := list(_new_settings(settings, upgraded))):
        yield f"new with Pulsar {new}, and in effect with these defaults", added


def _new_settings(settings: SettingsRead, upgraded: SettingsRead) -> Iterator[str]:
    """Yield each new setting with its default, and with its meaning if it is documented.

    New names of former settings are left out, and so are settings in the file: both are listed
    elsewhere.
    """
    given = {*settings.values, *(one.name for one in settings.unused)}
    for name, setting in broker_settings().items():
        default, new = default_for(upgraded, name), has_setting(setting, upgraded.version)
        added = new and not has_setting(setting, settings.version)
        listed = setting.is_in(release_compared(upgraded)) and name not in given
        if added and listed and not setting.replaces and not _why_off(upgraded, name, default):
            yield f"{name} = {short_value(default)}{_meaning_text(name, ': ')}"


def _meaning_text(name: str, before: str = ". Its meaning: ") -> str:
    """Return the meaning of a setting, preceded by `before`; empty if it is not documented."""
    known = load().settings.get(name) or load().annotated.get(name)
    return f"{before}{known.meaning}" if known and known.meaning else ""


def _manager_clause(now: SettingsRead, upgraded: SettingsRead, name: str) -> str:
    """Return a clause on the running load manager if it begins to use a setting; else empty."""
    users = [broker_settings()[name].manager(release_compared(one)) for one in (now, upgraded)]
    manager = upgraded.running().manager
    begins = manager in users[1].split(" or ") and manager not in users[0].split(" or ")
    same = now.running().manager == manager
    return f" under the {manager} load manager, which runs" if begins and same else ""


def _changes_of_decisions(now: SettingsRead, upgraded: SettingsRead, every: bool) -> Iterator[str]:
    """Yield the changed decisions about load managers and strategies that run in both versions."""
    will = upgraded.running()
    if will.manager == STOPPED:
        return
    parts = now.parts() & upgraded.parts()
    both = [one for one in map(judged_version, (now.version, upgraded.version)) if one]
    own = {*SETTING_WAYS, *(name for one in both for name in one.ways)}
    ways = dict(_changes_of_ways(now.version, upgraded.version, parts))
    shown = [text for name, text in ways.items() if every or name in own]
    yield from shown
    if rest := len(ways) - len(shown):
        yield f"{counted(rest, 'other change')} of decisions (--all lists them)"
    for one in revisions():
        before, after = (one.clause(one.is_in(each.version)) for each in (now, upgraded))
        if before != after and (not one.strategy or one.strategy in parts):
            yield f"{after}; until then, {before}" if after else f"no longer: {before}"


def _changes_of_ways(old: str, new: str, parts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the ways in which two versions differ, each with its text.

    Only ways that concern one of `parts` of a broker are yielded.
    """
    before, after = ways_of_version(old), ways_of_version(new)
    for name, way in load().ways.items():
        means = [way.alternatives[taken[name]].means for taken in (before, after)]
        differ = before[name] != after[name] and "unspoken" not in (before[name], after[name])
        known = name != SHEDDERS and all(concerns_version(name, one) for one in (old, new))
        if known and differ and way.concerns(parts):
            yield name, f"{way.question} {means[1]} Until then: {means[0]}"


def _why_off(settings: SettingsRead, name: str, value: Any) -> str:
    """Return why a setting would have no effect if the file set it to a value; empty if it would
    have an effect.
    """
    given = replace(
        settings, values={**settings.values, name: value}, places={**settings.places, name: ""}
    )
    return _without_effect(given).get(name, "")
