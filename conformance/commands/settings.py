"""`pulsar-conformance settings [PATTERN ...]` lists settings; with a FILE, it explains the file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_conformance.adapters.arguments import add_profile
from pulsar_conformance.specs import JSON, Setting, UnknownName, load
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import columns, counted, paragraph

PACKAGE = "org.apache.pulsar.broker.loadbalance.impl."

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.settings import SettingsRead


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The patterns and the profile whose defaults are printed, or a file and a release."""
    parser.add_argument(
        "pattern",
        nargs="*",
        metavar="PATTERN|FILE",
        help="names of settings, as in '*Shedding*'; or one file with settings, such as a "
        "broker.conf, to explain: what is in force, and what has no effect",
    )
    add_profile(parser, "print the defaults of this profile (%(default)s)")
    parser.add_argument(
        "--release", metavar="VERSION", help="the version of Pulsar that reads FILE, such as 4.0.3"
    )
    parser.add_argument("--json", action="store_true", help="print the explanation of FILE as JSON")


def run(args: argparse.Namespace) -> int:
    """Print settings, or explain a file; return 1 if something in the file has no effect."""
    files = [one for one in args.pattern if "/" in one or Path(one).is_file()]
    if files:
        if len(args.pattern) > 1:
            raise UserError(f"{' '.join(args.pattern)}: name one file and no patterns")
        return _explain_file(Path(files[0]), args.release, args.json)
    if args.release or args.json:
        raise UserError("--release and --json are for a FILE, such as a broker.conf")
    print("\n".join(_lines(args)))
    return 0


def _explain_file(file: Path, release: str | None, as_json: bool) -> int:
    from pulsar_conformance.conformance.cases.settings_files import read_settings

    found = read_settings(file, release)
    if as_json:
        print(json.dumps(_as_json(found), indent=1))
    else:
        print("\n".join(_explanation(found)))
    return int(bool(found.without_effect()))


def _compared_with(found: SettingsRead) -> str:
    """Return the release whose defaults count: the one that reads the file, or the newest."""
    from pulsar_conformance.specs.broker import releases

    return found.released or releases()[-1]


def _in_force(found: SettingsRead) -> dict[str, tuple[Any, Any]]:
    """Return the value in force of each setting that has an effect, and the release's default."""
    from pulsar_conformance.specs.broker import broker_settings

    release = _compared_with(found)
    without = {one.name for one in found.without_effect() if one.name in found.values}
    known = broker_settings()
    return {
        name: (value, known[name].default(release) if name in known else None)
        for name, value in found.values.items()
        if name not in without
    }


def _defaults(found: SettingsRead) -> Mapping[str, Any]:
    """Return the defaults of the settings of the release that the file leaves out."""
    from pulsar_conformance.specs.broker import broker_settings

    release = _compared_with(found)
    respelt = {one.replaces for one in broker_settings().values() if one.is_in(release)}
    return {
        name: setting.default(release)
        for name, setting in broker_settings().items()
        if setting.is_in(release)
        and name not in found.values
        and name not in respelt
        and setting.replaces not in found.values
    }


def _explanation(found: SettingsRead) -> Iterator[str]:
    release = _compared_with(found)
    in_force = _in_force(found)
    if found.older:
        yield from paragraph(
            f"{found.older} is older than {release}, the oldest release whose settings are known; "
            "it may lack some of these"
        )
    yield f"in force, with the defaults of Pulsar {release}"
    for name, (value, default) in in_force.items():
        apart = "" if value == default else f"; the default is {_short(default)}"
        text = f"{name} = {_short(value)} ({found.places[name]}{apart})"
        yield from paragraph(text, 4, "  ")
    yield ""
    without = found.without_effect()
    yield "without effect" if without else "nothing is without effect"
    for one in without:
        yield from paragraph(f"{one.name} ({one.place}): {one.why}", 4, "  ")
    yield ""
    rest = _defaults(found)
    yield from paragraph(f"not set, so the default of Pulsar {release} holds")
    for name, value in rest.items():
        yield from paragraph(f"{name} = {_short(value)}", 4, "  ")
    if found.others:
        yield ""
        yield f"not listed: {counted(found.others, 'setting')} of other parts of the broker"


def _short(value: Any) -> str:
    """Return a value as broker.conf has it, without Pulsar's own packages."""
    return _written(value).removeprefix(PACKAGE).replace(",", ", ")


def _written(value: Any) -> str:
    """Return a value as broker.conf has it."""
    if value in (None, ""):
        return "empty"
    return value if isinstance(value, str) else json.dumps(value)


def _as_json(found: SettingsRead) -> dict[str, Any]:
    return {
        "release": _compared_with(found),
        "inForce": {
            name: {"value": value, "place": found.places[name], "default": default}
            for name, (value, default) in _in_force(found).items()
        },
        "withoutEffect": [
            {"name": one.name, "place": one.place, "why": one.why} for one in found.without_effect()
        ],
        "defaults": dict(_defaults(found)),
        "others": found.others,
    }


def _lines(args: argparse.Namespace) -> Iterator[str]:
    specs = load()
    defaults = specs.defaults(args.profile)
    documents = {name for one in specs.lineage(args.profile) for name in one.documents}
    known = {**specs.annotated, **specs.settings}
    for pattern in args.pattern:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownName(pattern, "setting", known)
    for name in dict.fromkeys((*specs.settings, *known)):
        setting, annotated = known[name], specs.annotated.get(name, known[name])
        named = name in specs.settings or documents.intersection(annotated.documents)
        matches = any(fnmatchcase(name, pattern) for pattern in args.pattern)
        if matches or (named and not args.pattern):
            yield name
            yield from paragraph(setting.meaning, 2)
            facts = (
                ("  takes", _takes(setting)),
                ("  default", _default(name, defaults)),
                *_annotated(annotated, documents),
            )
            yield from columns(facts)


def _annotated(setting: Setting, documents: set[str]) -> Iterator[tuple[str, str]]:
    """Yield what the annotations among some documents say of a setting."""
    if setting.dynamic is None or not documents.intersection(setting.documents):
        return
    yield "  dynamic", "yes" if setting.dynamic else "no; it holds from the start of a broker on"
    if documents.intersection(setting.deprecated_in):
        instead = f"; {setting.replaced_by} replaces it" if setting.replaced_by else ""
        yield "  deprecated", f"yes{instead}"


def _takes(setting: Setting) -> str:
    """Return type, unit and bounds."""
    said = [setting.type, setting.unit or ""]
    if setting.range:
        said.append("between {:g} and {:g}".format(*setting.range))
    if setting.choices:
        said.append("one of " + ", ".join(map(str, setting.choices)))
    return ", ".join(filter(None, said))


def _default(name: str, defaults: dict[str, JSON]) -> str:
    """Return the profile's default, as broker.conf would have it."""
    return _written(defaults[name]) if name in defaults else "none is documented"
