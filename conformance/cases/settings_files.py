"""Reads settings files: broker.conf, JSON, environment files, Helm values, Kubernetes YAML."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot
from pulsar_conformance.conformance.cases.setting_types import (
    COMMAND_LINE,
    BadSetting,
    Entry,
    Unused,
    why_odd_value,
)
from pulsar_conformance.conformance.cases.settings import DYNAMIC, SettingsRead, read_entries
from pulsar_conformance.conformance.common.image_tags import version_for_settings
from pulsar_conformance.conformance.common.settings_properties import (
    COMMENT,
    PREFIX,
    SCRIPTS,
    TERRAFORM_FILES,
    find_here_document,
    first_known_name,
    is_yaml,
    properties,
)
from pulsar_conformance.conformance.common.settings_yaml import BadYAML, read_yaml
from pulsar_conformance.specs.broker import broker_settings, is_unlisted, known_releases
from pulsar_conformance.specs.errors import hint_at_file, why_unreadable
from pulsar_conformance.specs.setting_names import why_unknown

OPTIONAL = re.compile(r"Optional\[(.*)\]")
ABSENT = ("None", "null", "Optional.empty")

LOGGED = re.compile(r"\bloadBalancer\w+=[^,\n]*, \w+=")
LOGGED_SETTING = re.compile(r"(\w+)=(.*?)(?=, \w+=|\)?$)")
"""Matches one setting in the log line with a broker's whole configuration."""

TEMPLATE = "; it is a template with {{ }}, so give the rendered file"

BYTE_ORDER_MARK = "\ufeff"
MARKED = (
    "a byte order mark precedes its name, so Pulsar reads another name; save the file without it"
)

BROKER_ONLY = re.compile(
    "managedLedger|allowAutoTopicCreation|backlogQuota|brokerDelete|brokerDeduplication|"
    "defaultRetention|systemTopicEnabled|topicLevelPolicies"
)
"""Matches names of settings that only brokers have and that are not about load balancing.

A file with such a setting is a broker's file, even if it sets nothing about load balancing.
"""

NOTHING_READ = SettingsRead({}, {})

REPORT_FIELDS = {"webServiceUrl", "lastStats", "systemResourceUsage"}
"""Fields that load reports have and no configuration has."""

FORMS = (
    "give a broker.conf, the JSON of admin/v2/brokers/configuration/runtime, an environment file, "
    "or the YAML of Helm values, docker-compose or an operator"
)


def read_settings(
    file: Path, release: str | None = None, *, as_broker: bool = False, alone: bool = True
) -> SettingsRead:
    """Read a file's settings as the given release does.

    A setting with an empty value is not set, as in a broker. For `as_broker`, see `read_entries`.
    Errors: `BadSetting`. If this is the only file (`alone`), a file without any setting of a broker
    is also an error, because it is probably the wrong file.
    """
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise BadSetting(f"{file}: {why_unreadable(error, file)}") from None
    except UnicodeDecodeError as error:
        raise BadSetting(f"{file}: it isn't UTF-8{hint_at_file(error.object, FORMS)}") from None
    entries, unread, off = _entries(file, text)
    given = tuple(entries)
    found = _settings_read(given, release, as_broker=as_broker, off=off, unread=unread)
    own = any(BROKER_ONLY.match(one.name) for one in given) if given else file.suffix == ".conf"
    if alone and not (found.places or found.unused or found.unreadable or own):
        why = "; ".join(map(str, unread)) or FORMS
        raise BadSetting(f"{file}: it has no load balancing settings that can be read; {why}")
    return found


def _settings_read(
    entries: Sequence[Entry],
    release: str | None,
    *,
    as_broker: bool,
    off: Sequence[Unused] = (),
    unread: tuple[Unused, ...] = (),
) -> SettingsRead:
    """Return the settings of entries as a release reads them; settings in `off` have no effect."""
    ignored = {one: why for one in entries if (why := _why_ignored(one, release))}
    taken = (one for one in entries if one not in ignored)
    found = read_entries(taken, release, as_broker=as_broker)
    own = (Unused(one.place, one.name, why) for one, why in ignored.items())
    reread = partial(_settings_read, entries, as_broker=as_broker, off=off, unread=unread)
    return replace(found, unused=(*found.unused, *off, *own), unread=unread, reread=reread)


def _why_ignored(entry: Entry, release: str | None) -> str:
    """Return why Pulsar's image ignores an unprefixed variable; empty if the image uses it."""
    known = entry.bare and why_unknown(entry.name, release) is None
    if not known or not is_unlisted(entry.name, release):
        return ""
    new = next((one for one, own in broker_settings().items() if own.replaces == entry.name), "")
    instead = f", or {new}, its new name" if new and why_unknown(new, release) is None else ""
    assumed = "" if release else f", and that of {known_releases()[-1]} (assumed) does not"
    return (
        "bin/apply-config-from-env.py takes names without the prefix only if broker.conf lists them"
        f"{assumed}; write {PREFIX}{entry.name}{instead}"
    )


