"""`pulsar-conformance completion SHELL`: print a shell completion script."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping

SHELLS = ("bash", "zsh", "tcsh")
FILES = ("FILE", "PATH", "CASE.json|FOLDER", "PATTERN|FILE|URL", "VERDICTS.jsonl", "A", "B")
FOLDERS = ("DIR", "FOLDER")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the name of the shell."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Print the completion script."""
    import shtab  # only this command needs it
    from pulsar_conformance.conformance.commands.main import COMMANDS, whole_parser

    parser = whole_parser(*COMMANDS)
    words = _completion_values()
    for action in _all_arguments(parser):
        named = action.metavar
        if named in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # shtab reads it there
        elif named in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]  # as above
        elif named in words:
            action.choices = words[named]
    print(shtab.complete(parser, shell=args.shell))
    return 0


def _completion_values() -> Mapping[object, list[str]]:
    """Return the values with which the shell completes each placeholder."""
    from pulsar_conformance import specs
    from pulsar_conformance.adapters.names import NAME_FORMS
    from pulsar_conformance.adapters.pulsar.versions import releases

    known = specs.load()
    readings = [f"{name}={one}" for name, found in known.readings.items() for one in found.values]
    kinds = [*NAME_FORMS, *(f"pulsar:{release}" for release in releases())]
    samples = [f"sample:{one}" for one in ("go", "java", "javascript")]
    return {
        "PROFILE": [*known.profiles],
        "ADAPTER": [*kinds, *samples],
        "OPERATION": [*specs.operations()],
        "RELEASE": [*releases()],
        "ID": [*known.rules],
        "NAME=VALUE": readings,
        "PATTERN": sorted({f"{rule.rpartition('-')[0]}-*" for rule in known.rules}),
    }


def _all_arguments(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    """Yield all arguments of a parser and its subparsers."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _all_arguments(inner)
