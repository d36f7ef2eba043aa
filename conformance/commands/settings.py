"""`pulsar-conformance settings [PATTERN ...]`: the settings that the documents name."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from fnmatch import fnmatchcase

from pulsar_conformance.adapters.arguments import add_profile
from pulsar_conformance.specs import JSON, Setting, UnknownName, load
from pulsar_conformance.specs.text import columns, paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The patterns, and the profile whose defaults are printed."""
    parser.add_argument(
        "pattern", nargs="*", metavar="PATTERN", help="names of settings, as in '*Shedding*'"
    )
    add_profile(parser, "print the defaults of this profile (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Prints each setting; 2 for a pattern that none matches."""
    print("\n".join(_lines(args)))
    return 0


def _lines(args: argparse.Namespace) -> Iterator[str]:
    specs = load()
    defaults = specs.defaults(args.profile)
    for pattern in args.pattern:
        if not any(fnmatchcase(name, pattern) for name in specs.settings):
            raise UnknownName(pattern, "setting", specs.settings)
    for name, setting in specs.settings.items():
        if not args.pattern or any(fnmatchcase(name, pattern) for pattern in args.pattern):
            yield name
            yield from paragraph(setting.meaning, 2)
            yield from columns(
                [("  takes", _takes(setting)), ("  default", _default(name, defaults))]
            )


def _takes(setting: Setting) -> str:
    """Type, unit and bounds."""
    said = [setting.type, setting.unit or ""]
    if setting.range:
        said.append("between {:g} and {:g}".format(*setting.range))
    if setting.choices:
        said.append("one of " + ", ".join(map(str, setting.choices)))
    return ", ".join(filter(None, said))


def _default(name: str, defaults: dict[str, JSON]) -> str:
    """The profile's, as broker.conf would have it."""
    if name not in defaults:
        return "none is documented"
    value = defaults[name]
    return value or "empty" if isinstance(value, str) else json.dumps(value)