def read_in_force(
    conf: Path | None,
    dynamic: Path | None,
    release: str | None = None,
    *,
    as_broker: bool = False,
) -> SettingsRead | None:
    """Read a settings file and the dynamic configuration that overrides it; None without files.

    For `as_broker`, see `read_entries`. Errors: as `read_settings`.
    """
    alone = dynamic is None
    read = read_settings(conf, release, as_broker=as_broker, alone=alone) if conf else None
    if dynamic is None:
        return read
    found = read_dynamic(dynamic, release, as_broker=as_broker)
    return (read or SettingsRead({}, {}, version=release or "")).with_dynamic(found)


def read_dynamic(
    file: Path, release: str | None = None, *, as_broker: bool = False
) -> SettingsRead:
    """Read the settings of a dynamic configuration. Errors: as `read_settings`."""
    return _marked_as_dynamic(read_settings(file, release, as_broker=as_broker))


def _marked_as_dynamic(settings: SettingsRead) -> SettingsRead:
    """Return settings whose places say that the settings are dynamic."""
    places = {name: f"{place}{DYNAMIC}" for name, place in settings.places.items()}
    unreadable = tuple(replace(one, place=f"{one.place}{DYNAMIC}") for one in settings.unreadable)
    reread = partial(_read_dynamic_as, settings)
    return replace(settings, places=places, unreadable=unreadable, reread=reread)


def _read_dynamic_as(settings: SettingsRead, version: str) -> SettingsRead:
    return _marked_as_dynamic(settings.read_by(version))


def read_written_settings(
    place: str, written: Mapping[str, Any], release: str | None, *, as_broker: bool = False
) -> SettingsRead:
    """Read settings from the JSON of a running broker's configuration. Errors: `BadSetting`."""
    return _settings_read(tuple(_entries_of_object(place, written)), release, as_broker=as_broker)


def _entries(
    file: Path, text: str
) -> tuple[Iterable[Entry], tuple[Unused, ...], tuple[Unused, ...]]:
    """Return a file's settings, its unread parts, and settings that the broker ignores.

    The format is detected.
    """
    marked, text = text.startswith(BYTE_ORDER_MARK), text.removeprefix(BYTE_ORDER_MARK)
    _reject_program(file, text)
    plain = not text.lstrip().startswith("{") and not LOGGED.search(text)
    if plain and is_yaml(file, text):
        try:
            found = read_yaml(file, text)
        except BadYAML as error:
            raise BadSetting(f"{error}{TEMPLATE if '{{' in text else ''}") from None
        off = tuple(Unused(one.place, one.key, one.off) for one in found if one.off)
        found = [one for one in found if not one.off]
        unread = (Unused(one.place, one.key, one.unread) for one in found if one.unread)
        known = [Entry(one.place, one.key, one.text, one.bare) for one in found if not one.unread]
        return known, tuple(dict.fromkeys(unread)), off
    simple = _simple_entries(file, text)
    if simple is not None:
        return simple, (), ()
    entries, off = _entries_of_conf(file, text, marked)
    return entries, (), off


def _reject_program(file: Path, text: str) -> None:
    """Raise `BadSetting` for Terraform files, and for scripts whose commands write settings."""
    lines = text.splitlines()
    program = file.suffix in (*TERRAFORM_FILES, *SCRIPTS)
    first = first_known_name(lines) if program else None
    if file.suffix in TERRAFORM_FILES:
        place = f"{file}:{first[0] + 1}: {first[1]} is in" if first else f"{file}: it is"
        raise BadSetting(
            f"{place} a Terraform file, which is not read; save the values or the manifest that it "
            "applies as a YAML file"
        )
    if found := find_here_document(file, text):
        raise BadSetting(
            f"{file}:{found.line}: {found.name} is in a here-document of a script, and "
            "here-documents are not read; save its text in a file of its own, with the extension "
            ".yaml if it has Helm values"
        )
    if first and not re.match(rf"\s*(export\s+)?({PREFIX})?{first[1]}\s*=", lines[first[0]]):
        raise BadSetting(
            f"{file}:{first[0] + 1}: {first[1]} is in a command of a script, which is not run; "
            "give the file that the script writes"
        )


def _simple_entries(file: Path, text: str) -> Iterator[Entry] | None:
    """Return the settings of JSON, of a log or of an environment file; None for other files."""
    if text.lstrip().startswith("{"):  # A broker.conf never begins with a brace.
        return _entries_of_json(file, text)
    if LOGGED.search(text):
        return (
            one
            for number, line in enumerate(text.splitlines(), 1)
            for one in _entries_of_line(f"{file}:{number}", line)
        )
    if file.suffix == ".env" or re.search(rf"^\s*(export\s+)?{PREFIX}", text, re.MULTILINE):
        return _entries_of_environment(file, text)
    return None


def _entries_of_conf(file: Path, text: str, marked: bool) -> tuple[list[Entry], tuple[Unused, ...]]:
    """Return the settings of a broker.conf, and the setting that a byte order mark makes unusable.

    Pulsar reads the mark as a part of the first setting's name.
    """
    found = [Entry(f"{file}:{number}", name, value) for number, name, value in properties(text)]
    if not marked or not found or found[0].place != f"{file}:1":
        return found, ()
    return found[1:], (Unused(found[0].place, found[0].name, MARKED),)


