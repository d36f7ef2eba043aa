"""`pulsar-conformance fleet`: writes the history of a fleet that never was."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from pulsar_conformance import specs
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.conformance.fleet.size import SHEDDING, BadFleet, Fleet
from pulsar_conformance.conformance.given_settings import BadSetting, given_settings

UNUSABLE = 2
STRATEGIES = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder")
NOBODY = "none"
WIDTH = 76


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
    except (BadFleet, BadSetting, AdapterError, specs.UnknownName) as wrong:
        print(f"pulsar-conformance: {wrong}", file=sys.stderr)
        return UNUSABLE
    print(f"{time.monotonic() - begun:.0f} s")
    return 0


def _written(args: argparse.Namespace) -> Iterator[str]:
    fleet = fleet_of(args)
    if not 0 <= args.damage < 1:
        raise BadFleet(f"--damage {args.damage:g}: give a share from 0 on and below 1")
    spark = session.take(args.spark, "fleet")
    try:
        from pulsar_conformance.conformance.fleet.writing import write

        written = write(spark.session, fleet, args.output, args.format, args.damage)
    finally:
        session.release(spark)
    yield f"{args.output}: {written.lines} lines"
    for kind, count in written.counts.items():
        yield f"  {kind:<12} {count:>10}"


def fleet_of(args: argparse.Namespace) -> Fleet:
    """What the arguments ask for. Errors: `BadFleet`, `BadSetting`."""
    return Fleet(
        clusters=args.clusters,
        brokers=args.brokers,
        bundles=args.bundles,
        hours=args.hours,
        seed=args.seed,
        report=args.report_minutes,
        interval=args.interval or args.report_minutes,
        cycles=not args.no_cycles,
        strategy=args.strategy or STRATEGIES[0],
        given={SHEDDING: False, **given_settings(args.setting)},
    )
