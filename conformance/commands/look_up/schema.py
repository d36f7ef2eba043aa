"""`pulsar-conformance schema OPERATION`: the JSON Schema of a question and its answer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from pulsar_conformance import specs
from pulsar_conformance.conformance.commands.look_up.lines import show
from pulsar_conformance.specs.text import columns

SHARED = ("message", "shapes")
"""The envelope of every message, and the shapes that the operations share."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The operation, or one of the schemas that all of them use."""
    parser.add_argument(
        "operation",
        nargs="?",
        metavar="OPERATION",
        help="such as shed.select; also message and shapes; without it, all are listed",
    )


def run(args: argparse.Namespace) -> int:
    """Prints a schema, or what there is; 2 for a name that there is not."""
    return show(_lines(args.operation))


def _lines(name: str | None) -> Iterator[str]:
    known = (*specs.operations(), *SHARED)
    if name is None:
        yield from columns([(one, specs.schema(_file(one))["title"]) for one in known])
        return
    if name not in known:
        raise specs.UnknownName(name, "schema of the protocol", known)
    yield json.dumps(specs.schema(_file(name)), indent=2, ensure_ascii=False)


def _file(name: str) -> str:
    return name if name in SHARED else f"operations/{name}"
