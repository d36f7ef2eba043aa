"""`python -m pulsar_conformance.conformance.bench`: how fast the implementations answer."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pulsar_conformance.adapters import AdapterError, Connection, Limits, connect
from pulsar_conformance.adapters.arguments import ADAPTER, DEFAULT_PROFILE
from pulsar_conformance.adapters.bundled import runnable
from pulsar_conformance.conformance.bench import layout, rates

PATIENT = Limits(start=120, base=600)
"""Whoever is slow is measured, too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Prints what was measured; 2 where an implementation cannot be used."""
    args = _arguments(argv)
    adapters, left_out = (args.adapter, []) if args.adapter else runnable()
    connections: dict[str, Connection] = {}
    try:
        for adapter in dict.fromkeys(adapters):
            connections[adapter] = connect(adapter, DEFAULT_PROFILE, {}, PATIENT)
        measured = rates.measure(connections, args.cases, args.rounds, _tell)
    except AdapterError as wrong:
        print(wrong, file=sys.stderr)
        return 2
    finally:
        for one in connections.values():
            one.close()
    names = {
        adapter: f"{one.hello.name} {one.hello.version}" for adapter, one in connections.items()
    }
    print(*layout.of_rates(measured, names), sep="\n")
    print(f"{args.cases} cases an operation, the median of at most {args.rounds} rounds")
    for why in left_out:
        print(f"left out: {why}")
    return 0


def _tell(what: str) -> None:
    print(what, file=sys.stderr)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--adapter",
        action="append",
        metavar="ADAPTER",
        help=f"{ADAPTER}; may be given again; without it, every bundled one",
    )
    parser.add_argument("--cases", type=_positive, default=1000, metavar="N")
    parser.add_argument("--rounds", type=_positive, default=3, metavar="N")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
