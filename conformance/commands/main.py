"""The `pulsar-conformance` command line, with all commands."""

from __future__ import annotations

import argparse
import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from pulsar_conformance.conformance.common import WORKSPACE
from pulsar_conformance.specs.errors import (
    UNUSABLE,
    UnknownName,
    UserError,
    print_mistake,
    print_note,
    status_of,
)
from pulsar_conformance.specs.text import as_sentence, paragraph, printable


@dataclass(frozen=True)
class Command:
    """A command: the module that implements it, its purpose, and examples for its help."""

    place: str
    """Name of the module, relative to this package. If the command is an object in the module,
    `:OBJECT` follows.
    """
    purpose: str
    examples: tuple[str, ...]
    """Example arguments of `pulsar-conformance` that work in a clone of the repository."""


REPORTS = "fixtures/reports/three-brokers"
COMMANDS = {
    "run": Command(
        ".judge",
        "judge implementations by the documented rules",
        (
            "run --adapter sample:java --rules 'OVERLOAD-*'",
            "run --adapter 'exec:java adapters/samples/java/Main.java'",
        ),
    ),
    "ask": Command(
        "...adapters.ask",
        "send cases to an implementation and print its answers, without judging them",
        ("ask reference fixtures/cases/shed.select/1969b24e1ae2.json",),
    ),
    "check": Command(
        ".check",
        "test whether an implementation follows the adapter protocol",
        ("check 'exec:node adapters/samples/javascript/main.mjs'",),
    ),
    "case": Command(
        ".case",
        "make a case from load reports and bundle data of a real cluster",
        (f"case {REPORTS}/modular > case.json",),
    ),
    "explain": Command(
        ".explain",
        "show step by step how the model arrives at its answer to a case",
        ("explain --example overload-95-over-85", f"explain {REPORTS}/modular"),
    ),
    "diff": Command(
        ".diff",
        "show the smallest cases that two implementations decide differently",
        ("diff reference sample:java --operation bundles.split",),
    ),
    "changes": Command(
        ".changes",
        "show which decisions change between two releases of Pulsar, and where in the source",
        ("changes 3.0.7 4.2.4 --operation shed.select --examples 10",),
    ),
    "audit": Command(
        "...audit.commands.audit",
        "judge what clusters did, from their recorded history",
        ("audit --input fixtures/history --output audited",),
    ),
    "collect": Command(
        "...audit.commands.collect",
        "record the history of a running cluster for an audit",
        ("collect http://localhost:8080 --output history --for 3600",),
    ),
    "import": Command(
        "...audit.commands.import_history",
        "write a history for an audit from saved reports, znodes, metrics and logs",
        (f"import {REPORTS}/simple --output old",),
    ),
    "watch": Command(
        "...audit.commands.watch",
        "record a running cluster, and keep its audit and the page of the audit current",
        ("watch http://localhost:8080 --output watched",),
    ),
    "predict": Command(
        ".predict",
        "report how many decisions the model predicts, and why it misses the others",
        ("predict sample:java --operation shed.select --examples 10",),
    ),
    "fleet": Command(
        "...audit.commands.fleet",
        "generate the history of a fleet of clusters, to try audits on",
        ("fleet --output fleet --clusters 1 --brokers 5 --hours 2",),
    ),
    "simulate": Command(
        "...audit.commands.simulate",
        "simulate a strategy on a cluster, cycle by cycle, and compare strategies",
        (
            "simulate --world ninety-ten",
            "simulate --world all --compare strategy=OverloadShedder",
            f"simulate --reports {REPORTS}/modular",
        ),
    ),
    "new-adapter": Command(
        "...adapters.new_adapter",
        "write a working skeleton of an adapter",
        ("new-adapter --lang python --to mine",),
    ),
    "report": Command(
        ".report",
        "make, verify, compare and convert reports of runs",
        (
            "report make --project mine --contact me@example.org",
            "report allure",
        ),
    ),
    "rules": Command(
        ".look_up:RULES", "list the rules, or those whose IDs match", ("rules 'OVERLOAD-*'",)
    ),
    "rule": Command(
        ".look_up:RULE",
        "show a rule: its statement, its sources, and what it depends on",
        ("rule OVERLOAD-02",),
    ),
    "profiles": Command(
        ".look_up:PROFILES",
        "list the profiles: the documents and releases to judge by",
        ("profiles",),
    ),
    "readings": Command(
        ".look_up:READINGS",
        "list the readings: what documents leave open, with the alternatives",
        ("readings overload-amount",),
    ),
    "settings": Command(
        ".settings",
        "list the settings that documents name, or check a broker.conf, also for an upgrade",
        ("settings '*Shedding*'", f"settings {REPORTS}/broker.conf"),
    ),
    "schema": Command(
        ".look_up:SCHEMA",
        "print the format of an operation's question and answer, as JSON Schema or an example",
        ("schema shed.select", "schema shed.select --example"),
    ),
    "completion": Command(
        ".completion",
        "print a script that completes commands and options in a shell",
        ("completion bash > pulsar-conformance.bash", "completion zsh > _pulsar-conformance"),
    ),
}

