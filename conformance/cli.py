"""The command `pulsar-conformance`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pulsar_conformance.adapters import ask, checkup, new_adapter
from pulsar_conformance.conformance.commands import (
    audit,
    case,
    diff,
    explain,
    fleet,
    judge,
    predict,
)
from pulsar_conformance.conformance.saved import FOLDER
from pulsar_conformance.specs import SpecError

COMMANDS = {
    "run": (judge, "judge implementations by the documented rules"),
    "ask": (ask, "put cases to an implementation and print its answers, unjudged"),
    "check": (checkup, "say whether an implementation keeps the adapter protocol"),
    "case": (case, "make a case out of load reports and bundle data of a real cluster"),
    "explain": (explain, "show how the model comes to its answer to a case, step by step"),
    "diff": (diff, "show the smallest cases that two implementations decide otherwise"),
    "audit": (audit, "judge what clusters did, by their recorded history"),
    "predict": (predict, "say how many decisions the model predicts, and why it misses others"),
    "fleet": (fleet, "write the history of a fleet that never was, for audits to work on"),
    "new-adapter": (new_adapter, "write a working skeleton of an adapter"),
}
SEEN = FOLDER.with_name("hypothesis")
"""What Hypothesis keeps, beside the cases that were saved."""

UNUSABLE = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; 0 all well, 1 a verdict or a difference, 2 something that can't be used."""
    parser = argparse.ArgumentParser(
        prog="pulsar-conformance",
        description="Checks load balancers against the documented rules of Apache Pulsar.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, purpose) in COMMANDS.items():
        sentence = f"{purpose[0].upper()}{purpose[1:]}."
        command = commands.add_parser(name, help=purpose, description=sentence)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    args = parser.parse_args(argv)
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(SEEN))
    try:
        status: int = args.run(args)
    except SpecError as wrong:
        print(wrong, file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; nothing more can be said, not even at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNUSABLE
    return status
