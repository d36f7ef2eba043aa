"""Arguments that several commands share: adapter, profile, readings and time limit."""

import argparse
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pulsar_conformance.adapters.connection import Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import check_no_secret
from pulsar_conformance.specs import load
from pulsar_conformance.specs.errors import UserError, print_note

STANDARD_INPUT = "-"
"""The argument that stands for standard input in place of a file."""

DEFAULT_PROFILE = "documented-3.0"
RELEASE_IN_NAME = re.compile(r"(?:pulsar|cluster):(\d+\.\d+\.\d+(?:[.-][\w.-]+)?)(?:,|$)")
"""Pattern of the adapter names that contain a version of Pulsar."""

LINE_OF_RELEASES = re.compile(r"v?(\d+\.\d+)(?:\.[xX*]?)?")
"""Pattern of a release line, such as 4.2 or 4.2.x."""

WHOLE_VERSION = re.compile(r"v?\d+\.\d+\.\d+(?:[.+_-][\w.+-]+)?")
"""Pattern of a complete version, such as 4.2.4, 5.0.0-M1 or a vendor's 4.2.4.1."""

ADAPTER_HELP = (
    "an implementation: reference, spark, sample:java, sample:javascript, sample:go, 'exec:COMMAND "
    "ARG ...', python:MODULE:NAME, pulsar:VERSION, cluster:VERSION or cluster:URL, in the "
    "forms below"
)
TIME_LIMIT_HELP = (
    f"seconds that a batch of cases may take ({Limits().base:g}; 120 for pulsar, 600 for cluster); "
    f"each case adds a {Limits().base / Limits().per_case:.0f}th of that, and the start may take "
    f"{Limits().start / Limits().base:g} times as long"
)
UNUSABLE_STATUS = 2
"""Exit status for an unusable adapter or input."""


class BadReading(UserError):
    """Raised for a `--reading` that is not of the form NAME=VALUE."""


def add_adapter(parser: argparse.ArgumentParser) -> None:
    """Add the argument ADAPTER, the implementation to ask."""
    parser.add_argument("adapter", type=name_without_secret, metavar="ADAPTER", help=ADAPTER_HELP)


def name_without_secret(name: str) -> str:
    """Return an adapter's name; reject one with a secret, since messages show names."""
    try:
        check_no_secret(name)
    except AdapterError as wrong:
        raise argparse.ArgumentTypeError(wrong.problem) from None
    return name


def add_profile(
    parser: argparse.ArgumentParser, help_text: str, default: str | None = DEFAULT_PROFILE
) -> None:
    """Add `--judge-by` and its alias `--profile`."""
    parser.add_argument(
        "--judge-by",
        "--profile",
        dest="profile",
        default=default,
        metavar="PROFILE",
        help=help_text,
    )


def released_version(text: str) -> str:
    """Return the version of Pulsar that a text such as 3.0, 3.0.x or 3.0.7 means.

    A release line such as 3.0 means the newest examined version of that line; a note names this
    version. Errors: `argparse.ArgumentTypeError` for text that is neither a release line nor a
    version.
    """
    from pulsar_conformance.specs.judged import newest_of_line

    line = LINE_OF_RELEASES.fullmatch(text)
    if not line and not WHOLE_VERSION.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text} is not a version of Pulsar; give a release line, such as 4.2, or a full "
            "version, such as 4.2.4"
        )
    version = newest_of_line(line[1]) if line else text
    if version != text:
        print_note(
            f"Pulsar {text} means {version} here; for another patch release, give its full version"
        )
    return version


def add_dynamic(parser: argparse.ArgumentParser) -> None:
    """Add `--dynamic`, a file with dynamic settings."""
    parser.add_argument(
        "--dynamic",
        type=Path,
        metavar="FILE",
        help="dynamic settings, which override those of the file: the JSON that pulsar-admin "
        "brokers get-all-dynamic-config prints",
    )


