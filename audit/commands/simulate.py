"""`pulsar-conformance simulate`: run an implementation in a world that responds to it."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.arguments import (
    ADAPTER_HELP,
    DEFAULT_PROFILE,
    add_profile,
    add_reading,
    name_without_secret,
)
from pulsar_conformance.adapters.names import check_name
from pulsar_conformance.audit.simulation.course import SimulatedCourse
from pulsar_conformance.audit.simulation.deciding import ITSELF, PLACING, REFERENCE
from pulsar_conformance.audit.simulation.measures import measures_of
from pulsar_conformance.audit.simulation.overloads import overload_lines
from pulsar_conformance.audit.simulation.reporting import (
    course_as_json,
    moves_lines,
    simulation_lines,
    variant_table_lines,
    variant_table_page,
)
from pulsar_conformance.audit.simulation.rules import ENDLESS, loop_faults, loop_rules
from pulsar_conformance.audit.simulation.starts import USUAL_STRATEGY, Start, read_start
from pulsar_conformance.audit.simulation.variants import (
    Variant,
    profile_of_adapter,
    settings_without_effect,
    simulate_in_tasks,
    simulate_worlds,
    split_strategy,
    sweep,
    words_as_variant,
)
from pulsar_conformance.audit.simulation.worlds import BadWorld, SimulatedWorld, world_titles
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.engine.plan import chosen_readings
from pulsar_conformance.conformance.reporters import CountedProgress, OngoingWork
from pulsar_conformance.reference.answers.shedding import NEWER_STRATEGIES, STRATEGIES
from pulsar_conformance.reference.shedding import short_name
from pulsar_conformance.specs.errors import print_note, status_of, suggest_names
from pulsar_conformance.specs.text import columns

CYCLES, MAX_CYCLES = 200, 100_000
SPLITTING = "bundles.split"
DOCUMENTED_STRATEGIES = (*STRATEGIES, *NEWER_STRATEGIES)
"""The strategies that some document describes."""

ONLY_DOCUMENTED = re.compile(rf"{REFERENCE}|pulsar:[\w.-]+")
"""Pattern of the names of adapters that offer only `DOCUMENTED_STRATEGIES`.

