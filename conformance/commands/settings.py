"""`pulsar-conformance settings [PATTERN ...]`: list settings, or explain a settings FILE."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_conformance.adapters.arguments import add_dynamic, add_profile, released_version
from pulsar_conformance.conformance.commands.look_up import setting_lines
from pulsar_conformance.specs.errors import UserError, print_note
from pulsar_conformance.specs.text import counted, paragraph

FILE_OPTIONS = ("release", "to", "all", "dynamic", "json", "markdown")

Section = tuple[str, list[str]]
"""The title of a section, and its rows."""

GLOB = frozenset("*?[")
"""Characters that make a word a pattern. Without them, a word with a dot is a file's name."""

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.setting_types import Unused
    from pulsar_conformance.conformance.cases.settings import SettingsRead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments to print the defaults of a profile, or to explain a file of a release."""
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN|FILE|URL",
        help="names of settings, as in '*Shedding*'; or one file with settings, such as a "
        "broker.conf, or the admin URL of a broker, to explain: which settings are in force, which "
        "have no effect, and what an upgrade changes",
    )
    add_profile(parser, "print the settings that this profile names, with defaults (%(default)s)")
    parser.add_argument(
        "--to",
        type=released_version,
        metavar="VERSION",
        help="list what an upgrade to this version changes for FILE (the next known release)",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="also list unset settings, values without difference, and all changed decisions",
    )
    parser.add_argument(
        "--release",
        type=released_version,
        metavar="VERSION",
        help="the version of Pulsar that reads FILE, such as 4.0.3 (the version of the image in "
        "FILE, or else the newest known release)",
    )
    add_dynamic(parser)
    parser.add_argument("--json", action="store_true", help="print the explanation of FILE as JSON")
    parser.add_argument(
        "--markdown", action="store_true", help="print the explanation of FILE as Markdown"
    )


def run(args: argparse.Namespace) -> int:
    """Print settings, or explain a file; return 1 if a setting is unused, unreadable or odd."""
    if files := [one for one in args.pattern if _is_file(one)]:
        if len(args.pattern) > 1:
            raise UserError(f"{' '.join(args.pattern)}: name one file and no patterns")
        return _explain_file(files[0], args)
    if any(vars(args)[one] for one in FILE_OPTIONS):
        named = ", ".join(f"--{one}" for one in FILE_OPTIONS[:-1])
        raise UserError(f"{named} and --{FILE_OPTIONS[-1]} need a FILE, such as a broker.conf")
    print("\n".join(setting_lines(args)))
    return 0


def _is_file(name: str) -> bool:
    """True if an argument is a URL or the name of a file, which need not exist."""
    return "/" in name or ("." in name and not GLOB & {*name}) or Path(name).exists()


def _explain_file(file: str, args: argparse.Namespace) -> int:
    from pulsar_conformance.conformance.cases.live import read_running_broker
    from pulsar_conformance.conformance.common.image_tags import release_by_image
    from pulsar_conformance.specs.broker import known_releases

    if file.startswith(("http://", "https://")):
        if args.dynamic:
            raise UserError(
                f"{file}: its configuration already includes dynamic settings; drop --dynamic"
            )
        found, assumed = read_running_broker(file, args.release)
    else:
        release, notes = (args.release, []) if args.release else release_by_image(Path(file))
        for note in notes:
            print_note(note)
        found, assumed = _read_file(file, args, release or known_releases()[-1]), not release
    if assumed and args.to:
        raise UserError(f"--to {args.to}: the release that reads {file} is unknown; add --release")
    if args.json:
        print(json.dumps(_as_json(found, args.to, assumed=assumed), indent=1))
    else:
        print("\n".join(_explanation(found, args, assumed=assumed)))
    unusable = (found.unreadable, found.misread, found.still_unknown())
    return int(any((found.without_effect(), *unusable, _odd_values(found))))


def _read_file(file: str, args: argparse.Namespace, release: str) -> SettingsRead:
    """Return the settings of a file and of --dynamic, as a version reads them."""
    from pulsar_conformance.conformance.cases.settings_files import NOTHING_READ, read_in_force

    return read_in_force(Path(file), args.dynamic, release, as_broker=True) or NOTHING_READ


def _in_force(found: SettingsRead) -> dict[str, tuple[Any, Any]]:
    """Return the value and the release's default of each setting that has an effect."""
    from pulsar_conformance.conformance.compare.upgrade import default_for

    without = {one.name for one in found.disabled(defaults=True)}
    return {
        name: (value, default_for(found, name))
        for name, value in found.values.items()
        if name not in without
    }


