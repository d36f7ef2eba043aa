"""Settings of a broker: which names are known, their types, and which have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.effects import (
    EXTENSIBLE,
    EXTENSIBLE_CLASS,
    MANAGER,
    MODULAR,
    PLACEMENT,
    STOPPED,
    STRATEGY,
    TRANSFER,
    Running,
    manager_by_settings,
    parts_in_force,
    running_classes,
    with_full_names,
    without_effect,
)
from pulsar_conformance.conformance.cases.setting_types import (
    COMMAND_LINE,
    COMMENTED,
    STARTS_NOT,
    UNKNOWN_EFFECT,
    WITH_COMMENT,
    BadSetting,
    Entry,
    Unused,
    is_empty_by_default,
    is_finite,
    merge_settings,
    setting_value,
    type_of,
)
from pulsar_conformance.reference.story.timers import SHEDDING_INTERVAL
from pulsar_conformance.specs.balancers import CLASSES, misspelt_class_text, similar_class
from pulsar_conformance.specs.broker import (
    broker_settings,
    is_older,
    known_releases,
    nearest_release,
)
from pulsar_conformance.specs.judged import schedules_cycles_once
from pulsar_conformance.specs.setting_names import why_not_dynamic, why_unknown
from pulsar_conformance.specs.text import counted

BOOLEANS = ("", "true", "false")

EMPTY_LIST = "its empty value is read as an empty list, not as the default"

DYNAMIC = ", dynamic"
"""Suffix of the place of a dynamic setting, as in `dynamic.json, dynamic`."""

AT_START = "a running broker keeps its strategy until it restarts"
"""Remark on a dynamic shedding strategy; see the annotation of the field in Pulsar's source."""

AT_ONCE = "a running broker switches to it at once"
"""Remark on a dynamic load manager; see the listener in Pulsar's BrokerService."""

WHEN_LEADER = "a leader keeps the interval that was set when it became the leader"
"""Remark on a dynamic shedding interval if cycles are scheduled once (UnloadScheduler.start)."""

NOT_KNOWN_DYNAMIC = "its effect as a dynamic setting is not known"


