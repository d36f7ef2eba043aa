"""A table of rules and implementations: `python -m pulsar_conformance.reports.releases`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pulsar_conformance.reports.table import WORDS, word_of
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import table

FILE = "verdicts.jsonl"
WIDTH = 100


def main(words: Sequence[str] | None = None) -> int:
    """Print the table for the runs in the given folders. Return the exit status."""
    parser = argparse.ArgumentParser(description="Rules against implementations.")
    parser.add_argument(
        "folder", nargs="+", type=Path, help=f"the --out folder of a run, with {FILE}"
    )
    args = parser.parse_args(words)
    for line in release_table([_stream(folder / FILE) for folder in args.folder]):
        print(line)
    return 0


def _stream(file: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def release_table(streams: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Yield the lines of a table: a row per rule, a column per implementation and profile."""
    columns: list[str] = []
    cells: dict[str, dict[str, str]] = {}
    for run, *verdicts in streams:
        names = {(one["adapter"], one["profile"]): one["name"] for one in run["implementations"]}
        heads = {pair: f"{name}\n{pair[1]}" for pair, name in names.items()}
        columns += heads.values()
        for line in verdicts:
            head = heads[line["implementation"], line["profile"]]
            cells.setdefault(line["rule"], {})[head] = WORDS[word_of(line)]
    rows = [
        (rule, *(cells[rule].get(head, "") for head in columns))
        for rule in load().rules
        if rule in cells
    ]
    yield from table(["rule", *columns], rows, title="Rules and implementations", width=WIDTH)


if __name__ == "__main__":
    raise SystemExit(main())