def _odd_values(found: SettingsRead) -> dict[str, str]:
    """Return the settings in force whose values are probably mistakes, each with the reason."""
    from pulsar_conformance.conformance.cases.setting_types import why_odd_value

    parts, in_force = found.parts(), _in_force(found)
    why = {
        name: why_odd_value(name, one, found.version, parts) for name, (one, _) in in_force.items()
    }
    return {name: one for name, one in why.items() if one}


def _odd_sections(found: SettingsRead, short_value: Callable[[Any], str]) -> Iterator[Section]:
    for title, fails in (("out of range", False), ("in force, but it fails", True)):
        rows = [
            f"{found.newer_names.get(name, name)} = {short_value(found.values[name])} "
            f"({found.places[name]}): {why}"
            for name, why in _odd_values(found).items()
            if isinstance(found.values[name], str) is fails
        ]
        if rows:
            yield title, rows


def _without_difference(found: SettingsRead) -> list[Unused]:
    """Return the settings without effect whose values are defaults or make no difference."""
    named = {one.name for one in found.disabled()}
    return [one for one in found.disabled(defaults=True) if one.name not in named]


def _defaults(found: SettingsRead) -> Mapping[str, Any]:
    """Return the release's defaults of the settings that are missing from the file."""
    from pulsar_conformance.conformance.compare.upgrade import default_for, release_compared
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import has_setting

    release = release_compared(found)
    left_out = {one.name for one in (*found.unreadable, *found.still_unknown())} | {*found.values}
    left_out |= {one.replaces for one in broker_settings().values() if one.is_in(release)}
    return {
        name: default_for(found, name)
        for name, setting in broker_settings().items()
        if has_setting(setting, found.version)
        and name not in left_out
        and setting.replaces not in found.values
    }


def _used_instead(found: SettingsRead) -> Mapping[str, Mapping[str, str]]:
    """Return the class that runs instead of a default class that the load manager cannot use."""
    from pulsar_conformance.specs.judged import PLACEMENT, STRATEGY

    runs = found.running()
    classes = {PLACEMENT: runs.placement, STRATEGY: runs.shedding}
    return {
        name: {"value": one, "why": runs.problem}
        for name, one in classes.items()
        if name == runs.culprit and runs.instead and name not in found.values
    }


NOTHING_WITHOUT_EFFECT = "every setting that differs from its default has an effect"
WHAT_IT_READS = "it is not known which settings of load managers and strategies it reads"


def _explanation(found: SettingsRead, args: argparse.Namespace, *, assumed: bool) -> Iterator[str]:
    """Yield the sections as text or as Markdown lists."""
    markdown: bool = args.markdown
    notes: list[Section] = [(note, []) for note in _release_notes(found, assumed=assumed)]
    for number, (title, rows) in enumerate([*notes, *_sections(found, args.to, args.all)]):
        yield from ("",) if number else ()
        if markdown:
            yield from [f"## {title}", ""] if rows else [title]
        else:
            yield from paragraph(title)
        for row in rows:
            yield from (f"- {row}",) if markdown else paragraph(row, 4, "  ")