HYPOTHESIS_FOLDER = WORKSPACE / "hypothesis"
"""Folder for Hypothesis' own data, next to the saved cases."""

PROJECT_FILES = ("pulsar-conformance.toml", "pyproject.toml")
"""Files in which a project can store options."""

WITH_ADAPTER_FORMATS = frozenset({"run", "ask", "check", "diff", "predict", "simulate"})
"""Commands whose help lists the formats of an implementation's name."""

WITH_COLORS = frozenset({"run"})
"""Commands whose output comes from pytest and has colors; all others print plain text."""

SAME_AS = {"--release": ("--profile", "--judge-by"), "--judge-by": ("--profile",)}
"""For some arguments, the names that other commands use for the same argument."""

DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk or an exhausted quota."""

PACKAGE = "pulsar-conformance"


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help text that breaks lines only at spaces."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return paragraph(" ".join(text.split()), width=width)


class Parser(argparse.ArgumentParser):
    """An argument parser that takes options before, between and after the other arguments.

    Its help, and that of its subparsers, breaks lines only at spaces.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        given.setdefault("formatter_class", HelpFormatter)
        super().__init__(*args, **given)
        self._parses_in_any_order = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse arguments; return their values, and the arguments that are not known."""
        positional = [one.nargs for one in self._get_positional_actions()]
        ordered = {argparse.PARSER, argparse.REMAINDER}.intersection(positional)
        # While arguments are parsed in any order, the defaults that the help quotes are missing.
        helps = not {"-h", "--help"}.isdisjoint(args or ())
        if self._parses_in_any_order or ordered or helps or not positional:
            return super().parse_known_args(args, namespace)
        self._parses_in_any_order = True  # The method of the base class calls this one.
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._parses_in_any_order = False

    def error(self, message: str) -> NoReturn:
        """Print the usage and a wrapped message; exit with status 2."""
        self.print_usage(sys.stderr)
        print_note(f"error: {message}", f"{self.prog}: ")
        self.exit(UNUSABLE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status: 1 for a violation or difference, 2 for bad input."""
    words = sys.argv[1:] if argv is None else argv
    # Plug-ins of Hypothesis, such as Trio's, serve strategies that the suite has none of.
    os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
    given = next((word for word in words if not word.startswith("-")), "")
    with plain_streams():
        try:
            args = _parse(words, given)
        except UserError as error:
            return print_mistake(str(error))
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(HYPOTHESIS_FOLDER))
    try:
        with nullcontext() if args.command in WITH_COLORS else plain_streams():
            status = status_of(lambda: args.run(args))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of standard output has closed it; Python must not try to flush it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNUSABLE
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return print_mistake(f"cannot be written: {error.strerror}")
    return status