def read_logged_line(place: str, line: str) -> Mapping[str, Any]:
    """Return the settings in a log line; empty unless the line prints a whole configuration."""
    return read_entries(_entries_of_line(place, line)).values if LOGGED.search(line) else {}


def _entries_of_line(place: str, line: str) -> Iterator[Entry]:
    for found in LOGGED_SETTING.finditer(line):
        yield Entry(place, found[1], plain_java_value(found[2].strip()))


def _entries_of_json(file: Path, text: str) -> Iterator[Entry]:
    """Yield the settings in the JSON that a running broker returns."""
    try:
        written = parse_line(text.encode())
    except NotJSON as error:
        template = TEMPLATE if text.lstrip().startswith("{{") else ""
        raise BadSetting(f"{file}: it {error}{template}") from None
    if isinstance(written, dict) and written.keys() & REPORT_FIELDS:
        raise BadSetting(f"{file}: it is a load report, and has no settings; {FORMS}")
    return _entries_of_object(str(file), written)


def _entries_of_object(place: str, written: Mapping[str, Any]) -> Iterator[Entry]:
    for name, value in written.items():
        if isinstance(value, str | int | float | None):
            yield Entry(place, name, plain_java_value(conf_text(value)))
        elif why_unknown(name) is None:
            raise BadSetting(f"{place}: {name} is {type(value).__name__}, not a single value")


def conf_text(value: str | float | None) -> str:
    """Return a single value of JSON or YAML as text, with booleans as in a broker.conf."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_java_value(text: str) -> str:
    """Convert a value printed by Java to broker.conf's format: `Optional[1.0]` becomes 1.0."""
    within = OPTIONAL.fullmatch(text)
    text = within[1] if within else text
    if text in ABSENT:
        return ""
    return text[1:-1].replace(", ", ",") if text.startswith("[") else text


def _entries_of_environment(file: Path, text: str) -> Iterator[Entry]:
    """Yield the settings of an environment file; variables with Pulsar's prefix come last."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not COMMENT.match(line):
            found.append((f"{file}:{number}", name.strip(), _strip_quotes(value.strip())))
    return _entries_of_variables(found)


def _entries_of_variables(variables: list[tuple[str, str, str]]) -> Iterator[Entry]:
    """Yield variables as settings; variables with the prefix come last, as in Pulsar's images."""
    for place, name, value in sorted(variables, key=lambda one: one[1].startswith(PREFIX)):
        yield Entry(place, name.removeprefix(PREFIX), value, not name.startswith(PREFIX))


def _strip_quotes(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def files_in_force(
    args: argparse.Namespace, reported: str, *, released: bool
) -> SettingsRead | None:
    """Return the settings of files, as the release reads them if `released`, else as documented.

    `reported` is the version in the brokers' own data, or empty. Errors: as `read_in_force`.
    """
    given = {"profile": args.profile, "release": args.release, "reported": [reported]}
    version = version_for_settings(args.conf, **given) or None
    return _checked_as_readable(read_in_force(args.conf, args.dynamic, version, as_broker=released))


def settings_of_cluster(
    args: argparse.Namespace,
    place: str,
    runtime: Mapping[str, Any],
    version: str,
    *,
    released: bool,
) -> SettingsRead | None:
    """Return the settings from files or, if there are none, from the running cluster at `place`.

    Return None if there is neither. `version` is the version that the brokers run.

    Errors: as `files_in_force`, and `BadSnapshot` if --dynamic is given for a running cluster.
    """
    if args.url and args.dynamic:
        raise BadSnapshot(
            f"{args.url}: its configuration already includes dynamic settings; drop --dynamic"
        )
    if args.conf or args.dynamic:
        return files_in_force(args, version, released=released)
    if not runtime:
        return None
    place = f"{place}, runtime configuration"
    return _checked_as_readable(
        read_written_settings(place, runtime, version or None, as_broker=released)
    )


def _checked_as_readable(read: SettingsRead | None) -> SettingsRead | None:
    """Return `read` unchanged. Errors: `BadSetting` if one of its settings cannot be read."""
    for one in read.unreadable if read else ():
        raise BadSetting(f"{one.place}: {one.name}={one.why}")
    if read:
        read.check_numbers()
    return read


def value_notes(
    read: SettingsRead, beside: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield remarks on values that a broker misreads, and on values that look like mistakes.

    `beside` maps settings to text that is appended to the remark on the setting.
    """
    yield from map(str, read.misread)
    off, parts = {one.name for one in read.disabled(defaults=True)}, read.parts()
    for name, value in read.values.items():
        why = why_odd_value(name, value, "" if name in off else read.version, parts)
        if why:
            place = COMMAND_LINE if read.places[name] == COMMAND_LINE else f"{read.places[name]}:"
            yield f"{place} {read.newer_names.get(name, name)}={value}: {why}{beside.get(name, '')}"
