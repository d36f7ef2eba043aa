"""Finds the profiles by which a case is a known failure, and the commands that explain it so."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.arguments import profile_of_version
from pulsar_conformance.conformance.cases.deviations import deviation_entries
from pulsar_conformance.conformance.cases.saved import case_file_path
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.specs.text import paragraph

UNWRITTEN = "unwritten-3.0"
"""Profile of the rules that no document states."""

LISTS = Path(fixtures.__file__).parent / "deviations"
"""Folder of the lists of deviations of Pulsar's releases."""

MAX_NAMES = 3
"""Maximum number of implementations that are named one by one."""


def deviation_profile(rule: str, version: str) -> str:
    """Return the profile by which a version of Pulsar breaks a rule: its documents, if they state
    the rule, otherwise `UNWRITTEN`.
    """
    documents = profile_of_version([f"pulsar:{version}"])
    stated = any(one.id == rule for one in specs.load().rules_of(documents))
    return documents if stated else UNWRITTEN


def explain_command(case: str, profile: str, readings: Mapping[str, str]) -> str:
    """Return the command that explains a case by a profile and readings."""
    words = ["pulsar-conformance", "explain", case, "--judge-by", profile]
    for name, value in readings.items():
        words += ["--reading", f"{name}={value}"]
    return shlex.join(words)


def known_failure_lines(trial: Trial, followed: str, *, named: bool) -> Iterator[str]:
    """Yield which rules the case of a deviation breaks by other profiles than the one followed, and
    for each profile the command that explains the case by it; nothing for any other case.

    `named` tells whether the case's file names the profile that is followed; the others are then
    yielded only if the case is no known failure by it.
    """
    case = Path("fixtures", *case_file_path(trial).parts[-3:]).as_posix()
    if not fixtures.bundled_path(case).is_file():
        return
    found: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for entry in (one for file in sorted(LISTS.glob("*.yaml")) for one in deviation_entries(file)):
        if case in entry.get("cases", ()):
            rule, name = entry["rule"], entry["implementation"]
            profile = deviation_profile(rule, name.rpartition(" ")[2])
            command = explain_command(case, profile, entry.get("readings", {}))
            found.setdefault(profile, {}).setdefault(command, []).append((rule, name))
    own = found.pop(followed, {})
    if not found or (own and named):
        return
    yield "  this case is a known failure by other profiles; to explain it by one of them:"
    for profile, commands in found.items():
        for command, broken in commands.items():
            rules, names = ([*dict.fromkeys(one)] for one in zip(*broken, strict=True))
            yield from paragraph(f"{', '.join(rules)} by {profile} ({_shortened(names)})", 2)
            yield f"    {command}"


def _shortened(names: Sequence[str]) -> str:
    """Return the names of implementations, or the first and the number of the others."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} others"