It does not match `pulsar:` with options, since these may add classes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for implementations, worlds, comparisons and output."""
    worlds = columns([("", name, title) for name, title in world_titles().items()])
    parser.epilog = "\n".join(["worlds:", *worlds, "", parser.epilog or ""])
    parser.add_argument(
        "adapter",
        nargs="?",
        default="reference",
        type=name_without_secret,
        metavar="ADAPTER",
        help=f"{ADAPTER_HELP} (%(default)s)",
    )
    parser.add_argument(
        "--world",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help="one of the worlds below, `all` of them, or a YAML file with a world; repeatable",
    )
    parser.add_argument(
        "--reports",
        type=Path,
        metavar="DIR",
        help="start from load reports of a real cluster, in any form that `case` accepts",
    )
    parser.add_argument(
        "--metrics",
        type=Path,
        metavar="FILE",
        help="start from metrics of a real cluster, in any form that `case` accepts",
    )
    parser.add_argument(
        "--from",
        dest="url",
        metavar="URL",
        help="start from the running cluster with this admin URL; the cluster is only read",
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="the name of the cluster, if there are several at URL"
    )
    parser.add_argument(
        "--bundle-data", type=Path, metavar="DIR", help="the bundle data of a real cluster"
    )
    parser.add_argument(
        "--conf",
        type=Path,
        metavar="FILE",
        help="the settings of a real cluster, in any form that `case` accepts",
    )
    parser.add_argument(
        "--history",
        type=Path,
        metavar="PATH",
        help="start from a recorded history and replay its loads",
    )
    parser.add_argument(
        "--strategy",
        metavar="STRATEGY",
        help="the shedding strategy (the one in the settings, or else ThresholdShedder)",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the cluster; repeatable",
    )
    parser.add_argument(
        "--place",
        choices=tuple(PLACING),
        default=ITSELF,
        help="how a broker is chosen for each unloaded bundle: "
        + "; ".join(f"{name}: {what}" for name, what in PLACING.items())
        + " (%(default)s)",
    )
    parser.add_argument(
        "--compare",
        action="append",
        default=[],
        metavar="WORDS",
        help="also simulate this variant: [ADAPTER] [strategy=NAME] [profile=NAME] "
        "[SETTING=VALUE ...]; repeatable",
    )
    parser.add_argument(
        "--sweep",
        metavar="SETTING=A..B/STEP",
        help="simulate each of these values of a setting",
    )
    add_profile(
        parser,
        "the documents or release that the reference follows (the release in the reports, or else "
        f"{DEFAULT_PROFILE})",
        None,
    )
    add_reading(parser, "the reading that the reference follows")
    parser.add_argument(
        "--cycles", type=int, default=CYCLES, metavar="N", help="number of cycles (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the seed of random loads (%(default)s)"
    )
    parser.add_argument(
        "--smallest",
        nargs="?",
        const=ENDLESS,
        metavar="RULE",
        help="search for the smallest cluster that violates a rule about the long run, and show "
        "its cycles (without RULE: %(const)s, unloads never end)",
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=200,
        metavar="N",
        help="number of clusters to draw for --smallest (%(default)s)",
    )
    parser.add_argument(
        "--spark",
        metavar="TARGET",
        help="run each simulation of --compare, --sweep and several worlds as a Spark task at "
        "TARGET: local[N], spark://HOST:PORT or sc://HOST:PORT",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--moves", action="store_true", help="also print every move of a bundle")
    parser.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="write the results as JSON and as a Markdown page",
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page with charts")


def run(args: argparse.Namespace) -> int:
    """Print the results; return 1 if a `must` rule is violated, 2 on failure."""
    return status_of(lambda: _run(args), AdapterError)


def _split_settings_note(
    variants: Iterable[Variant], worlds: Iterable[SimulatedWorld]
) -> Iterator[str]:
    """Yield a note on settings about splitting if a world never splits bundles."""
    rules = specs.load().rules.values()
    about = (one for one in rules if any(name.startswith(SPLITTING) for name in one.operations))
    named = {name for one in about for name in one.settings}
    given = named & {name for one in variants for name in one.settings}
    if given and not all(world.topics_each_cycle for world in worlds):
        verb = "has" if len(given) == 1 else "have"
        why = "in this world no topics are added, so that no bundle is split"
        yield f"{', '.join(sorted(given))} {verb} no effect: {why}"


def _run(args: argparse.Namespace) -> int:
    if not 1 <= args.cycles <= MAX_CYCLES:
        raise BadWorld(f"--cycles {args.cycles}: give a number from 1 to {MAX_CYCLES}")
    if args.moves and args.smallest:
        raise BadWorld("--moves cannot be combined with --smallest, which always shows moves")
    args.strategy = args.strategy and short_name(args.strategy)
    if ONLY_DOCUMENTED.fullmatch(args.adapter) and args.strategy not in (
        None,
        "",
        *DOCUMENTED_STRATEGIES,
    ):
        choice = suggest_names(args.strategy, DOCUMENTED_STRATEGIES)
        raise BadWorld(f"{args.adapter}: it does not offer {args.strategy}; {choice}")
    if args.smallest:
        return _search(args)
    start = read_start(args)
    worlds, variants = start.worlds, variants_of(args, start)
    idle: list[str] = []
    if args.sweep:
        variants, idle = sweep(args.sweep, variants, worlds)
    late = filter(None, (world.events_after(args.cycles) for world in worlds))
    unused = (
        note
        for variant in variants
        for world in worlds
        for note in settings_without_effect(variant, world)
    )
    whole = _split_settings_note(variants, worlds)
    lacking = {f"--setting {name}: {why}" for name, why in variants[0].lacking_settings.items()}
    known = (note for world in worlds for note in world.notes if note not in lacking)
    for note in dict.fromkeys((*known, *late, *unused, *whole, *idle)):
        print_note(note)
    readings = chosen_readings(args.reading)
    if args.spark:
        progress = CountedProgress(len(variants) * len(worlds), "simulation")
        courses = simulate_in_tasks(
            args.spark, variants, worlds, args.cycles, readings, progress.show
        )
    else:
        courses = []
        with OngoingWork() as work:
            for variant in variants:
                work.show(f"simulating {variant.name}")
                courses += simulate_worlds(variant, worlds, args.cycles, readings)
    alone = len(courses) == 1
    over = list(overload_lines(courses[0], variants[0], readings)) if alone else []
    for line in _output_lines(args, courses, worlds, over):
        print(line)
    if args.publish:
        _publish(args.publish, courses)
    if args.page:
        from pulsar_conformance.audit.simulation.page import write_simulation_page

        write_simulation_page(courses, args.page)
    faults = (fault for course in courses for fault in loop_faults(course))
    return int(any(fault.verdict == "fail" for fault in faults))


def _publish(folder: Path, courses: list[SimulatedCourse]) -> None:
    """Write the results to a folder, as JSON and as a page in Markdown. Errors: `BadWorld`."""
    records = [course_as_json(one) for one in courses]
    page = variant_table_page(records, _command())
    _write(folder, {"simulations.json": as_text(records), "README.md": page})


def _command() -> str:
    return shlex.join(("pulsar-conformance", *sys.argv[1:]))


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files to a folder. Errors: `BadWorld`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as wrong:
        raise BadWorld(f"--publish {folder}: it cannot be written: {wrong.strerror}") from None


def as_text(records: list[dict[str, Any]]) -> str:
    """Format records as indented JSON."""
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


def _search(args: argparse.Namespace) -> int:
    """Show the smallest cluster that violates a rule; return 0 even if none is found."""
    from pulsar_conformance.audit.simulation.smallest import page, search

    rule = args.smallest
    if rule not in loop_rules():
        known = ", ".join(loop_rules())
        raise BadWorld(
            f"--smallest {rule}: choose a rule from {known}; if {rule} is the adapter, give it "
            "before --smallest"
        )
    if args.world or args.history or args.reports or args.metrics or args.url:
        raise BadWorld(
            "--smallest draws its own clusters, so it cannot be combined with --world, --history, "
            "--reports, --metrics or --from"
        )
    if args.sweep:
        raise BadWorld(
            "--smallest runs one search per variant, not one per swept value, so it cannot be "
            "combined with --sweep"
        )
    if args.spark:
        raise BadWorld(
            "--smallest cannot be combined with --spark: each cluster that it draws depends on the "
            "results of the previous ones"
        )
    if args.examples < 1:
        raise BadWorld(f"--examples {args.examples}: at least one cluster must be drawn")
    variants = variants_of(args, Start([], USUAL_STRATEGY, None))
    readings = chosen_readings(args.reading)
    searched = page.none_found_text(rule, args.examples, args.cycles)
    found: dict[str, search.SmallestCluster | None] = {}
    cycle_texts: dict[str, list[str]] = {}
    for variant in variants:
        with OngoingWork() as work:
            work.show(f"searching with {variant.name}")
            one = search.search_with_variant(
                rule, variant, readings, args.cycles, args.seed, args.examples
            )
        found[variant.name] = one
        if one is None:
            print(f"{variant.name}: {searched}")
            continue
        profiles = dict.fromkeys((variant.released or variant.profile, variant.profile))
        cycle_texts[variant.name] = list(page.cycle_lines(one, list(profiles)))
        for line in (*simulation_lines([one.course]), "", *cycle_texts[variant.name]):
            print(line)
    if args.publish:
        records = [one.as_json() for one in found.values() if one]
        text = page.smallest_page(rule, found, cycle_texts, _command(), searched)
        _write(args.publish, {"loops.json": as_text(records), "README.md": text})
    return 0


def _output_lines(
    args: argparse.Namespace,
    courses: list[SimulatedCourse],
    worlds: list[SimulatedWorld],
    over: list[str],
) -> Iterator[str]:
    """Yield the lines of the results or, with `--json`, a single JSON text.

    `over` are lines about brokers that stay overloaded.
    """
    if args.json:
        yield as_text([course_as_json(one, args.moves) for one in courses]).rstrip()
        return
    if len(worlds) > 1 and len(courses) > len(worlds):
        yield from variant_table_lines([measures_of(course) for course in courses])
    yield from simulation_lines(courses)
    yield from ("", *over) if over else ()
    if args.moves:
        yield from moves_lines(courses)


def variants_of(args: argparse.Namespace, start: Start) -> list[Variant]:
    """Return the variants to compare.

    Errors: `BadWorld`, `BadSetting`, `AdapterError`, `UnknownName`.
    """
    check_name(args.adapter)
    given = given_settings(args.setting)
    strategy, settings = split_strategy(f"--strategy {args.strategy}", args.strategy, given)
    by_reports = start.profile and (profile_of_adapter(args.adapter) or start.profile)
    usual = Variant(
        args.adapter,
        args.profile or by_reports or DEFAULT_PROFILE,
        strategy or start.strategy,
        settings,
        args.place,
    )
    variants = [usual, *(words_as_variant(text, usual) for text in args.compare)]
    return list({one.deciding_values: one for one in reversed(variants)}.values())[::-1]
