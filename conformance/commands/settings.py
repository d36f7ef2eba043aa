"""`pulsar-conformance settings [PATTERN ...]`: list settings, or explain a settings FILE."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_conformance.adapters.arguments import add_dynamic, add_profile
from pulsar_conformance.conformance.commands.look_up import setting_lines
from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.text import counted, paragraph, written_value

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."
OF_SETTINGS = ("heap-memory", "overload-usage", "uniform-settings", "even-spread", "session-limit")
"""Ways that decide about the effect of settings."""
OF_FILES = ("release", "to", "all", "dynamic", "json", "markdown")

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.settings import SettingsRead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add patterns and a profile for defaults, or a file and a release."""
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN|FILE|URL",
        help="names of settings, as in '*Shedding*'; or one file with settings, such as a "
        "broker.conf, or the admin URL of a broker, to explain: what is in force, what has no "
        "effect, and what an upgrade changes",
    )
    add_profile(parser, "print the defaults of this profile (%(default)s)")
    parser.add_argument(
        "--to",
        metavar="VERSION",
        help="list what changes in FILE with this version (by default, the next known release)",
    )
    parser.add_argument(
        "--all", action="store_true", help="list the defaults of settings that FILE does not set"
    )
    parser.add_argument(
        "--release",
        metavar="VERSION",
        help="the version of Pulsar that reads FILE, such as 4.0.3 (that of the image in FILE, or "
        "the newest known release)",
    )
    add_dynamic(parser)
    parser.add_argument("--json", action="store_true", help="print the explanation of FILE as JSON")
    parser.add_argument(
        "--markdown", action="store_true", help="print the explanation of FILE as Markdown"
    )


def run(args: argparse.Namespace) -> int:
    """Print settings, or explain a file; return 1 if some of the file's settings are unusable."""
    files = [one for one in args.pattern if "/" in one or Path(one).is_file()]
    if files:
        if len(args.pattern) > 1:
            raise UserError(f"{' '.join(args.pattern)}: name one file and no patterns")
        return _explain_file(files[0], args)
    if any(vars(args)[one] for one in OF_FILES):
        named = ", ".join(f"--{one}" for one in OF_FILES[:-1])
        raise UserError(f"{named} and --{OF_FILES[-1]} are for a FILE, such as a broker.conf")
    print("\n".join(setting_lines(args)))
    return 0


def _explain_file(file: str, args: argparse.Namespace) -> int:
    from pulsar_conformance.conformance.cases.live import read_running_broker
    from pulsar_conformance.conformance.cases.settings_files import read_dynamic, read_settings
    from pulsar_conformance.conformance.common.image_tags import release_by_image

    if file.startswith(("http://", "https://")):
        if args.dynamic:
            raise UserError(
                f"{file}: its configuration already includes dynamic settings; drop --dynamic"
            )
        found = read_running_broker(file, args.release)
    else:
        release, notes = (args.release, []) if args.release else release_by_image(Path(file))
        for note in notes:
            print_note(note)
        found = read_settings(Path(file), release, as_broker=True)
        if args.dynamic:
            over = read_dynamic(args.dynamic, release, as_broker=True)
            found = found.with_dynamic(over)
    if args.json:
        print(json.dumps(_as_json(found, args.to), indent=1))
    else:
        print("\n".join(_explanation(found, args)))
    told = (found.without_effect(), found.unreadable, found.misread, found.unknown())
    return int(any(told))


def _compared_with(found: SettingsRead) -> str:
    """Return the release whose defaults apply: the one that reads the file, or else the newest."""
    from pulsar_conformance.specs.broker import known_releases

    return found.released or known_releases()[-1]


def _default_of(found: SettingsRead, name: str) -> Any:
    """Return the default in the version that reads the file; None if it lacks the setting."""
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import default_in_version

    if name not in broker_settings():
        return None
    return default_in_version(broker_settings()[name], found.version or _compared_with(found))


