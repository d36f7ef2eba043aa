"""Measures implementations and the audit: `python -m bench`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pulsar_conformance.adapters import AdapterError, Connection, Limits
from pulsar_conformance.adapters.arguments import ADAPTER_HELP, DEFAULT_PROFILE
from pulsar_conformance.adapters.bundled import runnable_adapters
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.programs import spark_problem
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.audit.pipeline import spark_tuning

from bench import layout, rates

if TYPE_CHECKING:
    from bench.audits import Rounds

BROKERS, BUNDLES = 2, 3
"""The size of a cluster for which the number of cycles determines the cost."""

PATIENT = Limits(start=120, base=600)
"""Time limits that are long enough to measure slow implementations."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the measurements. Return 2 if an implementation cannot be used."""
    args = _arguments(argv)
    try:
        for part in args.parts or USUAL:
            for line in PARTS[part](args):
                print(line, flush=True)
    except AdapterError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as wrong:
        print(f"--beside {' '.join(args.beside)}: {wrong}", file=sys.stderr)
        return 2
    return 0


def _engines(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines on the cases per second of each implementation."""
    adapters, left_out = (args.adapter, []) if args.adapter else runnable_adapters()
    connections: dict[str, Connection] = {}
    try:
        for adapter in dict.fromkeys(adapters):
            connections[adapter] = connect(adapter, DEFAULT_PROFILE, {}, PATIENT)
        measured = rates.measure(connections, args.cases, args.rounds, _tell)
    finally:
        for one in connections.values():
            one.close()
    names = {name: f"{one.hello.name} {one.hello.version}" for name, one in connections.items()}
    yield from layout.of_rates(measured, names)
    yield f"{args.cases} cases an operation, the median of at most {args.rounds} rounds"
    yield from (f"left out: {why}" for why in left_out)


def _rounds(args: argparse.Namespace) -> Rounds:
    """Return the number of rounds of audits, and the command to compare them with."""
    from bench.audits import Rounds

    command = (str(Path(word).absolute()) if Path(word).is_file() else word for word in args.beside)
    return Rounds(args.audits, tuple(command))


def _audits(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines that compare an audit with its floor."""
    from bench import audits

    rounds = _rounds(args)

    def measured(spark: Any, folder: Path) -> Iterable[tuple[str, str, str]]:
        fleet = audits.fleet_of(args.brokers, args.bundles, args.hours)
        return audits.measure(spark, folder, fleet, rounds, _tell)

    yield from _on_spark(measured, f"the median of {args.audits} rounds")


def _cold(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines on whole commands, each in its own process."""
    from bench import cold

    rounds = _rounds(args)
    yield from _on_spark(
        lambda spark, folder: cold.measure(spark, folder, args.multiples, rounds, _tell),
        f"the median of {args.audits} rounds",
    )


def _cycles(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines that compare many cycles of one leader with few cycles."""
    from bench import cycles

    def measured(spark: Any, folder: Path) -> Iterable[tuple[str, str, str]]:
        fleet = cycles.fleet_of(BROKERS, BUNDLES, args.hours)
        return cycles.measure(spark, folder, fleet, _tell)

    yield from _on_spark(measured, "once, after one that is not counted")


def _days(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines that compare an audit of one more day with an audit of all days."""
    from bench import audits, days

    def measured(spark: Any, folder: Path) -> Iterable[tuple[str, str, str]]:
        fleet = audits.fleet_of(args.brokers, args.bundles, args.days * days.HOURS)
        return days.measure(spark, folder, fleet, _tell)

    yield from _on_spark(measured, "once")


def _late(args: argparse.Namespace) -> Iterator[str]:
    """Yield lines that compare an audit of one more file with an audit of all files."""
    from bench import late

    def measured(spark: Any, folder: Path) -> Iterable[tuple[str, str, str]]:
        fleet = Fleet(args.clusters, args.brokers, args.bundles, 1)
        return late.measure(spark, folder, fleet, args.files, _tell)

    yield from _on_spark(measured, "once")


Measure = Callable[[Any, Path], Iterable[tuple[str, str, str]]]


def _on_spark(measure: Measure, how_often: str) -> Iterator[str]:
    """Yield lines on a measurement that needs its own Spark session."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with (
        session.spark_acquired("local[*]", "bench", spark_tuning.LARGE_HISTORY_SETTINGS) as spark,
        tempfile.TemporaryDirectory() as folder,
    ):
        rows = list(measure(spark.session, Path(folder)))
    yield from layout.of_ratios(rows)
    yield f"{how_often}, on {spark.title}"


Part = Callable[[argparse.Namespace], Iterator[str]]


def _of_spark(part: Part) -> Part:
    """Return a part that yields only the reason why it is left out if Spark is missing."""

    def of_spark(args: argparse.Namespace) -> Iterator[str]:
        why = spark_problem()
        if why is not None:
            yield f"left out: the audit: {why}"
            return
        yield from part(args)

    return of_spark


PARTS: Mapping[str, Part] = {
    "engines": _engines,
    "audit": _of_spark(_audits),
    "cold": _of_spark(_cold),
    "cycles": _of_spark(_cycles),
    "days": _of_spark(_days),
    "late": _of_spark(_late),
}
USUAL = ("engines", "audit", "cold")
"""The parts that are measured if the command names none."""


def _tell(what: str) -> None:
    print(what, file=sys.stderr)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        choices=[*PARTS, []],
        metavar="PART",
        help="engines, audit, cold (these three if none is named), cycles, days, late",
    )
    parser.add_argument(
        "--adapter",
        action="append",
        metavar="ADAPTER",
        help=f"{ADAPTER_HELP}; may be given again; without it, every bundled one",
    )
    for name, default, what in (
        ("cases", 1000, "cases of an operation"),
        ("rounds", 3, "rounds in which implementations take turns, at most"),
        ("brokers", 25, "of the smaller history; the larger one has four times as many"),
        ("bundles", 100, "of each broker"),
        ("hours", 24, "of both histories; of the shorter one of cycles"),
        ("days", 31, "of the history that grows by its last one"),
        ("clusters", 1000, "of the history of which one file is late, for an hour"),
        ("files", 20_000, "of one report each, before one more"),
        ("audits", 1, "rounds in which audit and floor take turns"),
    ):
        help_ = f"{what} (%(default)s)"
        parser.add_argument(f"--{name}", type=_positive, default=default, metavar="N", help=help_)
    parser.add_argument(
        "--multiples",
        type=_positive,
        nargs="+",
        default=(1,),
        metavar="N",
        help="numbers of clusters of the cold histories, of 346,605 samples each (1)",
    )
    parser.add_argument(
        "--beside",
        nargs="+",
        default=(),
        metavar="WORD",
        help="a command of audit, the last option: run in a folder that has the history as fl/",
    )
    args = parser.parse_args(argv)
    if args.beside and shutil.which(args.beside[0]) is None:
        parser.error(f"--beside {args.beside[0]}: there is no such command")
    return args


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
