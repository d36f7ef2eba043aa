"""`pulsar-conformance run`: judge implementations, through pytest."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from pulsar_conformance.adapters.arguments import profile_of_version
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.conformance.cases.saved import BadCase, Campaign, load_saved
from pulsar_conformance.conformance.engine.plan import (
    ALIASES,
    CAMPAIGN_FILE_OPTION,
    OPTIONS,
    BadPlan,
    Plan,
    add_options,
    option_attribute,
    plan_of,
    rules_folder,
)
from pulsar_conformance.conformance.reporters import CountedProgress
from pulsar_conformance.conformance.reporters.terminal import INTERRUPTED
from pulsar_conformance.fixtures import bundled_path
from pulsar_conformance.specs.text import counted, paragraph

UNUSABLE = 2
CAMPAIGN = "campaign"
"""Folder for a campaign's results, within the folder of the run's results."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run; other options, such as `-n 4`, are passed to pytest."""
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
        from pulsar_conformance.adapters.bundled import runnable_adapters

        args.conformance_adapter, left_out = runnable_adapters()
    out = Path(args.conformance_out)
    there = next(one for one in (out, *out.absolute().parents) if one.exists())
    if not there.is_dir():
        raise BadPlan(f"--out {out}: {there} is a file; name a folder")
    if args.conformance_replay and Path(args.conformance_replay).is_dir():
        return _replay(args, left_out)
    if args.conformance_replay and not args.conformance_judge_by:
        case = bundled_path(args.conformance_replay)
        args.conformance_judge_by = [_profile_of(case, args.conformance_adapter)]
    plan = plan_of(args)
    if args.conformance_characterize:
        from pulsar_conformance.conformance.compare.characterization import print_characterization

        return print_characterization(plan)
    file = None
    if args.conformance_exhaustive or args.conformance_campaign is not None:
        file = _campaign_file(plan, args)
    words = [str(rules_folder()), "-p", "pulsar_conformance.conformance.plugin"]
    words += ["-p", "no:cacheprovider", "-q", "--no-header", "--tb=no", "-rN", "-c", "/dev/null"]
    # Cases may already have been drawn to find readings, before Hypothesis is loaded as a plug-in.
    words += ["-W", "ignore::hypothesis.errors.HypothesisSideeffectWarning"]
    # This plug-in of pytest would run the garbage collector over the whole memory, twice.
    words += ["-p", "no:unraisableexception"]
    words += [f"{CAMPAIGN_FILE_OPTION}={file}"] if file else []
    words += ["--alluredir", str(out / "allure"), "--clean-alluredir", "--assert=plain"]
    of_pytest = _after_dashes(args.pytest)
    if not of_pytest and not os.environ.get("PYTEST_ADDOPTS"):  # Loading plug-ins takes 0.1 s.
        words += ["--disable-plugin-autoload", "-p", "allure_pytest.plugin"]
    status = int(pytest.main([*words, *_options(args), *of_pytest]))
    for why in left_out:
        print(f"left out: {why}")
    return status if status < UNUSABLE or status == INTERRUPTED else UNUSABLE


def _replay(args: argparse.Namespace, left_out: list[str]) -> int:
    """Replay all saved cases of a folder. Errors: `BadPlan`."""
    from pulsar_conformance.conformance.compare import replay

    given = args.conformance_judge_by

    def plan_for(file: Path) -> Plan:
        """Return the plan for one case, with the profile under which it was saved."""
        options = argparse.Namespace(**vars(args))
        options.conformance_replay = str(file)
        options.conformance_judge_by = given or [_profile_of(file, args.conformance_adapter)]
        return plan_of(options)

    if args.pytest:
        raise BadPlan("--replay of a folder takes no options for pytest; remove the words after --")
    files = replay.cases_in(Path(args.conformance_replay))
    outcomes = []
    for one in replay.replay_cases(files, plan_for):
        print(one.as_text(), flush=True)
        outcomes.append(one)
    print(f"\n{len(outcomes)} replayed: {replay.count_outcomes(outcomes)}")
    print(f"outcomes: {replay.write_outcomes(outcomes, Path(args.conformance_out))}")
    for why in left_out:
        print(f"left out: {why}")
    return max(one.status for one in outcomes)


def _profile_of(file: Path, adapters: Sequence[str]) -> str:
    """Return the profile named in a saved case, or else the usual profile of the adapters."""
    named = None
    with suppress(BadCase):  # The plan reports the error.
        named = load_saved(file).profile
    return named or profile_of_version(adapters)


def _options(args: argparse.Namespace) -> list[str]:
    """Return the options of the run as arguments for pytest."""
    words: list[str] = []
    for flag in OPTIONS:
        value = getattr(args, option_attribute(flag))
        for one in value if isinstance(value, list) else [value]:
            if one not in (None, False):
                words.append(flag if one is True else f"{flag}={one}")
    return words


def _after_dashes(words: list[str]) -> list[str]:
    return words[1:] if words[:1] == ["--"] else words


def _campaign_file(plan: Plan, args: argparse.Namespace) -> Path:
    """Ask all cases of a campaign or of --exhaustive; return the file with the results.

    Errors: `BadPlan`.
    """
    from pulsar_conformance.conformance.campaign import search

    patterns, drawn = args.conformance_exhaustive or [], args.conformance_campaign
    if patterns and drawn is not None:
        raise BadPlan("--exhaustive and --campaign: choose one of them")
    if plan.replay is not None:
        raise BadPlan(
            "--replay runs a single case; it cannot be combined with --exhaustive or --campaign"
        )
    if drawn is not None and drawn < 1:
        raise BadPlan(f"--campaign {drawn}: at least one case must be drawn")
    worlds = search.worlds_matching(patterns, plan) if patterns else []
    parts = search.parts_of(plan, worlds, drawn or 0)
    for world in worlds:
        for line in paragraph(f"{world.name}: {world.size:,} cases, up to {world.bounds}", 2, ""):
            print(line)
    each = sum(one.stop - one.start for one in parts)
    for_each = "" if worlds else " for each rule"
    print(f"{counted(each, 'case')}{for_each} in {counted(len(parts), 'part')}", flush=True)
    folder = Path(args.conformance_out, CAMPAIGN)
    run_parts: search.RunParts | None = None
    starting: AbstractContextManager[None] = nullcontext()
    try:
        if args.conformance_spark:
            from pulsar_conformance.adapters.spark.tasks import (
                results_of_tasks,
                start_in_background,
            )

            run_parts = partial(results_of_tasks, args.conformance_spark)
            starting = start_in_background(args.conformance_spark)
        with starting:  # Readings are found while Spark starts.
            readings = search.readings_of(plan)
            stored = search.StoredParts(folder, plan, readings, resume=args.conformance_resume)
            progress = CountedProgress(len(parts), "part")
            found = search.search(plan, parts, readings, stored, run_parts, progress.show)
    except AdapterError as error:
        raise BadPlan(str(error)) from None
    found = {**search.empty_results(plan, worlds), **found}
    about = {"exhaustive": [one.name for one in worlds]} if worlds else {CAMPAIGN: drawn}
    file = folder / "results.json"
    file.write_text(json.dumps(Campaign({**about, "cases": each}, found).as_json()), "utf-8")
    reached = len(readings) == len(plan.adapters) * len(plan.profiles)
    if worlds and reached and not any(one.faults for one in found.values()):
        bounds = "; ".join(one.bounds for one in worlds)
        print("\n".join(paragraph(f"no counterexample up to {bounds}", 0, "")))
    return file
