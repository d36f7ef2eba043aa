"""Starts of simulations: a built-in world, a world in a file, load reports, or a recorded
history.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.audit.simulation.recorded import recorded_world
from pulsar_conformance.audit.simulation.snapshots import snapshot_world
from pulsar_conformance.audit.simulation.variants import strategy_of_settings
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    Json,
    SimulatedWorld,
    named_world,
    usual_settings,
    world_of,
    world_titles,
)
from pulsar_conformance.conformance.cases.legality import missing_setting, trial_flaw
from pulsar_conformance.conformance.cases.making import build_case
from pulsar_conformance.conformance.cases.setting_types import BadSetting, with_settings
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.cases.settings_files import conf_text
from pulsar_conformance.conformance.commands import case
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.explain.running import check_case
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.specs import UnknownName, load
from pulsar_conformance.specs.errors import similar_file
from pulsar_conformance.specs.judged import caveat_text, judged_version, nearest_profile

ALL = "all"
USUAL_STRATEGY = "ThresholdShedder"


class Start(NamedTuple):
    """The worlds to simulate, the strategy in their settings, and the profile of the reported
    version.
    """

    worlds: list[SimulatedWorld]
    strategy: str
    profile: str | None


SOURCES = "--world NAME, --reports DIR, --metrics FILE, --from URL and --history PATH"


def read_start(args: argparse.Namespace) -> Start:
    """Return the start that the arguments describe.

    Errors: `BadWorld`, and those of reading a cluster.
    """
    snapshot = args.reports or args.metrics or args.url
    given = (args.world, args.reports, args.metrics, args.url, args.history)
    if sum(map(bool, given)) != 1:
        raise BadWorld(f"give one of {SOURCES}; the worlds are {', '.join(world_titles())}")
    if (args.conf or args.bundle_data) and not snapshot:
        raise BadWorld(
            "--conf and --bundle-data need --reports, --metrics or --from; give one of these"
        )
    profile = None
    if snapshot:
        world, profile = reported_world(args)
        worlds = [world]
    elif args.history:
        world = recorded_world(args.history)
        profile = nearest_profile(world.version) if world.version else None
        worlds = [_with_recorded_ways(world) if profile and args.profile is None else world]
    else:
        names = [name for one in args.world for name in (world_titles() if one == ALL else [one])]
        worlds = [_read_world(name, args.seed) for name in dict.fromkeys(names)]
    chosen = args.strategy or strategy_of_settings(given_settings(args.setting))
    return Start(worlds, chosen or _common_strategy(worlds), profile)


def _with_recorded_ways(world: SimulatedWorld) -> SimulatedWorld:
    """Return a recorded world with the `ways` of its version, and with notes on the version."""
    judged, profile = judged_version(world.version), nearest_profile(world.version)
    told = filter(
        None, (f"Pulsar {world.version} is simulated by {profile}", caveat_text(world.version))
    )
    ways = judged.ways if judged else {}
    return replace(world, ways=ways, notes=(*world.notes, *told))


def _common_strategy(worlds: Sequence[SimulatedWorld]) -> str:
    """Return the strategy that all worlds set. Errors: `BadWorld` if they set different ones."""
    named = {world.name: strategy_of_settings(world.settings) or USUAL_STRATEGY for world in worlds}
    if len({*named.values()}) > 1:
        each = ", ".join(f"{name} has {strategy}" for name, strategy in named.items())
        raise BadWorld(f"the worlds have different strategies: {each}; choose one with --strategy")
    return next(iter(named.values()))


def _read_world(name: str, seed: int) -> SimulatedWorld:
    """Return the built-in world of this name, or the world in the file of this name. Errors:
    `BadWorld`.
    """
    file = Path(name)
    if name not in world_titles() and not file.exists() and ("." in name or file.name != name):
        hint = similar_file(file) or "; give a YAML file with a world, or the name of a world"
        raise BadWorld(f"--world {name}: there is no such file{hint}")
    if name in world_titles() or not file.exists():
        return named_world(name, seed)
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as wrong:
        raise BadWorld(f"--world {name}: it cannot be read as YAML: {wrong}") from None
    return world_of(file.stem, _with_checked_settings(file.stem, data), seed)


def _with_checked_settings(name: str, data: Any) -> Any:
    """Return the description of a world, with its settings checked like those of `--setting`.

    Errors: `BadWorld`.
    """
    if not isinstance(data, dict) or not isinstance(data.get("settings"), dict):
        return data  # `world_of` reports the mistake.
    texts = [
        f"{key}={'' if value is None else conf_text(value)}"
        for key, value in data["settings"].items()
    ]
    try:
        return {**data, "settings": given_settings(texts)}
    except (BadSetting, UnknownName) as wrong:
        problem = str(wrong).removeprefix("--setting ")
        raise BadWorld(f"{name}: settings: {problem}") from None


CASE_ARGUMENTS = ("url", "cluster", "metrics", "bundle_data", "conf", "setting", "profile")
"""Arguments with the same meaning as for the command `case`."""


def reported_world(args: argparse.Namespace) -> tuple[SimulatedWorld, str | None]:
    """Return the world of a real cluster under constant load, and the profile of its version.

    CPU and network usage grow with traffic, in the ratio of each broker's report (see
    `snapshot_world`). Errors: those of `making.build_case`.
    """
    parser = argparse.ArgumentParser()
    case.add_arguments(parser)
    known = {name: vars(args)[name] for name in CASE_ARGUMENTS}
    asked = parser.parse_args([], argparse.Namespace(**known))
    instead = [f"{STRATEGY}={args.strategy}"] if args.strategy else []
    found = build_case(asked, args.reports, what_if=instead)
    [(_, seen)] = found.trial.questions
    if args.profile is None:
        check_case(found)
    settings = {**usual_settings(), **seen["settings"]}
    _check_cluster(args, with_settings(found.trial, settings), args.profile or found.profile)
    notes = [
        *found.notes,
        *_replaced_strategy_note(args.strategy, seen["settings"], found.place),
    ]
    name = str(args.reports or args.metrics or args.url)
    world = snapshot_world(name, seen["brokers"], seen["bundles"], settings, notes)
    files = found.read if args.conf else None
    world = replace(world, ways=found.ways, version=found.release, files=files)
    return world, found.profile


def _replaced_strategy_note(chosen: str | None, settings: Json, place: str) -> Iterator[str]:
    """Yield a note if the chosen strategy differs from the cluster's own."""
    own = strategy_of_settings(settings)
    if chosen and own and own != chosen:
        yield f"--strategy {chosen} replaces {own}, the strategy by {place}"


def _check_cluster(args: argparse.Namespace, trial: Trial, profile: str | None) -> None:
    """Check that the data about a cluster do not contradict each other. Errors: `BadWorld`."""
    defaults = load().defaults(profile or DEFAULT_PROFILE)
    problem = trial_flaw(trial, defaults)
    if problem is None or missing_setting(trial, defaults):  # The simulation has its own defaults.
        return
    kind = "reports" if args.reports else "metrics"
    again = "run the command again" if args.url else f"save all {kind} again at about the same time"
    source = args.reports or args.metrics or args.url
    raise BadWorld(f"{source}: {problem.removeprefix('case.')}; {again}")
