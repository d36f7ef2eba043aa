"""The known releases and the neutralized settings, as data in one file each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RELEASES = HERE / "releases"
NEUTRAL = HERE / "neutral.yaml"


@dataclass(frozen=True)
class Known:
    """Data about a release that is needed before its classes can be asked.

    Attributes:
        documents: the documented profile to judge it by, of the newest documents that speak of it.
        pins: artefacts as group:name:version, which stand before what the release asks for.
        notes: anything a person should know.
    """

    version: str
    documents: str
    pins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Neutral:
    """A setting that hides a documented rule, and the value under which it does not."""

    name: str
    value: Any
    reason: str


@cache
def releases() -> Mapping[str, Known]:
    """Every release that has a file, the oldest first."""
    found = [_known(file) for file in RELEASES.glob("*.yaml")]
    return {one.version: one for one in sorted(found, key=lambda one: _order(one.version))}


@cache
def neutral() -> tuple[Neutral, ...]:
    """The settings that are neutralized."""
    data = yaml.safe_load(NEUTRAL.read_text("utf-8"))
    return tuple(Neutral(name, one["value"], one["reason"]) for name, one in data.items())


def _known(file: Path) -> Known:
    data = yaml.safe_load(file.read_text("utf-8"))
    if data["version"] != file.stem:
        raise ValueError(f"{file}: it says version {data['version']}")
    return Known(
        data["version"],
        data["documents"],
        tuple(data.get("pins", ())),
        tuple(data.get("notes", ())),
    )


def _order(version: str) -> tuple[list[int], str]:
    numbers, _, milestone = version.partition("-")
    return [int(part) for part in numbers.split(".")], milestone or "~"