def _sections(found: SettingsRead, to: str | None, every: bool) -> Iterator[Section]:
    from pulsar_conformance.conformance.cases.effects import KINDS, NOT_KNOWN, NOTHING, STOPPED
    from pulsar_conformance.conformance.compare.upgrade import (
        command_to_compare,
        later_releases,
        new_settings,
        note_on_version,
        release_compared,
        short_value,
        upgrade_changes,
        version_to_compare,
    )
    from pulsar_conformance.specs.broker import release_line
    from pulsar_conformance.specs.judged import caveat_text, judged_version, nearest_profile
    from pulsar_conformance.specs.versions import numbers_of

    release = release_compared(found)
    if found.older:
        yield (
            f"{found.version} is older than {release}, the oldest release all of whose settings "
            f"are known; defaults of {release} are assumed, except where a difference is listed",
            [],
        )
    yield from _own_differences(found, every)
    stops, without = found.reasons_not_to_start(), found.ineffective()
    unread = any(one.name in stops for one in found.unreadable)
    listed = {
        "not known": found.still_unknown(),
        "cannot be read" + (", so the broker does not start" if unread else ""): found.unreadable,
        "read as another value": found.misread,
        "the broker does not start with these": found.refused(),
    }
    yield from ((title, _rows(some)) for title, some in listed.items() if some)
    yield from _odd_sections(found, short_value)
    if plugged := (runs := found.running().manager) not in (*KINDS, NOTHING, STOPPED, NOT_KNOWN):
        yield f"{runs} is not a class of Pulsar: {WHAT_IT_READS}", []
    if without or not (stops or plugged):
        yield ("without effect" if without else NOTHING_WITHOUT_EFFECT), _rows(without)
    later = later_releases(found, to)
    new = version_to_compare(later, to)
    changes = list(upgrade_changes(found, later, new, every=every or bool(to)))
    told = (note_on_version(to, new), new and caveat_text(new)) if to else ()
    yield from ((note, []) for note in told if note)
    if changes:
        known = f", of which only {later[-1]} is known" if later and new not in later else ""
        which = "" if to else known or ", the next known release"
        yield f"changes with Pulsar {new}{which}", changes
    elif to:
        yield f"Pulsar {new} changes no setting of the file, and no default that matters", []
    yield from new_settings(found, new) if new else ()
    old = nearest_profile(found.version).partition("-")[2] if found.older else release
    newest = later[-1] if later else nearest_profile(new or release).partition("-")[2]
    if to and release_line(old) != release_line(newest):
        yield f"to see which decisions and settings change, {command_to_compare(old, newest)}", []
    in_force = sorted(_in_force(found).items(), key=lambda one: one[1][0] == one[1][1])
    rows = [
        f"{found.newer_names.get(name, name)} = {short_value(value)} ({found.places[name]}"
        + ("" if value == default else f"; the default is {short_value(default)}")
        + (f"; {remark}" if (remark := _remark(found, name)) else "")
        + ")"
        for name, (value, default) in in_force
    ]
    itself, own = numbers_of(found.version) == numbers_of(release), judged_version(found.version)
    defaulted = found.version if own and own.defaults else release
    assumed = defaulted == release and not itself
    of_release = f"of Pulsar {defaulted}" + (", which are assumed" if assumed else "")
    none = f"none of these settings is in force; the defaults are those {of_release}"
    once = " once the broker starts" if stops else ""
    once += " with the most similar class" if runs == STOPPED and found.similar_classes() else ""
    yield (f"in force{once}, with the defaults {of_release}" if rows else none), rows
    if idle := _rows(_without_difference(found)):
        title, count = "set to values that make no difference", counted(len(idle), "setting")
        yield (title, idle) if every else (f"{title}: {count} (--all lists them)", [])
    instead = _used_instead(found)
    defaults = [
        f"{name} = {short_value(instead.get(name, {}).get('value', value))}"
        + (f" (not the default: {instead[name]['why']})" if name in instead else "")
        for name, value in _defaults(found).items()
    ]
    count = counted(len(defaults), "setting")
    but = "applies" if itself else f"is assumed, unless {found.version} differs as listed"
    title = f"not set, so that the default of Pulsar {release} {but}"
    yield (title, defaults) if every else (f"{title}: {count} (--all lists them)", [])
    if found.others:
        yield f"not listed: {counted(found.others, 'setting')} outside load balancing", []


def _rows(unused: Iterable[Unused]) -> list[str]:
    return [f"{one.name} ({one.place}): {one.why}" for one in unused]


def _release_notes(found: SettingsRead, *, assumed: bool) -> Iterator[str]:
    """Yield a note on the assumed release if the file's release is not known or not examined."""
    from pulsar_conformance.specs.judged import caveat_text

    if assumed:
        version = found.version
        yield f"no release is given: Pulsar {version} is assumed; to change that, add --release"
    elif note := caveat_text(found.version):
        yield note


