"""The command `pulsar-conformance`."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import version
from typing import Any, TextIO, cast

from pulsar_conformance.conformance.common import WORKSPACE
from pulsar_conformance.specs.errors import UNUSABLE, complain, status_of
from pulsar_conformance.specs.text import printable

COMMANDS = {
    "run": (".judge", "judge implementations by the documented rules"),
    "ask": (
        "...adapters.ask",
        "send cases to an implementation and print its answers, without judging them",
    ),
    "check": (".check", "test whether an implementation keeps the adapter protocol"),
    "case": (".case", "make a case from load reports and bundle data of a real cluster"),
    "explain": (".explain", "show step by step how the model arrives at its answer to a case"),
    "diff": (".diff", "show the smallest cases that two implementations decide differently"),
    "changes": (
        ".changes",
        "show which decisions change between two releases of Pulsar, and where in the source",
    ),
    "audit": ("...audit.commands.audit", "judge what clusters did, from their recorded history"),
    "collect": (
        "...audit.commands.collect",
        "record the history of a running cluster for an audit",
    ),
    "watch": (
        "...audit.commands.watch",
        "record a running cluster, and keep the audit of it and its page current",
    ),
    "predict": (
        ".predict",
        "report how many decisions the model predicts, and why it misses the others",
    ),
    "fleet": (
        "...audit.commands.fleet",
        "generate the history of a fleet of clusters, to try audits on",
    ),
    "new-adapter": ("...adapters.new_adapter", "write a working skeleton of an adapter"),
    "report": (".report", "make, verify, compare and convert reports of runs"),
    "rules": (".look_up:RULES", "list the rules, or those whose IDs match"),
    "rule": (
        ".look_up:RULE",
        "show a rule: its statement, its sources, and what it depends on",
    ),
    "profiles": (".look_up:PROFILES", "list the profiles: the documents and releases to judge by"),
    "readings": (
        ".look_up:READINGS",
        "list the readings: what documents leave open, with the alternatives",
    ),
    "settings": (".settings", "list the settings that documents name, with their defaults"),
    "schema": (".look_up:SCHEMA", "print the JSON Schema of an operation of the protocol"),
}
"""Module of each command, relative to this one, or an object in it; and the command's purpose."""

SEEN = WORKSPACE / "hypothesis"
"""Folder of Hypothesis' own data, next to the saved cases."""

COLOURED = frozenset({"run"})
"""Commands whose output is pytest's, with colours; text of others is made plain there."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk or an exhausted quota."""

PACKAGE = "pulsar-conformance"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 1 for a violation or a difference, 2 for unusable input."""
    parser = argparse.ArgumentParser(
        prog="pulsar-conformance",
        description="Checks load balancers against the documented rules of Apache Pulsar.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version(PACKAGE)}")
    words = sys.argv[1:] if argv is None else argv
    given = next((word for word in words if not word.startswith("-")), "")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (_, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=_sentence(purpose))
        if name == given:
            loaded = module_of(name)
            loaded.add_arguments(command)
            command.set_defaults(run=loaded.run)
    with shown_plainly():
        args = parser.parse_args(words)
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(SEEN))
    try:
        with nullcontext() if args.command in COLOURED else shown_plainly():
            status = status_of(lambda: args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output is gone; nothing can be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNUSABLE
    except OSError as wrong:
        if wrong.errno not in FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return complain(f"cannot be written: {wrong.strerror}")
    return status


def module_of(name: str) -> Any:
    """Load the module of a command, or the object in it, with `add_arguments` and `run`."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    loaded = import_module(module, __package__)
    return getattr(loaded, attribute) if attribute else loaded


def parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of one command, to print its help."""
    parser = argparse.ArgumentParser(f"{PACKAGE} {name}", description=_sentence(COMMANDS[name][1]))
    module_of(name).add_arguments(parser)
    return parser


def _sentence(purpose: str) -> str:
    return f"{purpose[0].upper()}{purpose[1:]}."


class PlainOutput:
    """A text stream that writes unprintable characters as `\\x1b` and passes on everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text; return how much of it was given."""
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def shown_plainly() -> Iterator[None]:
    """Make standard output and standard error plain."""
    out, errors = (cast(TextIO, PlainOutput(one)) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(errors):
        yield
