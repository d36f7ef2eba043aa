"""Pages about the decisions that change from each release to the next: `nox -s changes`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases import saved

TO = Path("reports/changes")

Json = Mapping[str, Any]

CASES = "cases"
"""Folder with the smallest case of each change."""

INTRODUCTION = """\
# What releases decide otherwise than the one before

`nox -s changes` makes each page by `pulsar-conformance changes OLDER NEWER --json FILE`, which
asks two releases the same drawn cases and shows the smallest case of each kind of change: the
decision of either, by the arithmetic of the model, and the place in Pulsar's source.
`pulsar-conformance changes --all` walks all six. An entry is named by what explains it: a way of
`specs/ways.yaml`, a reading, a setting whose default changed. Where it is named by the rules that
one of the two breaks, or by none, no known way explains it; several at once have a + between them.

| releases | decided differently | changed, and shown by no case | settings changed |
| --- | --- | --- | --- |
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Write a page and the cases for each pair of releases; return 0, or 2 on failure."""
    parser = argparse.ArgumentParser(prog="changes", description=__doc__)
    parser.add_argument(
        "--to", type=Path, default=TO, metavar="DIR", help="where the pages go (%(default)s)"
    )
    to = parser.parse_args(argv).to.absolute()
    to.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(to / CASES, ignore_errors=True)
    found = []
    for older, newer in pairwise(releases()):
        file = to / f"{name_of(older, newer)}.json"
        told = _told(older, newer, file)
        if told is None:
            return 2
        file.with_suffix(".md").write_text(page(older, newer, told), "utf-8", newline="\n")
        found += json.loads(file.read_text("utf-8"))
    (to / "README.md").write_text(index(found), "utf-8", newline="\n")
    print(f"{len(found)} pages in {to}")
    return 0


def _told(older: str, newer: str, file: Path) -> str | None:
    """Return the output of the command, run in its own folder; None if it fails.

    The cases that the output names are stored next to the pages.
    """
    command = [sys.executable, "-m", "pulsar_conformance.conformance", "changes", older, newer]
    with tempfile.TemporaryDirectory() as apart:
        done = subprocess.run(
            [*command, "--json", str(file)], cwd=apart, stdout=subprocess.PIPE, text=True
        )
        if done.returncode:
            return None
        if (cases := Path(apart, saved.FOLDER)).is_dir():
            shutil.copytree(cases, file.parent / CASES, dirs_exist_ok=True)
    there = f"{saved.FOLDER.as_posix()}/"
    file.write_text(file.read_text("utf-8").replace(there, f"{CASES}/"), "utf-8", newline="\n")
    return done.stdout.replace(there, f"{CASES}/")


def name_of(older: str, newer: str) -> str:
    """Return the name of a pair's files."""
    return f"{older}-to-{newer}"


def page(older: str, newer: str, told: str) -> str:
    """Return the page of a pair, with the command's output below its heading."""
    _heading, _, rest = told.partition("\n\n")
    cases = f"{name_of(older, newer)}.json"
    return (
        f"# What changed from {older} to {newer}\n\n"
        f"As `pulsar-conformance changes {older} {newer}` prints it; [{cases}]({cases}) has the "
        f"cases and answers, and `reports/changes/{CASES}` has each case as a file, for `explain` "
        f"and `run --replay`.\n\n```text\n{rest.strip()}\n```\n"
    )


def index(found: Iterable[Json]) -> str:
    """Return the page that lists the comparisons, one row for each pair."""
    return INTRODUCTION + "".join(f"{_row(one)}\n" for one in found)


def _row(pair: Json) -> str:
    older, newer = pair["older"], pair["newer"]
    causes: dict[str, dict[str, None]] = {}
    for one in pair["changes"]:
        cause = one["cause"].replace(", ", " + ")
        causes.setdefault(one["operation"], {})[cause] = None
    each = [f"`{operation}`: {', '.join(names)}" for operation, names in causes.items()]
    link = f"[{older} → {newer}]({name_of(older, newer)}.md)"
    others = ", ".join(one["name"] for one in pair["unshown"]) or "nothing"
    return f"| {link} | {'; '.join(each) or 'nothing'} | {others} | {len(pair['settings'])} |"


if __name__ == "__main__":
    sys.exit(main())