def _in_force(found: SettingsRead) -> dict[str, tuple[Any, Any]]:
    """Return the value and the release's default of each setting that has an effect."""
    without = {one.name for one in found.disabled()}
    return {
        name: (value, _default_of(found, name))
        for name, value in found.values.items()
        if name not in without
    }


def _defaults(found: SettingsRead) -> Mapping[str, Any]:
    """Return the release's defaults of the settings that are missing from the file."""
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import PLACEMENT, STRATEGY, has_setting

    release = _compared_with(found)
    version, runs = found.version or release, found.running()
    left_out = {one.name for one in (*found.unreadable, *found.unknown())} | {*found.values}
    left_out |= {one.replaces for one in broker_settings().values() if one.is_in(release)}
    classes = {PLACEMENT: runs.placement, STRATEGY: runs.shedding}
    instead = {name: one for name, one in classes.items() if name == runs.culprit and runs.instead}
    return {
        name: instead.get(name, _default_of(found, name))
        for name, setting in broker_settings().items()
        if has_setting(setting, version)
        and name not in left_out
        and setting.replaces not in found.values
    }


NOTHING_WITHOUT_EFFECT = "no setting that differs from its default is without effect"

Section = tuple[str, list[str]]
"""The title of a section, and its rows."""


def _explanation(found: SettingsRead, args: argparse.Namespace) -> Iterator[str]:
    """Yield the sections as text or as Markdown lists."""
    markdown: bool = args.markdown
    for number, (title, rows) in enumerate(_sections(found, args.to, args.all)):
        yield from ("",) if number else ()
        yield from [f"## {title}", ""] if markdown else paragraph(title)
        for row in rows:
            yield from (f"- {row}",) if markdown else paragraph(row, 4, "  ")


def _sections(found: SettingsRead, to: str | None, every: bool) -> Iterator[Section]:
    from pulsar_conformance.conformance.cases.settings import DYNAMIC
    from pulsar_conformance.specs.judged import assumption

    release = _compared_with(found)
    if found.older:
        yield (
            f"{found.version} is older than {release}, the oldest release whose settings are "
            "known; it may lack some of these",
            [],
        )
    yield from ((note, []) for note in _release_notes(found))
    yield from _own_differences(found, every)
    unknown = [f"{one.name} ({one.place}): {one.why}" for one in found.unknown()]
    if unknown:
        yield "not known", unknown
    unreadable = [f"{one.name} ({one.place}): {one.why}" for one in found.unreadable]
    if unreadable:
        stops = any(not one.place.endswith(DYNAMIC) for one in found.unreadable)
        yield "cannot be read" + (", so the broker does not start" if stops else ""), unreadable
    misread = [f"{one.name} ({one.place}): {one.why}" for one in found.misread]
    if misread:
        yield "taken for another value", misread
    without = [f"{one.name} ({one.place}): {one.why}" for one in found.without_effect()]
    yield ("without effect" if without else NOTHING_WITHOUT_EFFECT), without
    later = _later_releases(found, to)
    changes = list(_changes(found, later, to))
    new = _last(later, to) if later else ""
    if (to or changes) and new and (note := assumption(new)):
        yield note, []
    if changes:
        which = "" if to else ", the next known release"
        yield f"changes with Pulsar {new}{which}", changes
    elif to:
        yield f"nothing that is set changes with Pulsar {new}, and no default that matters", []
    if to and later:
        hint = f"pulsar-conformance changes {_compared_with(found)} {later[-1]}"
        yield f"decisions and new settings that change: {hint}", []
    in_force = sorted(_in_force(found).items(), key=lambda one: one[1][0] == one[1][1])
    rows = [
        f"{found.spelled.get(name, name)} = {_short(value)} ({found.places[name]}"
        + ("" if value == default else f"; the default is {_short(default)}")
        + (f"; {remark}" if (remark := _remark(found, name)) else "")
        + ")"
        for name, (value, default) in in_force
    ]
    yield f"in force, with the defaults of Pulsar {release}", rows
    defaults = [f"{name} = {_short(value)}" for name, value in _defaults(found).items()]
    count = counted(len(defaults), "setting")
    title = f"not set, so that the default of Pulsar {release} applies"
    yield (title, defaults) if every else (f"{title}: {count} (--all lists them)", [])
    if found.others:
        yield f"not listed: {counted(found.others, 'setting')} of other parts of the broker", []


