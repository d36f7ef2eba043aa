"""What the commands of this folder share: profile, readings, and how they complain."""

import argparse
import sys

from pulsar_conformance.specs import load

DEFAULT_PROFILE = "documented-3.0"
UNUSABLE = 2
"""Exit status for an adapter or an input that can't be used."""


class BadReading(Exception):
    """A `--reading` that isn't NAME=VALUE."""


def add_judged_by(parser: argparse.ArgumentParser) -> None:
    """`--profile` and `--reading`."""
    parser.add_argument(
        "--profile", default=DEFAULT_PROFILE, help="which documents it follows (%(default)s)"
    )
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how it takes a place that the documents leave open; may be given again",
    )


def judged_by(args: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """Profile and all its readings, those that were given instead of its own.

    Raises UnknownName for a profile, reading or value that there isn't, and BadReading for a
    reading without a value.
    """
    given = {}
    for text in args.reading:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadReading(f"--reading {text}: write NAME=VALUE, as in overload-amount=margin")
        given[name] = value
    specs = load()
    readings = dict(specs.default_readings(args.profile))
    specs.check_readings(given)
    return args.profile, {**readings, **given}


def complain(error: Exception | str) -> int:
    """One message on standard error; the exit status for what can't be used."""
    print(error, file=sys.stderr)
    return UNUSABLE