def add_reading(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add the repeatable `--reading`."""
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=f"{help_text}; repeatable",
    )


def add_judging_options(
    parser: argparse.ArgumentParser, default: str | None = DEFAULT_PROFILE
) -> None:
    """Add `--judge-by`, `--reading` and `--time-limit`.

    If `default` is None, the case files or the adapter determine the default profile.
    """
    unnamed = f"for a Pulsar release, that of its line; for others, {DEFAULT_PROFILE}"
    usual = "%(default)s" if default else f"the one that the files name; otherwise, {unnamed}"
    add_profile(
        parser,
        f"the profile to judge by; the command `profiles` lists them ({usual})",
        default,
    )
    add_reading(parser, "follow this alternative of a reading")
    parser.add_argument(
        "--time-limit", type=parse_seconds, default=None, metavar="SECONDS", help=TIME_LIMIT_HELP
    )


def add_drawing_options(parser: argparse.ArgumentParser) -> None:
    """Add `--operation`, `--examples` and `--seed`, which determine the drawn questions."""
    parser.add_argument(
        "--operation",
        action="append",
        metavar="OPERATION",
        help="use only this operation, such as shed.select; repeatable",
    )
    for name, default, what in (
        ("--examples", 30, "number of cases to draw for each rule"),
        ("--seed", 0, "the seed; the same seed draws the same cases"),
    ):
        parser.add_argument(
            name, type=int, default=default, metavar="N", help=f"{what} (%(default)s)"
        )


def profile_of_version(adapters: Sequence[str]) -> str:
    """Return the profile for the versions of Pulsar in all adapters' names.

    Return the default profile if an adapter has no version, or if no single profile applies to all
    versions. A version comes from an adapter's name, or from the jars in the folder that the name
    gives.
    """
    if not all(name.startswith(("pulsar:", "cluster:")) for name in adapters):
        return DEFAULT_PROFILE
    from pulsar_conformance.adapters.pulsar.versions import documents_of

    profiles = {documents_of(one) if one else DEFAULT_PROFILE for one in map(_version_of, adapters)}
    return profiles.pop() if len(profiles) == 1 else DEFAULT_PROFILE


def _version_of(adapter: str) -> str:
    """Return the version of Pulsar in an adapter's name; empty if the name contains no version."""
    from pulsar_conformance.adapters.pulsar.versions import brokers_in

    if named := RELEASE_IN_NAME.match(adapter):
        return named[1]
    kind, _, rest = adapter.partition(":")
    found = brokers_in(Path(rest.partition(",")[0])) if kind == "pulsar" else []
    return found[0] if len(found) == 1 else ""


def parse_seconds(text: str) -> float:
    """Parse a duration given as an option. Errors: `argparse.ArgumentTypeError`."""
    with suppress(ValueError):
        number = float(text)
        if math.isfinite(number) and number > 0:
            return number
    raise argparse.ArgumentTypeError(f"{text} is not a duration; give seconds, as in 60 or 0.5")


def limits_within(given: float | None) -> Limits:
    """Return the limits for a `--time-limit` in seconds; for None, the default limits."""
    return Limits() if given is None else Limits.within(given)


def readings_in_arguments(args: argparse.Namespace) -> dict[str, str]:
    """Return the readings that `--reading` arguments give, such as `{"overload-amount": "margin"}`.

    Errors: `UnknownName` for a profile, reading or value that does not exist, or for a value that
    the profile does not permit. `BadReading` for a reading without a value.
    """
    given = {}
    for text in args.reading:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadReading(f"--reading {text}: write NAME=VALUE, as in overload-amount=margin")
        given[name] = value
    specs = load()
    specs.profile(args.profile)
    specs.check_readings(given)
    specs.check_open(args.profile, given)
    return given


def profile_and_readings(args: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Return the profile, and the alternative of every reading.

    An alternative in an argument replaces the profile's default. Errors: those of
    `readings_in_arguments`.
    """
    given = readings_in_arguments(args)
    return args.profile, {**load().default_readings(args.profile), **given}