def _release_notes(found: SettingsRead) -> Iterator[str]:
    """Yield which release is assumed if that of the file is not known."""
    from pulsar_conformance.specs.judged import assumption

    if not found.version:
        newest = _compared_with(found)
        yield f"no release is given: Pulsar {newest} is assumed; to change that, add --release"
    elif note := assumption(found.version):
        yield note


def _own_differences(found: SettingsRead, every: bool) -> Iterator[Section]:
    """Yield how the version that reads the file differs from the release it is compared with.

    A strategy that it lacks is named among the settings without effect, if that matters. Other
    differences between profiles are counted, if they are not about settings. Differences of the
    modular load manager are left out if another one runs.
    """
    from pulsar_conformance.conformance.cases.effects import MODULAR
    from pulsar_conformance.specs.judged import differences_from, unlike_strategy, way_clause

    if found.version:
        runs, release = found.running(), _compared_with(found)
        lacks, modular = not runs.culprit, runs.manager == MODULAR
        told, ways = (
            differences_from(found.version, release, found.values, lacks=lacks)
            if modular
            else (unlike_strategy(found.version, runs.shedding), {})
        )
        shown = {name: way for name, way in ways.items() if every or name in OF_SETTINGS}
        told += [way_clause(name, way) for name, way in shown.items()]
        if rest := len(ways) - len(shown):
            told.append(f"{counted(rest, 'other difference')} (--all lists them)")
        if told:
            yield f"Pulsar {found.version} differs from {release}", told


def _remark(found: SettingsRead, name: str) -> str:
    """Return a remark on a value that Pulsar accepts and the documents exclude, or that counts only
    later; usually empty.
    """
    from pulsar_conformance.conformance.cases.setting_types import out_of_range

    outside = out_of_range(name, found.values[name])
    said = [f"Pulsar accepts it, but it should be {outside}"] if outside else []
    return "; ".join([*said, *found.late(name)])


def _later_releases(found: SettingsRead, to: str | None) -> tuple[str, ...]:
    """Return the known releases after the one that reads the file, up to `to`.

    If `to` is None, that is the next release only. Errors: `UserError` if `to` is not later.
    """
    from pulsar_conformance.specs.broker import known_releases, nearest_release

    now, known = _compared_with(found), known_releases()
    later = known[known.index(now) + 1 :]
    if to is None:
        return later[:1]
    last = nearest_release(to)
    if last not in later:
        raise UserError(f"--to {to}: name a release after {now}; choose from {', '.join(known)}")
    return later[: later.index(last) + 1]


def _last(later: tuple[str, ...], to: str | None) -> str:
    """Return the version to compare with: `to`, or else the last, and not a milestone of it."""
    return to if to and to.count(".") > 1 else later[-1].partition("-")[0]


def _changes(found: SettingsRead, later: tuple[str, ...], to: str | None) -> Iterator[str]:
    """Yield what changes from the file's release to `to`, or else to the last of `later`."""
    if later:
        new = _last(later, to)
        upgraded = replace(found, version=new)
        now = replace(found, version=found.version or _compared_with(found))
        yield from _changes_of_classes(now, upgraded)
        yield from _changes_of_effects(now, upgraded)
        yield from _changes_of_settings(now, upgraded, later)


def _changes_of_classes(now: SettingsRead, upgraded: SettingsRead) -> Iterator[str]:
    """Yield which load manager and strategies run instead of those of today."""
    from pulsar_conformance.conformance.cases.effects import MODULAR, STOPPED

    before, after = now.running(), upgraded.running()
    why = f": {after}" if after.culprit else f"; until then, {before}" if before.culprit else ""
    if after.manager == STOPPED != before.manager:
        yield f"the broker no longer starts: {after.problem}"
    elif after.manager != before.manager and before.manager != STOPPED:
        yield f"the {after.manager} load manager runs instead of the {before.manager} one{why}"
    elif after.manager != before.manager:
        yield f"the broker starts, with the {after.manager} load manager; until then, {before}"
    elif before.culprit or after.culprit:
        pairs = [(before.shedding, after.shedding)]
        pairs += [(before.placement, after.placement)] if after.manager == MODULAR else []
        for old, new in pairs:
            if old != new:
                yield f"{_short(new)} runs instead of {_short(old)}{why}"


