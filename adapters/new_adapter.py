"""`pulsar-conformance new-adapter`: write a working skeleton of an adapter."""

import argparse
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pulsar_conformance.specs.errors import UserError


@dataclass(frozen=True)
class Skeleton:
    """The skeleton of an adapter in one language.

    `shipped` is its file in the package, `written` the file to write, and `adapter` the adapter's
    name.
    """

    shipped: str
    written: str
    adapter: str
    build: str = ""
    """Command that builds the written file; empty if none is needed."""


SKELETONS: Mapping[str, Skeleton] = {
    "python": Skeleton("my_balancer.py.txt", "my_balancer.py", "python:my_balancer:MyBalancer"),
    "java": Skeleton("Main.java", "Main.java", "exec:java Main.java"),
    "javascript": Skeleton("main.mjs", "main.mjs", "exec:node main.mjs"),
    "go": Skeleton("main.go", "main.go", "exec:./my-balancer", "go build -o my-balancer main.go"),
    "rust": Skeleton(
        "main.rs",
        "main.rs",
        "exec:./my-balancer",
        "rustc --edition 2021 -O -o my-balancer main.rs",
    ),
}

QUESTION = '{"ask": "bundles.create", "case": {"bundles": 16, "settings": {}}}'


def write_skeleton(language: str, folder: Path) -> Path:
    """Write a language's skeleton to a folder; return its file.

    Errors: `FileExistsError` if there already is such a file.
    """
    skeleton = SKELETONS[language]
    shipped = files("pulsar_conformance.adapters").joinpath("skeletons", skeleton.shipped)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / skeleton.written
    with path.open("x", encoding="utf-8") as file:
        file.write(shipped.read_text(encoding="utf-8"))
    return path


def next_commands(language: str, folder: Path) -> list[str]:
    """Return the commands to run next: to build the adapter if needed, check it, judge it and ask
    it.
    """
    skeleton = SKELETONS[language]
    adapter = shlex.quote(skeleton.adapter)
    built = [skeleton.build] if skeleton.build else []
    away = folder.resolve() != Path.cwd()
    inside = [f"cd {shlex.quote(os.fspath(folder))}"] if away else []
    return [
        *inside,
        *built,
        f"pulsar-conformance check {adapter}",
        f"pulsar-conformance run --adapter {adapter}",
        f"echo '{QUESTION}' | pulsar-conformance ask {adapter}",
        "pulsar-conformance schema shed.select --example",
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `new-adapter`."""
    parser.add_argument(
        "--lang", choices=sorted(SKELETONS), required=True, help="the language of the skeleton"
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the folder to write it to (this folder)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the skeleton and print the next commands; return 0, or 2 if the file cannot be
    written.
    """
    try:
        path = write_skeleton(args.lang, args.to)
    except FileExistsError as error:
        where = error.filename
        raise UserError(f"{where} already exists and was not changed; use --to OTHER-DIR") from None
    except OSError as error:
        raise UserError(f"can't write to {args.to}: {error.strerror}; use --to OTHER-DIR") from None
    print(f"wrote {path}; next:\n")
    print("\n".join(next_commands(args.lang, args.to)))
    return 0
