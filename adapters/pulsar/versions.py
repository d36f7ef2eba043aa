"""The examined releases, and the undocumented settings to switch off, from data files."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
RELEASES = HERE / "releases"
NEUTRAL = HERE / "neutral.yaml"
PLACEMENT = "loadBalancerLoadPlacementStrategy"
"""A setting whose documented default in the milestones of 5.0 fits only one shedding strategy."""

VERSION = re.compile(r"\d+\.\d+\.\d+([.-][\w.-]+)?")
BROKER_JAR = re.compile(r"pulsar-broker-(\d[^/]*)(?<!-tests)(?<!-sources)(?<!-javadoc)\.jar$")
"""Pattern of the name of the broker's jar; it does not match jars of tests and sources."""
OLDEST = [2, 8]
DOCUMENTS = (
    ([5], "documented-5.0"),
    ([4, 2], "documented-4.2"),
    ([4], "documented-4.0"),
    ([3], "documented-3.0"),
    ([2, 5], "documented-2.10"),
    ([0], "documented-2.4"),
)
"""The first version to which each set of documents applies, the newest documents first."""


@dataclass(frozen=True)
class KnownRelease:
    """Data about a release that must be known before its classes can be asked.

    Attributes:
        documents: the profile of the newest documents that apply to it.
        pins: artifacts as group:name:version, which replace the versions that the release names.
        notes: anything else that users should know.
    """

    version: str
    documents: str
    pins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class NeutralSetting:
    """A setting that can suppress the effect of a documented rule, and a value that does not."""

    name: str
    value: Any
    reason: str


@cache
def releases() -> Mapping[str, KnownRelease]:
    """Return the examined releases, which are those with data files, oldest first."""
    found = [_read_release(file) for file in RELEASES.glob("*.yaml")]
    return {one.version: one for one in sorted(found, key=lambda one: version_key(one.version))}


def unconditional_defaults(documented: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented defaults that a release accepts, whatever its other settings are."""
    return {name: value for name, value in documented.items() if name != PLACEMENT}


def neutral_settings(documented: Collection[str]) -> tuple[NeutralSetting, ...]:
    """Return the settings to switch off, except settings with a documented default."""
    return tuple(one for one in _all_neutral_settings() if one.name not in documented)


@cache
def _all_neutral_settings() -> tuple[NeutralSetting, ...]:
    data = yaml.safe_load(NEUTRAL.read_text("utf-8"))
    return tuple(NeutralSetting(name, one["value"], one["reason"]) for name, one in data.items())


def _read_release(file: Path) -> KnownRelease:
    data = yaml.safe_load(file.read_text("utf-8"))
    if data["version"] != file.stem:
        raise ValueError(f"{file}: its version must be {file.stem}, not {data['version']}")
    return KnownRelease(
        data["version"],
        data["documents"],
        tuple(data.get("pins", ())),
        tuple(data.get("notes", ())),
    )


def version_key(version: str) -> tuple[list[int], str]:
    """Return a sort key for versions; a milestone sorts before its release."""
    numbers, _, milestone = version.partition("-")
    return [int(part) for part in re.findall(r"\d+", numbers)], milestone or "~"


def downloadable_release(version: str) -> KnownRelease | None:
    """Return the data for downloading a release; None if the text is not a version to download.

    Unexamined releases can be downloaded, too, from version `OLDEST` on.
    """
    if version in releases():
        return releases()[version]
    if not VERSION.fullmatch(version) or version_key(version)[0] < OLDEST:
        return None
    line = version_key(version)[0][:2]
    pins = (one.pins for one in releases().values() if version_key(one.version)[0][:2] == line)
    return KnownRelease(version, documents_of(version), next(pins, ()))


def closest_examined(version: str) -> str:
    """Return the closest examined release.

    This is the first examined release of the same line, such as 3.0. If the line has none, it is
    the next later release or, without a later one, the latest.
    """
    wanted, known = version_key(version)[0], [*releases()]
    alike = [one for one in known if version_key(one)[0][:2] == wanted[:2]]
    later = [one for one in known if version_key(one)[0] > wanted]
    return [*alike, *later, known[-1]][0]


def brokers_in(folder: Path) -> list[str]:
    """Return the versions of all broker jars in a folder, normally a single one."""
    found = (BROKER_JAR.search(jar.name) for jar in sorted(folder.glob("*.jar")))
    return [match[1] for match in found if match]


def documents_of(version: str) -> str:
    """Return the profile of the newest documents that apply to a version."""
    if version in releases():
        return releases()[version].documents
    numbers = version_key(version)[0]
    return next(profile for least, profile in DOCUMENTS if numbers >= least)