@dataclass(frozen=True)
class SettingsRead:
    """The settings of a file: in force, without effect, or not about load balancing."""

    values: Mapping[str, Any]
    """Typed values in force, by name; the documented name is used for a setting with two names."""
    places: Mapping[str, str]
    """The place where each value is set, such as `broker.conf:12`."""
    unused: tuple[Unused, ...] = ()
    """Unknown, misspelt, renamed and overridden settings."""
    others: int = 0
    """Number of settings that do not concern load balancing."""
    version: str = ""
    """The Pulsar version that reads the settings; empty if unknown."""
    assumed: str = ""
    """Note on a setting whose value is inferred from another setting; empty if there is none."""
    newer_names: Mapping[str, str] = field(default_factory=dict)
    """For each setting in `values` that the file gives by a newer name: that name."""
    unreadable: tuple[Unused, ...] = ()
    """Settings whose values Pulsar cannot read."""
    misread: tuple[Unused, ...] = ()
    """Settings in force whose values Pulsar reads differently from how they are written."""
    unread: tuple[Unused, ...] = ()
    """Parts of the file that the suite does not read, and settings with unknown values."""
    reread: Callable[[str], SettingsRead] | None = field(default=None, compare=False, repr=False)
    """Function that reads the same files as another version; None if their text is unknown."""

    def read_by(self, version: str) -> SettingsRead:
        """Return the settings of the same files as another version reads them."""
        return self.reread(version) if self.reread else replace(self, version=version)

    def check_numbers(self) -> None:
        """Raise `BadSetting` if a value is NaN or infinite: the model cannot decide with it."""
        for name, value in self.values.items():
            if not is_finite(value):
                raise BadSetting(f"{self.places[name]}: {name}: {UNKNOWN_EFFECT}")

    @property
    def released(self) -> str | None:
        """The known release nearest to the version; None if the version is unknown."""
        return nearest_release(self.version) if self.version else None

    @property
    def older(self) -> bool:
        """True if the version is older than all known releases."""
        return bool(self.version) and is_older(self.version)

    def changed(
        self, new_values: Mapping[str, Any], newer: Mapping[str, str] = MappingProxyType({})
    ) -> SettingsRead:
        """Return a copy in which the values in `new_values` replace others; None removes a setting.

        TransferShedder implies the extensible load manager, unless a load manager is given.
        `newer` has the newer names of settings in `new_values`, as the field `newer_names` does.
        """
        values = merge_settings(dict(self.values), new_values)
        places, assumed = dict.fromkeys(new_values, COMMAND_LINE), ""
        transfers = str(new_values.get(STRATEGY)).rpartition(".")[2] == TRANSFER
        if transfers and MANAGER not in new_values and manager_by_settings(values) == MODULAR:
            values, places[MANAGER] = {**values, MANAGER: EXTENSIBLE_CLASS}, COMMAND_LINE
            assumed = (
                f"{TRANSFER} belongs to the {EXTENSIBLE} load manager, so {MANAGER}="
                f"{EXTENSIBLE_CLASS} is assumed; a broker needs both settings, with full names"
            )
        kept = {name: own for name, own in self.newer_names.items() if name not in new_values}
        places, newer = {**self.places, **places}, {**kept, **newer}
        found = replace(self, values=values, places=places, assumed=assumed, newer_names=newer)
        return replace(found, reread=None)

    def with_dynamic(self, dynamic: SettingsRead) -> SettingsRead:
        """Return a copy in which the dynamic configuration overrides these settings."""
        whys = {name: why_not_dynamic(name, dynamic.version) for name in dynamic.values}
        fixed = {name: why for name, why in whys.items() if why}
        given = {name: value for name, value in dynamic.values.items() if name not in fixed}
        over = (
            Unused(self.places[name], name, f"{dynamic.places[name]} overrides it")
            for name, value in given.items()
            if name in self.values and self.values[name] != value
        )
        refused = (Unused(dynamic.places[name], name, why) for name, why in fixed.items())
        return replace(
            self,
            values={**self.values, **given},
            places={**self.places, **{name: dynamic.places[name] for name in given}},
            unused=(*self.unused, *over, *refused, *dynamic.unused),
            unreadable=(*self.unreadable, *dynamic.unreadable),
            misread=(*self.misread, *dynamic.misread),
            others=self.others + dynamic.others,
            unread=(*self.unread, *dynamic.unread),
            reread=partial(_read_both_as, self, dynamic),
        )

    def delay_remark(self, name: str) -> str:
        """Return a remark on when a dynamic setting takes effect; empty if there is none."""
        if not self.places.get(name, "").endswith(DYNAMIC):
            return ""
        if name == SHEDDING_INTERVAL:
            once = schedules_cycles_once(self.version) or self.running().manager == EXTENSIBLE
            return WHEN_LEADER if once else ""
        return {MANAGER: AT_ONCE, STRATEGY: AT_START}.get(name, "")

    def still_unknown(self) -> list[Unused]:
        """Return the entries of `unread`, without settings whose values are given elsewhere."""
        return [one for one in self.unread if one.name not in self.places]

    def values_with_full_names(self) -> Mapping[str, Any]:
        """Return the values; a class that is named on the command line has its full name."""
        given = [name for name, place in self.places.items() if place == COMMAND_LINE]
        return with_full_names(self.values, given)

    def running(self) -> Running:
        """Return the load manager and the strategies that run with these settings."""
        return running_classes(self.values_with_full_names(), self.version)

    def parts(self) -> frozenset[str]:
        """Return the parts of a broker that run or, as in `disabled`, are assumed to run."""
        named, runs = self.values_with_full_names(), self.running()
        similar = self.similar_classes() if runs.manager == STOPPED else {}
        tried = [{**named, **similar}]
        if runs.manager == STOPPED and not similar and runs.culprit != MANAGER:
            tried.append({**named, runs.culprit: None})
        each = (running_classes(one, self.version) for one in tried)
        return frozenset().union(*(parts_in_force(self.values, one) for one in each))

    def strategy_instead(self, running: Running) -> Mapping[str, Any]:
        """Return the strategy that runs instead of the configured one, as {setting: strategy}.

        Empty if the configured strategies run, or if the command line names the strategy.
        """
        manager = running.manager in (MODULAR, EXTENSIBLE) and running.instead
        if not manager or self.places.get(running.culprit) == COMMAND_LINE:
            return {}
        runs = {STRATEGY: running.shedding, PLACEMENT: running.placement}
        return {name: value for name, value in runs.items() if name == running.culprit}

    def without_effect(self) -> list[Unused]:
        """Return the unused settings, and the settings made ineffective by other settings."""
        return [*self.unused, *self.disabled()]

    def refused(self) -> list[Unused]:
        """Return the settings that are readable but keep the broker from starting."""
        return [one for one in self.without_effect() if one.why.endswith(STARTS_NOT)]

    def ineffective(self) -> list[Unused]:
        """Return the settings without effect, except those that keep a broker from starting."""
        return [one for one in self.without_effect() if not one.why.endswith(STARTS_NOT)]

    def reasons_not_to_start(self) -> Mapping[str, str]:
        """Return the settings that keep the broker from starting, each with the reason.

        Dynamic settings are left out, because the broker reads them only after it has started.
        """
        runs, found = self.running(), [*self.unreadable]
        found += [one for one in self.disabled(defaults=True) if one.why.endswith(STARTS_NOT)]
        own = {one.name: one.why for one in found if not one.place.endswith(DYNAMIC)}
        return {**own, runs.culprit: str(runs)} if runs.manager == STOPPED else own

    def disabled(self, *, defaults: bool = False) -> list[Unused]:
        """Return the settings in `values` that have no effect because of other settings.

        Settings with their default value are left out, unless `defaults` is true. If the broker
        does not start because it does not find a class, the most similar class is assumed.
        """
        named, runs = self.values_with_full_names(), self.running()
        instead = self.similar_classes() if runs.manager == STOPPED else {}
        off = without_effect({**named, **instead}, self.version, defaults=defaults)
        why = {**dict(self._without_package()), **dict(self._with_dynamic_reasons(off))}
        why |= {name: misspelt_class_text(name, str(named[name])) for name in instead}
        why |= {runs.culprit: str(runs)} if instead else {}
        return [Unused(self.places[name], name, why[name]) for name in self.values if name in why]

    def similar_classes(self) -> Mapping[str, str]:
        """Return the most similar existing class for each setting with an unknown class."""
        named = self.values_with_full_names().items()
        classes = {name: similar_class(name, str(value)) for name, value in named}
        return {name: one for name, one in classes.items() if one}

    def _with_dynamic_reasons(self, off: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield settings without effect, each with the reason.

        For a dynamic setting that would keep a broker from starting, the reason says that its
        effect is not known: a broker reads its file before the dynamic settings.
        """
        for name, why in off:
            starts = name not in CLASSES and self.places.get(name, "").endswith(DYNAMIC)
            stops = why.endswith(STARTS_NOT) and starts
            yield name, f"{why.rpartition(', so ')[0]}; {NOT_KNOWN_DYNAMIC}" if stops else why

    def _without_package(self) -> Iterator[tuple[str, str]]:
        """Yield settings of a file that name a class without its package, each with the reason."""
        for name, value in self.values.items():
            setting = broker_settings().get(name)
            short = self.places[name] != COMMAND_LINE and "." not in str(value)
            if setting and setting.type == "class" and short and name not in CLASSES:
                why = "Pulsar needs the full class name, as in org.apache.pulsar.broker…"
                yield name, f"{value}: {why}"

    def notes(self) -> Iterator[str]:
        """Yield notes on settings that are assumed, still unknown, or without effect."""
        yield from filter(None, [self.assumed])
        for name in (STRATEGY, SHEDDING_INTERVAL):
            if late := self.delay_remark(name):
                yield f"{name}: {late}; the answer applies after that"
        for one in self.still_unknown():
            is_setting = one.name in broker_settings() or one.name in specs.load().settings
            yield f"{one}; the answer assumes its default" if is_setting else str(one)
        stop = "with which a broker does not start"
        for title, some in ((stop, self.refused()), ("without effect", self.ineffective())):
            if some:
                yield f"{counted(len(some), 'setting')} {title}:"
                yield from (f"  {one}" for one in some)


def _read_both_as(files: SettingsRead, dynamic: SettingsRead, version: str) -> SettingsRead:
    return files.read_by(version).with_dynamic(dynamic.read_by(version))


def read_entries(
    entries: Iterable[Entry], release: str | None = None, *, as_broker: bool = False
) -> SettingsRead:
    """Read settings in file order; the last occurrence of a name wins.

    With `as_broker`, settings are read as a broker reads them: values outside a documented range
    are in force, a boolean is false unless its text is "true", and other values of the wrong type
    are collected in `unreadable`. Without `as_broker`, any such value raises `BadSetting`.
    """
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    unused: list[Unused] = []
    misread: list[Unused] = []
    bad: dict[str, Unused] = {}
    others = 0
    for entry in entries:
        why = why_unknown(entry.name, release)
        if why is not None:
            unused += [Unused(entry.place, entry.name, why)] if why else []
            others += not why
            if not why and as_broker and WITH_COMMENT.fullmatch(entry.text):
                misread.append(Unused(entry.place, entry.name, f"{entry.text}: {COMMENTED}"))
            continue
        over = f"{entry.place} overrides it"
        if entry.name in bad:
            unused.append(Unused(bad.pop(entry.name).place, entry.name, over))
        text = entry.text
        if as_broker and type_of(entry.name) == "boolean" and text.lower() not in BOOLEANS:
            text = "false"
            why = f"{entry.text} is read as false, since only true means true"
            misread.append(Unused(entry.place, entry.name, why))
        empty = as_broker and not text and type_of(entry.name) == "list"
        if empty and not is_empty_by_default(entry.name):
            misread.append(Unused(entry.place, entry.name, EMPTY_LIST))
        try:
            value = "" if empty else setting_value(entry.name, text, any_range=as_broker)
        except BadSetting as error:
            if not as_broker:
                raise BadSetting(f"{entry.place}: {error}") from None
            if entry.name in values:
                del values[entry.name]
                unused.append(Unused(places.pop(entry.name), entry.name, over))
            why = str(error).removeprefix(f"{entry.name}=")
            bad[entry.name] = Unused(entry.place, entry.name, why)
            continue
        if entry.name in values and values[entry.name] != value:
            unused.append(Unused(places[entry.name], entry.name, over))
        values[entry.name], places[entry.name] = value, entry.place
    newer, overridden = _use_documented_spelling(values, places)
    unused += overridden
    given = {name: value for name, value in values.items() if value is not None}
    read = SettingsRead(given, places, tuple(unused), others, release or "", newer_names=newer)
    return replace(read, unreadable=tuple(bad.values()), misread=tuple(misread))


def _use_documented_spelling(
    values: dict[str, Any], places: dict[str, str]
) -> tuple[dict[str, str], list[Unused]]:
    """Replace newer names of settings by the documented names, in `values` and `places`.

    Return the replaced names by setting, and the settings whose older name has no effect because
    the file also gives the newer name. A release that knows both names uses the newer name's value
    unless it is the default.
    """
    newer: dict[str, str] = {}
    overridden: list[Unused] = []
    for setting in broker_settings().values():
        name, old = setting.name, setting.replaces
        if not old or name not in values:
            continue
        value, place = values.pop(name), places.pop(name)
        if old not in values or value not in (None, setting.default(known_releases()[-1])):
            if old in values and values[old] != value:
                why = f"{place} sets {name}, which is used instead"
                overridden.append(Unused(places[old], old, why))
            values[old], places[old], newer[old] = value, place, name
    return newer, overridden


def given_settings(texts: Iterable[str], *, any_range: bool = False) -> dict[str, Any]:
    """Parse `NAME=VALUE` strings with the settings of all releases. Errors: as `read_pairs`."""
    return dict(read_pairs(texts, any_range=any_range).values)


def read_pairs(texts: Iterable[str], release: str = "", *, any_range: bool = False) -> SettingsRead:
    """Read `NAME=VALUE` strings as a release does; an empty value removes the setting (None).

    Settings that the release lacks are in `unused`. Errors: as `setting_value`.
    """
    given: dict[str, Any] = {}
    places: dict[str, str] = {}
    unused: dict[str, Unused] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise BadSetting(f"--setting {text}: write NAME=VALUE, or NAME= to remove it")
        found = setting_value(name, value, any_range=any_range)
        if not is_finite(found):
            raise BadSetting(f"--setting {text}: {UNKNOWN_EFFECT}")
        if given.get(name, found) != found:
            other = "without a value" if given[name] is None else f"as {given[name]}"
            raise BadSetting(f"--setting {text}: {name} is also given {other}; keep one")
        if release and (why := why_unknown(name, release)):
            unused[name] = Unused(COMMAND_LINE, name, why)
        else:
            given[name], places[name] = found, COMMAND_LINE
    newer, overridden = _use_documented_spelling(given, places)
    for one in overridden:
        raise BadSetting(f"--setting {one.name}: {one.why}")
    return SettingsRead(given, places, (*unused.values(),), version=release, newer_names=newer)