def _parse(words: Sequence[str], command: str) -> argparse.Namespace:
    """Parse a command line, with the options of a project file added. Errors: `UserError`."""
    if command and command not in COMMANDS:
        raise UnknownName(command, "command", COMMANDS)
    files = [file for file in PROJECT_FILES if _holds_options(file)]
    if files and (words[:1] == ["run"] or words[:2] == ["report", "make"]):
        from pulsar_conformance.conformance.commands.project import with_project_options

        words = with_project_options(files, words)
    args: argparse.Namespace
    args, unknown = whole_parser(command).parse_known_args(words)
    if unknown:
        raise UserError(_unknown_option(unknown[0], words, command))
    return args


def _holds_options(file: str) -> bool:
    """True if a file exists and may have options; a pyproject.toml must have the suite's table."""
    path = Path(file)
    table = "tool.pulsar-conformance" if file == "pyproject.toml" else ""
    return path.is_file() and table in path.read_text("utf-8", "replace")


def whole_parser(*loaded: str) -> Parser:
    """Return the parser of all commands; only the commands in `loaded` get their arguments."""
    parser = Parser(
        prog=PACKAGE,
        description="Checks load balancers against the documented rules of Apache Pulsar.",
        epilog=f"{PACKAGE} COMMAND --help explains a command, with an example.\n\n"
        f"example:\n  {PACKAGE} run --adapter sample:java",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version(PACKAGE)}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        added = commands.add_parser(name, help=command.purpose)
        if name in loaded:
            _add_arguments_and_help(added, name)
    return parser


def module_of(name: str) -> Any:
    """Import a command: a module or object that has `add_arguments` and `run`."""
    module, _, attribute = COMMANDS[name].place.partition(":")
    loaded = import_module(module, __package__)
    return getattr(loaded, attribute) if attribute else loaded


def parser_of(name: str) -> Parser:
    """Return the parser of one command."""
    return _add_arguments_and_help(Parser(f"{PACKAGE} {name}"), name)


def _add_arguments_and_help(parser: Parser, name: str) -> Parser:
    """Add a command's arguments, description and examples to its parser."""
    command, module = COMMANDS[name], module_of(name)
    parser.description = "\n".join(paragraph(as_sentence(command.purpose)))
    plural = "examples" if len(command.examples) > 1 else "example"
    parser.epilog = "\n".join([f"{plural}:", *(f"  {PACKAGE} {one}" for one in command.examples)])
    if name in WITH_ADAPTER_FORMATS:
        from pulsar_conformance.adapters.names import name_format_lines

        parser.epilog = "\n".join(["implementations:", *name_format_lines(), "", parser.epilog])
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def _unknown_option(option: str, words: Sequence[str], command: str) -> str:
    """Return the message for an argument that a command does not take; `words` are all of its
    arguments.
    """
    name, _, value = option.partition("=")
    value = value or next((after for one, after in pairwise(words) if one == option), "")
    known = re.findall(r"(?<!\S)--[a-z][a-z-]*", parser_of(command).format_help())
    near = [one for one in SAME_AS.get(name, ()) if one in known] or get_close_matches(name, known)
    profile = _profile_of(value) if name == "--release" and near else ""
    meant = f"did you mean {near[0]}{profile}?" if near else f"see {PACKAGE} {command} --help"
    return f"{name} is not an argument of {command}; {meant}"


def _profile_of(release: str) -> str:
    """Return a blank and the profile of a release; empty if the text names no release."""
    from pulsar_conformance.specs.judged import nearest_profile

    try:
        return f" {nearest_profile(release.removeprefix('v'))}"
    except UnknownName:
        return ""


class PlainOutput:
    """A text stream that escapes unprintable characters, such as ESC as `\\x1b`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with escapes; return the length of the original text."""
        self._stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several strings."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Escape unprintable characters on standard output and standard error."""
    out, errors = (cast(TextIO, PlainOutput(one)) for one in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(errors):
        yield
