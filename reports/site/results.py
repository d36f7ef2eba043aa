"""What published reports and known deviations say, by implementation and by rule."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pulsar_conformance import fixtures
from pulsar_conformance.reports.table import WORDS, word_of

PUBLISHED = Path(__file__).parent.parent / "published"
DEVIATIONS = Path(fixtures.__file__).parent / "deviations"
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """A published report, as its page and the matrix show it."""

    file: str
    report: Line

    @property
    def slug(self) -> str:
        """The name of its page."""
        return self.file.removesuffix(".json")

    @property
    def name(self) -> str:
        """The implementation, with its version."""
        return str(self.report["implementation"]["name"])

    @property
    def profile(self) -> str:
        """What it was judged by."""
        return str(self.report["requirements"]["profile"])

    @cached_property
    def verdicts(self) -> Mapping[str, Line]:
        """The verdict on each rule."""
        return {line["rule"]: line for line in self.report["verdicts"]}

    def word(self, rule: str) -> str:
        """The verdict on a rule; empty where it was not judged."""
        return word_of(self.verdicts[rule]) if rule in self.verdicts else ""

    def said(self, rule: str) -> str:
        """The verdict on a rule as tables write it."""
        return WORDS.get(self.word(rule), self.word(rule))


@dataclass(frozen=True)
class Listed:
    """A known deviation of a release, with the file that lists it."""

    file: str
    entry: Line

    @property
    def implementation(self) -> str:
        """Whose it is."""
        return str(self.entry.get("implementation", self.file))


def results(folder: Path = PUBLISHED) -> list[Result]:
    """Every published report, by the name of its file."""
    files = sorted(folder.glob("*.json"))
    return [Result(file.name, json.loads(file.read_text("utf-8"))) for file in files]


def deviations(folder: Path = DEVIATIONS) -> Mapping[str, Sequence[Listed]]:
    """Every known deviation, by the rule that it breaks."""
    found: dict[str, list[Listed]] = {}
    for file in sorted(folder.glob("*.yaml")):
        for entry in yaml.safe_load(file.read_text("utf-8")):
            found.setdefault(entry["rule"], []).append(Listed(file.stem, entry))
    return found
