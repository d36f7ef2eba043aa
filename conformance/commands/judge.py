"""`pulsar-conformance run`: judge implementations, through pytest."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

import pytest
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.cases.saved import BadCase, load_saved
from pulsar_conformance.conformance.engine.plan import (
    ALIASES,
    OPTIONS,
    BadPlan,
    Plan,
    add_options,
    destination,
    plan_of,
    rules_folder,
)
from pulsar_conformance.conformance.reporters.terminal import INTERRUPTED
from pulsar_conformance.fixtures import shipped

UNUSABLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run; all others are passed to pytest, such as `-n 4`."""
    add_options(parser.add_argument, ALIASES)
    parser.add_argument(
        "pytest",
        nargs=argparse.REMAINDER,
        metavar="-- OPTIONS",
        help="options for pytest, as in -- -n 4 -v",
    )


def run(args: argparse.Namespace) -> int:
    """Judge or characterize implementations; return the exit status."""
    left_out: list[str] = []
    if not args.conformance_adapter:
        from pulsar_conformance.adapters.bundled import runnable

        args.conformance_adapter, left_out = runnable()
    out = Path(args.conformance_out)
    there = next(one for one in (out, *out.absolute().parents) if one.exists())
    if not there.is_dir():
        raise BadPlan(f"--out {out}: {there} is a file; name a folder")
    if args.conformance_replay and Path(args.conformance_replay).is_dir():
        return _replay(args, left_out)
    if args.conformance_replay and not args.conformance_judge_by:
        args.conformance_judge_by = [_profile_of(shipped(args.conformance_replay))]
    plan = plan_of(args)
    if args.conformance_characterize:
        from pulsar_conformance.conformance.compare.characterization import print_characterization

        return print_characterization(plan)
    words = [str(rules_folder()), "-p", "pulsar_conformance.conformance.plugin"]
    words += ["-p", "no:cacheprovider", "-q", "--no-header", "--tb=no", "-rN", "-c", "/dev/null"]
    words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    words += [
        "-p",
        "no:unraisableexception",
    ]  # The garbage collector would search the whole memory, twice.
    words += ["--alluredir", str(out / "allure"), "--clean-alluredir"]
    status = int(pytest.main([*words, *_options(args), *_after_dashes(args.pytest)]))
    for why in left_out:
        print(f"left out: {why}")
    return status if status < UNUSABLE or status == INTERRUPTED else UNUSABLE


def _replay(args: argparse.Namespace, left_out: list[str]) -> int:
    """Replay every saved case of a folder. Errors: `BadPlan`."""
    from pulsar_conformance.conformance.compare import replay

    given = args.conformance_judge_by

    def plan_for(file: Path) -> Plan:
        """Return the plan for one case, with the profile under which the case was saved."""
        options = argparse.Namespace(**vars(args))
        options.conformance_replay = str(file)
        options.conformance_judge_by = given or [_profile_of(file)]
        return plan_of(options)

    if args.pytest:
        raise BadPlan("--replay of a folder takes no options for pytest; remove the words after --")
    files = replay.cases_in(Path(args.conformance_replay))
    outcomes = []
    for one in replay.replayed(files, plan_for):
        print(one.line(), flush=True)
        outcomes.append(one)
    print(f"\n{len(outcomes)} replayed: {replay.count_outcomes(outcomes)}")
    print(f"outcomes: {replay.write_outcomes(outcomes, Path(args.conformance_out))}")
    for why in left_out:
        print(f"left out: {why}")
    return max(one.status for one in outcomes)


def _profile_of(file: Path) -> str:
    """Return the profile that a saved case names, or else the default one."""
    with suppress(BadCase):  # The plan reports the error.
        return load_saved(file).profile or DEFAULT_PROFILE
    return DEFAULT_PROFILE


def _options(args: argparse.Namespace) -> list[str]:
    """Return the options of the run in the form that pytest takes."""
    words: list[str] = []
    for flag in OPTIONS:
        value = getattr(args, destination(flag))
        for one in value if isinstance(value, list) else [value]:
            if one not in (None, False):
                words.append(f"{flag}={one}")
    return words


def _after_dashes(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words
