"""`pulsar-conformance fleet`: writes the history of a fleet that never was."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, connect
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.conformance.fleet.plants import (
    OVERLOAD,
    PLANTS,
    THRESHOLD,
    UNIFORM,
    readings_for,
    settings_for,
    strategy_for,
)
from pulsar_conformance.conformance.fleet.size import (
    NOBODY,
    SHEDDING,
    BadFleet,
    Fleet,
    Told,
)
from pulsar_conformance.conformance.given_settings import BadSetting, given_settings
from pulsar_conformance.conformance.plan import BadPlan, chosen_readings
from pulsar_conformance.specs.words import counted

UNUSABLE = 2
STRATEGIES = (THRESHOLD, OVERLOAD, UNIFORM)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How large, how long, who decides, what is wrong with it, and where it goes."""
    for name, default, what in (
        ("clusters", 3, "clusters"),
        ("brokers", 40, "brokers of each cluster"),
        ("bundles", 60, "bundles of each broker at first"),
        ("hours", 24, "length of the history"),
        ("seed", 0, "another seed is another fleet"),
        ("report-minutes", 5, "from one load report of a broker to the next"),
    ):
        help_ = f"{what} (%(default)s)"
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=help_)
    parser.add_argument(
        "--interval",
        type=int,
        metavar="MINUTES",
        help="from one shedding cycle to the next, a multiple of --report-minutes (the same)",
    )
    parser.add_argument("--output", required=True, metavar="PATH", help="a folder to be made")
    parser.add_argument(
        "--format",
        choices=("json", "gzip", "parquet"),
        default="json",
        help="of the files (%(default)s)",
    )
    parser.add_argument("--strategy", choices=STRATEGIES, help=f"in the settings ({STRATEGIES[0]})")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the fleet, none where the value is left out; may be given again",
    )
    parser.add_argument(
        "--decided-by",
        default="reference",
        metavar="ADAPTER",
        help="who chooses what is unloaded: %(default)s, sample:java ...; with none, nobody does, "
        "shedding is switched off, and any size is written",
    )
    parser.add_argument(
        "--plant",
        action="append",
        default=[],
        metavar="RULE",
        help="break this rule in one cycle of the first cluster; may be given again",
    )
    parser.add_argument(
        "--reading",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="who decides takes an open place of the documents this way; may be given again",
    )
    parser.add_argument(
        "--no-cycles", action="store_true", help="leave the records of the cycles out"
    )
    parser.add_argument(
        "--damage",
        type=float,
        default=0,
        metavar="SHARE",
        help="of all lines so many are damaged copies, 0.01 for one in a hundred (%(default)s)",
    )
    parser.add_argument(
        "--spark",
        default="local[*]",
        metavar="TARGET",
        help="where Spark runs: local[N] or sc://HOST:PORT (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Writes it and says what there is; 2 where it cannot be."""
    begun = time.monotonic()
    try:
        for line in _written(args):
            print(line)
    except (AdapterError, BadFleet, BadPlan, BadSetting, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


def _written(args: argparse.Namespace) -> Iterator[str]:
    rules = tuple(dict.fromkeys(args.plant))
    told = Told(args.decided_by, rules, args.damage, args.format)
    fleet = fleet_of(args, rules)
    if args.decided_by != NOBODY:
        _try(args.decided_by, fleet.readings)
    spark = session.take(args.spark, "fleet")
    try:
        from pulsar_conformance.conformance.fleet.writing import write

        written = write(spark.session, fleet, told, args.output)
    finally:
        session.release(spark)
    yield f"{args.output}: {counted(written.lines, 'line')}"
    for kind, count in written.counts.items():
        yield f"  {kind:<12} {count:>10}"
    for name, value in fleet.readings.items():
        yield f"audit it with --reading {name}={value}"
    for rule, where in written.planted.items():
        yield f"planted {rule}, {where['cluster']}, {where['at']}:"
        yield f"  {PLANTS[rule].sentence}"


def fleet_of(args: argparse.Namespace, rules: tuple[str, ...]) -> Fleet:
    """What the arguments ask for. Errors: `BadFleet`, `BadSetting`, `specs.UnknownName`."""
    given = {SHEDDING: args.decided_by != NOBODY, **given_settings(args.setting)}
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
    )


def _try(adapter: str, readings: Mapping[str, str]) -> None:
    """Whether it can be asked, under these readings. Errors: `BadFleet`, `AdapterError`."""
    if adapter.partition(":")[0] == "spark":
        problem = "it would run within the Spark that writes the fleet"
        raise BadFleet(f"--decided-by {adapter}: {problem}; take reference or sample:java")
    with connect(adapter, DEFAULT_PROFILE, readings) as connection:
        hello = connection.hello
    if "shed.select" not in hello.operations:
        raise BadFleet(f"--decided-by {adapter}: it does not offer shed.select")
    for name, value in readings.items():
        if hello.readings.get(name, value) != value:
            followed = f"it follows {name}={hello.readings[name]}"
            raise BadFleet(f"--decided-by {adapter}: {followed}, not {value}")