def _own_differences(found: SettingsRead, every: bool) -> Iterator[Section]:
    """Yield the differences between the version that reads the file and the nearest known release.

    A strategy that the version lacks is left out: it is listed among the settings without effect.
    Unless `every`, differences that are not about settings are only counted. Differences that
    concern parts of the broker that do not run are left out.
    """
    from pulsar_conformance.conformance.compare.upgrade import SETTING_WAYS, release_compared
    from pulsar_conformance.specs.differences import differences_from

    release, lacks = release_compared(found), not found.running().culprit
    parts = found.parts()
    told, ways = differences_from(found.version, release, found.values, parts, lacks=lacks)
    shown = [text for name, text in ways.items() if every or name in SETTING_WAYS]
    told += shown
    if rest := len(ways) - len(shown):
        told.append(f"{counted(rest, 'other difference')} (--all lists them)")
    if told:
        yield f"Pulsar {found.version} differs from {release}", told


def _remark(found: SettingsRead, name: str) -> str:
    """Return a remark on a value with a delayed or partial effect, or tied to another setting.

    Usually empty.
    """
    from pulsar_conformance.conformance.cases.effects import AVG_SHEDDER, EXTENSIBLE, MODULAR
    from pulsar_conformance.conformance.cases.setting_types import DEFAULT_ALGORITHM
    from pulsar_conformance.conformance.compare.upgrade import short_value
    from pulsar_conformance.reference.released.splitting import FLOW, ONE_CUT
    from pulsar_conformance.specs.balancers import PACKAGE
    from pulsar_conformance.specs.broker import broker_settings
    from pulsar_conformance.specs.judged import PLACEMENT, STRATEGY
    from pulsar_conformance.specs.setting_names import deprecation_text

    runs, known = found.running(), broker_settings().get(name)
    said = [known.remark] if known and known.remark else []
    said += [] if name in found.newer_names else [deprecation_text(name, found.version)]
    shedding, modular = runs.shedding.rpartition(".")[2], runs.manager == MODULAR
    own = modular and runs.shedding.startswith(PACKAGE)
    if own and known and known.sheds_by not in ("", shedding):
        said.append(f"it counts for placement, but not for shedding by {shedding}")
    if modular and name == STRATEGY and runs.shedding == PACKAGE + AVG_SHEDDER != runs.placement:
        placed = f"{PLACEMENT} is {short_value(runs.placement)}"
        said.append(f"{shedding} also places what it unloads, but {placed}")
    if runs.manager == EXTENSIBLE and name == DEFAULT_ALGORITHM and found.values[name] == FLOW:
        said.append(f"{ONE_CUT}, so a bundle that it would cut more often stays whole")
    return "; ".join(filter(None, [*said, found.delay_remark(name)]))


def _as_json(found: SettingsRead, to: str | None, *, assumed: bool) -> dict[str, Any]:
    from pulsar_conformance.conformance.cases.setting_types import Unused, is_finite
    from pulsar_conformance.conformance.compare.upgrade import (
        later_releases,
        release_compared,
        short_value,
        upgrade_changes,
        version_to_compare,
    )

    later, odd = later_releases(found, to), _odd_values(found)
    remarks = {
        name: [*filter(None, [odd.get(name), _remark(found, name)])] for name in found.values
    }
    rows = {
        "notKnown": found.still_unknown(),
        "cannotBeRead": found.unreadable,
        "takenForAnotherValue": found.misread,
        "outOfRange": [Unused(found.places[name], name, why) for name, why in odd.items()],
        "doesNotStartWith": found.refused(),
        "withoutEffect": found.ineffective(),
        "withoutDifference": _without_difference(found),
    }
    notes = [*_release_notes(found, assumed=assumed)]
    return {
        "release": found.version,
        "defaultsOf": release_compared(found),
        "notes": [*notes, *(note for _, told in _own_differences(found, True) for note in told)],
        "inForce": {
            name: {
                "value": value if is_finite(value) else short_value(value),
                "place": found.places[name],
                "default": default,
                **({"remark": "; ".join(said)} if (said := remarks[name]) else {}),
            }
            for name, (value, default) in _in_force(found).items()
        },
        **{kind: [vars(one) for one in entries] for kind, entries in rows.items()},
        "defaults": dict(_defaults(found)),
        "usedInstead": _used_instead(found),
        "others": found.others,
        "nextRelease": list(upgrade_changes(found, later, version_to_compare(later, to))),
    }
