"""The examined release whose answers agree best with those of an unexamined one.

`telling.json` contains the cases and defaults in which examined releases differ, with each
release's answer. Reasons for refusals and failures are not compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.adapters.pulsar.versions import documents_of, releases, version_key
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import counted

DISTINGUISHING_FILE = Path(__file__).parent / "telling.json"
DECLINED = ("unsupported", "refused", "failed")

Ask = Callable[[str, JSON], JSON]
"""Function that returns the answer to a case of an operation."""


@dataclass(frozen=True)
class DistinguishingPoint:
    """A case, or the default of a setting, for which releases have different answers.

    Attributes: `what` is a short description of the question, `found` the answer of the release
    under examination, and `known` the answer of each examined release.
    """

    what: str
    found: JSON
    known: Mapping[str, JSON]


@cache
def distinguishing_answers() -> Mapping[str, Any]:
    """Return the cases and defaults by which the examined releases differ, with their answers."""
    read: Mapping[str, Any] = json.loads(DISTINGUISHING_FILE.read_text("utf-8"))
    return read


def comparable_part(answer: JSON) -> JSON:
    """Return the part of an answer that is compared with other answers."""
    declined = next((name for name in DECLINED if name in answer), None)
    return declined or {name: value for name, value in answer.items() if name != "why"}


def distinguishing_points(ask: Ask) -> Iterator[DistinguishingPoint]:
    """Yield a release's answers to the cases and defaults in which examined releases differ."""
    for one in distinguishing_answers()["cases"]:
        found = comparable_part(ask(one["operation"], one["case"]))
        yield DistinguishingPoint(f"{one['operation']}, {one['shows']}", found, one["answers"])
    defaults = ask("settings.defaults", {})["settings"]
    for name, known in distinguishing_answers()["defaults"].items():
        yield DistinguishingPoint(f"the default of {name}", defaults.get(name), known)


def most_similar_release(version: str, points: list[DistinguishingPoint]) -> str:
    """Return the examined release with the same answers to the most questions.

    If there are several, return the one with the closest version.
    """
    wanted = version_key(version)

    def distance(release: str) -> tuple[int, bool, Any]:
        apart = sum(one.known[release] != one.found for one in points)
        newer = version_key(release) > wanted
        numbers = version_key(release)[0]
        return apart, newer, numbers if newer else [-number for number in numbers]

    return min(releases(), key=distance)


def nearest_remarks(version: str, ask: Ask) -> list[str]:
    """Return lines that name the most similar examined release, the profiles to judge by, and each
    difference.
    """
    found = list(distinguishing_points(ask))
    near = most_similar_release(version, found)
    apart = [one for one in found if one.known[near] != one.found]
    alike = ", ".join(
        f"{sum(one.known[release] == one.found for one in found)} with {release}"
        for release in releases()
    )
    line = ".".join(near.split(".")[:2])
    profiles = [documents_of(version), f"released-{line}"]
    judged = " ".join(f"--judge-by {one}" for one in profiles if one in load().profiles)
    lines = [
        f"pulsar {version} was not examined; the most similar release is {near}: of "
        f"{counted(len(found), 'distinguishing answer')}, it shares {alike}",
        f"pulsar {version}: to judge it, give {judged}",
    ]
    return lines + [
        f"pulsar {version} differs from {near}: {one.what}: {_shortened(one.found)}, "
        f"not {_shortened(one.known[near])}"
        for one in apart
    ]


def _shortened(value: JSON) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_ANSWER_CHARACTERS else f"{text[:MAX_ANSWER_CHARACTERS]}..."


MAX_ANSWER_CHARACTERS = 80
"""Maximum number of characters of an answer in a remark."""
