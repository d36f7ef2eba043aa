"""Evidence that rules detect defects: seeded defects, and the published table of mutants."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

SEEDED = Path("tests", "mutants", "defects.yaml")
TABLE = Path("reports", "mutants", "mutants.jsonl")
"""The published table, which has a line for each generated mutant."""


@dataclass(frozen=True)
class SourceChange:
    """A change to the model's source code: the original, the replacement, and the effect."""

    title: str
    was: str
    becomes: str


def seeded_defects(file: Path = SEEDED) -> Mapping[str, Sequence[SourceChange]]:
    """Return the seeded defects, by the rule that detects them."""
    found: dict[str, list[SourceChange]] = defaultdict(list)
    for one in yaml.safe_load(file.read_text("utf-8")):
        title = f"{one['name']}: {one['stands_for']}"
        found[one["rule"]].append(SourceChange(title, one["was"], one["becomes"]))
    return found


def killed_mutants(file: Path = TABLE) -> Mapping[str, Sequence[SourceChange]]:
    """Return the generated mutants, by the first rule that they break.

    Empty if no table is published.
    """
    found: dict[str, list[SourceChange]] = defaultdict(list)
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        one = json.loads(line)
        if one.get("verdict") == "killed":
            found[one["rule"]].append(SourceChange(one["id"], one["was"], one["becomes"]))
    return found