def _changes_of_effects(now: SettingsRead, upgraded: SettingsRead) -> Iterator[str]:
    """Yield the settings that begin or cease to have an effect."""
    from pulsar_conformance.specs.judged import knows_name

    before = {one.name: one.why for one in now.without_effect()}
    after = {one.name: one.why for one in upgraded.without_effect()}
    culprits = {now.running().culprit, upgraded.running().culprit}
    for name in (name for name in now.values if name not in culprits):
        if name in before.keys() - after.keys():
            yield f"{name}: it takes effect; until then, {before[name]}"
        elif name in after.keys() - before.keys():
            yield f"{name}: it loses its effect: {after[name]}"
    for name in (one.name for one in now.unused if one.name not in now.values):
        if not knows_name(now.version, name) and knows_name(upgraded.version, name):
            yield f"{name}: Pulsar {upgraded.version} has this setting"


def _changes_of_settings(
    now: SettingsRead, upgraded: SettingsRead, later: tuple[str, ...]
) -> Iterator[str]:
    """Yield the defaults, the names and the deprecations that change."""
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import PLACEMENT, STRATEGY

    known, runs, will = _compared_with(now), now.running(), upgraded.running()
    same = {PLACEMENT: runs.placement == will.placement, STRATEGY: runs.shedding == will.shedding}
    renamed = {one.replaces for one in broker_settings().values() if one.since in later}
    for name, setting in broker_settings().items():
        before, after = _default_of(now, name), _default_of(upgraded, name)
        if setting.since in later and setting.replaces in {*now.values} - {*now.spelled}:
            yield f"{setting.replaces}: its name becomes {name}; the former name still works"
        elif name not in now.values and setting.is_in(known) and before != after:
            matters = _matters(now, name, after) or _matters(upgraded, name, before)
            if matters and not same.get(name):
                yield f"{name}: the default becomes {_short(after)}, from {_short(before)}"
        elif name in {*now.values} - renamed and setting.deprecated in later:
            yield f"{name}: it becomes deprecated"


def _matters(found: SettingsRead, name: str, value: Any) -> bool:
    """True if a value that is not the default of a missing setting has an effect."""
    from pulsar_conformance.conformance.cases.effects import HEAP

    values = {**found.values, name: 1.0 if name == HEAP else value}
    given = replace(found, values=values, places={**found.places, name: name})
    return all(one.name != name for one in given.without_effect())


def _short(value: Any) -> str:
    """Format a value as in broker.conf, without Pulsar's package names."""
    return written_value(value).removeprefix(PACKAGE).replace(",", ", ")


def _as_json(found: SettingsRead, to: str | None) -> dict[str, Any]:
    return {
        "release": _compared_with(found),
        "inForce": {
            name: {
                "value": value,
                "place": found.places[name],
                "default": default,
                **({"remark": remark} if (remark := _remark(found, name)) else {}),
            }
            for name, (value, default) in _in_force(found).items()
        },
        "notKnown": [
            {"name": one.name, "place": one.place, "why": one.why} for one in found.unknown()
        ],
        "cannotBeRead": [
            {"name": one.name, "place": one.place, "why": one.why} for one in found.unreadable
        ],
        "takenForAnotherValue": [
            {"name": one.name, "place": one.place, "why": one.why} for one in found.misread
        ],
        "withoutEffect": [
            {"name": one.name, "place": one.place, "why": one.why} for one in found.without_effect()
        ],
        "defaults": dict(_defaults(found)),
        "others": found.others,
        "nextRelease": list(_changes(found, _later_releases(found, to), to)),
    }
