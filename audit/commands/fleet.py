"""`pulsar-conformance fleet`: generate the history of a fleet of clusters."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE, add_reading
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.audit.fleet.plants.plants import (
    OVERLOAD,
    PLANTED_VIOLATIONS,
    THRESHOLD,
    UNIFORM,
    readings_for,
    settings_for,
    strategy_for,
)
from pulsar_conformance.audit.fleet.shape import VERSION
from pulsar_conformance.audit.fleet.size import (
    AUTO_UNLOAD,
    NO_ADAPTER,
    SHEDDING_ENABLED,
    BadFleet,
    Fleet,
    HistoryOptions,
)
from pulsar_conformance.audit.fleet.troubles import TROUBLES
from pulsar_conformance.conformance.cases.setting_types import BadSetting
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.setting_names import why_unknown
from pulsar_conformance.specs.text import counted

UNUSABLE, INTERRUPTED = 2, 130
STRATEGIES = (THRESHOLD, OVERLOAD, UNIFORM)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the fleet, its history, the deciding implementation, violations and
    output.
    """
    for name, default, what in (
        ("clusters", 3, "number of clusters"),
        ("brokers", 40, "number of brokers of each cluster"),
        ("bundles", 60, "initial number of bundles of each broker"),
        ("hours", 24, "length of the history"),
        ("seed", 0, "the seed; a different seed generates a different history"),
        ("report-minutes", 5, "the time between two load reports of a broker"),
    ):
        help_ = f"{what} (%(default)s)"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=help_)
    parser.add_argument(
        "--interval",
        type=int,
        metavar="MINUTES",
        help="the time between two shedding cycles, a multiple of --report-minutes (by default, "
        "the same)",
    )
    parser.add_argument("--output", required=True, metavar="PATH", help="the folder to create")
    parser.add_argument(
        "--format",
        choices=("json", "gzip", "parquet"),
        default="json",
        help="the format of the files (%(default)s)",
    )
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        metavar="STRATEGY",
        help=f"the strategy: {', '.join(STRATEGIES[:-1])} or {STRATEGIES[-1]} ({STRATEGIES[0]})",
    )
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the fleet; NAME= removes the setting; repeatable",
    )
    parser.add_argument(
        "--decided-by",
        default="reference",
        metavar="ADAPTER",
        help="the implementation that decides what is unloaded, such as sample:java, or `none` to "
        "turn shedding off, which generates a history of any size fast (%(default)s)",
    )
    parser.add_argument(
        "--plant",
        action="append",
        default=[],
        metavar="RULE",
        help="break this rule in one cycle of the first cluster; repeatable",
    )
    parser.add_argument(
        "--trouble",
        action="append",
        default=[],
        choices=tuple(TROUBLES),
        metavar="NAME",
        help=f"problems of running clusters that break no rule: {', '.join(TROUBLES)}; repeatable",
    )
    parser.add_argument(
        "--jitter",
        type=int,
        default=0,
        metavar="SECONDS",
        help="the maximum delay of each load report, in seconds (%(default)s)",
    )
    add_reading(parser, "the reading that the deciding implementation follows")
    parser.add_argument("--no-cycles", action="store_true", help="omit the records of cycles")
    parser.add_argument(
        "--damage",
        type=float,
        default=0,
        metavar="SHARE",
        help="the share of lines that are damaged copies, such as 0.01 (%(default)s)",
    )
    parser.add_argument(
        "--spark",
        default="local[*]",
        metavar="TARGET",
        help="where Spark runs: local[N] or sc://HOST:PORT (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the history and print a summary; return 2 on failure."""
    begun = time.monotonic()
    try:
        for line in _write_history(args):
            print(line)
    except (AdapterError, BadFleet, BadPlan, BadSetting, specs.UnknownName) as wrong:
        print_note(wrong)
        return UNUSABLE
    except KeyboardInterrupt:
        told = f"stopped; the history in {args.output} is incomplete: remove it"
        print_note(told)
        return INTERRUPTED
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


def _write_history(args: argparse.Namespace) -> Iterator[str]:
    """Write the history; yield the lines of the summary."""
    rules = tuple(dict.fromkeys(args.plant))
    for name in given_settings(args.setting):
        if why := why_unknown(name, VERSION):
            print_note(f"--setting {name}: {why}")
    options = HistoryOptions(args.decided_by, rules, args.damage, args.format)
    fleet = fleet_of(args, rules)
    if args.decided_by != NO_ADAPTER:
        _check_readings(args.decided_by, fleet.readings)
    with session.spark_acquired(args.spark, "fleet") as spark:
        from pulsar_conformance.audit.fleet.writing import write_history

        written = write_history(spark.session, fleet, options, args.output)
    yield f"{args.output}: {counted(written.lines, 'line')}"
    for kind, count in written.counts.items():
        yield f"  {kind:<12} {count:>10}"
    for name, value in fleet.readings.items():
        yield f"audit it with --reading {name}={value}"
    for rule, where in written.planted.items():
        yield f"planted {rule}, {where['cluster']}, {where['at']}:"
        yield f"  {PLANTED_VIOLATIONS[rule].sentence}"
        if undetected := PLANTED_VIOLATIONS[rule].why_undetected(fleet.cycles):
            yield f"  {undetected}"


def fleet_of(args: argparse.Namespace, rules: tuple[str, ...]) -> Fleet:
    """Return the fleet that the arguments describe. Errors: `BadFleet`, `BadSetting`,
    `UnknownName`.
    """
    decided = args.decided_by != NO_ADAPTER
    given = {SHEDDING_ENABLED: decided, AUTO_UNLOAD: decided, **given_settings(args.setting)}
    return Fleet(
        clusters=args.clusters,
        brokers=args.brokers,
        bundles=args.bundles,
        hours=args.hours,
        seed=args.seed,
        report=args.report_minutes,
        interval=args.report_minutes if args.interval is None else args.interval,
        cycles=not args.no_cycles,
        strategy=strategy_for(rules, args.strategy),
        given=settings_for(rules, given),
        readings=readings_for(rules, chosen_readings(args.reading)),
        jitter=args.jitter,
        troubles=tuple(dict.fromkeys(args.trouble)),
    )


def _check_readings(adapter: str, readings: Mapping[str, str]) -> None:
    """Check that the adapter answers `shed.select` and follows these readings.

    Errors: `BadFleet`, `AdapterError`.
    """
    if adapter.partition(":")[0] == "spark":
        problem = "it cannot run within the Spark session that writes the history"
        raise BadFleet(f"--decided-by {adapter}: {problem}; choose reference or sample:java")
    with connect(adapter, DEFAULT_PROFILE, readings) as connection:
        hello = connection.hello
    if SHED.id not in hello.operations:
        problem = f"it does not offer {SHED.id}"
        raise BadFleet(f"--decided-by {adapter}: {problem}; choose reference or sample:java")
    for name, value in readings.items():
        if hello.readings.get(name, value) != value:
            followed = f"it follows {name}={hello.readings[name]}"
            hint = "change --reading or --decided-by"
            raise BadFleet(f"--decided-by {adapter}: {followed}, not {value}; {hint}")
