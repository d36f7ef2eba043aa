"""`pulsar-conformance run`: judges implementations, through pytest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest
from pulsar_conformance.adapters.bundled import runnable
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.conformance.commands.characterize import characterize
from pulsar_conformance.conformance.engine.plan import BadPlan
from pulsar_conformance.conformance.options import (
    ALIASES,
    OPTIONS,
    add_options,
    destination,
    plan_of,
    rules_folder,
)
from pulsar_conformance.conformance.reporters.terminal import INTERRUPTED
from pulsar_conformance.specs.words import printable

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a run; pytest gets the remaining ones, such as `-n 4`."""
    add_options(parser.add_argument, ALIASES)
    parser.add_argument(
        "pytest",
        nargs=argparse.REMAINDER,
        metavar="-- OPTIONS",
        help="options of pytest, as in -- -n 4 -v",
    )


def run(args: argparse.Namespace) -> int:
    """Judges or characterizes; returns the exit status."""
    left_out: list[str] = []
    if not args.conformance_adapter:
        args.conformance_adapter, left_out = runnable()
    try:
        plan = plan_of(args)
        if args.conformance_characterize:
            return characterize(plan)
    except (BadPlan, AdapterError) as wrong:
        return _told(str(wrong))
    out = Path(args.conformance_out)
    there = next(one for one in (out, *out.absolute().parents) if one.exists())
    if not there.is_dir():
        return _told(f"--out {out}: {there} is a file; name a folder")
    words = [str(rules_folder()), "-p", "pulsar_conformance.conformance.plugin"]
    words += ["-p", "no:cacheprovider", "-q", "--no-header", "--tb=no", "-rN", "-c", "/dev/null"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words += ["--alluredir", str(out / "allure"), "--clean-alluredir"]
    status = int(pytest.main([*words, *_options(args), *_after_dashes(args.pytest)]))
    for why in left_out:
        print(f"left out: {why}")
    return status if status < UNUSABLE or status == INTERRUPTED else UNUSABLE


def _told(wrong: str) -> int:
    print(printable(f"pulsar-conformance: {wrong}"), file=sys.stderr)
    return UNUSABLE


def _options(args: argparse.Namespace) -> list[str]:
    """The options of the run, as pytest reads them."""
    words: list[str] = []
    for flag in OPTIONS:
        value = getattr(args, destination(flag))
        for one in value if isinstance(value, list) else [value]:
            if one not in (None, False):
                words.append(f"{flag}={one}")
    return words


def _after_dashes(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words
