"""Requirement sets: the rules of a profile at the time when the set was frozen.

A report is compared with the set of its version, even if rules have changed since then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pulsar_conformance import specs

FOLDER = Path(specs.__file__).parent / "requirements"
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Requirements:
    """The testable rules of a profile, with their levels and fingerprints of their content."""

    profile: str
    version: int | None
    """Version number of the set; None for the current rules, which are not frozen."""
    rules: Mapping[str, Entry]
    changes: tuple[str, ...] = ()
    """Changes since the previous version, one string for each change."""

    @property
    def checksum(self) -> str:
        """The SHA-256 of the rules, whatever the order of their fields."""
        return checksum(self.rules)

    @property
    def name(self) -> str:
        """The name with the version, such as `documented-3.0, version 1`."""
        return f"{self.profile}, {f'version {self.version}' if self.version else 'not frozen'}"

    def as_json(self) -> dict[str, Any]:
        """Return the content of the JSON file for this set."""
        return {
            "profile": self.profile,
            "version": self.version,
            "checksum": self.checksum,
            "changes": list(self.changes),
            "rules": dict(self.rules),
        }


def checksum(value: Any) -> str:
    """Return the SHA-256 of a JSON value in canonical form."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def current_requirements(profile: str) -> Requirements:
    """Return the current testable rules of a profile. Errors: `UnknownName`."""
    rules = {
        rule.id: _entry(rule) for rule in specs.load().rules_of(profile) if not rule.untestable
    }
    return Requirements(profile, None, rules)


def _entry(rule: specs.Rule) -> Entry:
    required_answers = {
        "statement": " ".join(rule.statement.split()),
        "operations": list(rule.operations),
        "any_operation": rule.any_operation,
        "managers": list(rule.managers),
        "reading": dict(rule.reading),
    }
    return {"level": rule.level, "demand": checksum(required_answers)}


def frozen_requirements(profile: str) -> tuple[Requirements, ...]:
    """Return all versions of the set of a profile, oldest first.

    Errors: `SpecError` if one was changed after it was frozen.
    """
    found = [_read(file) for file in FOLDER.glob(f"{profile}-*.json")]
    return tuple(sorted(found, key=lambda one: one.version or 0))


def _read(file: Path) -> Requirements:
    data = json.loads(file.read_text("utf-8"))
    rules, changes = data["rules"], tuple(data["changes"])
    one = Requirements(data["profile"], data["version"], rules, changes)
    if one.checksum != data["checksum"]:
        problem = "it was changed after it was frozen; freeze a new version instead"
        raise specs.SpecError(f"requirements/{file.name}", 1, problem)
    return one


def requirements_to_report(profile: str) -> Requirements:
    """Return the oldest frozen set that equals the current rules or, if none does, the current
    rules.
    """
    current = current_requirements(profile)
    return next(
        (one for one in frozen_requirements(profile) if one.checksum == current.checksum), current
    )


def freeze(profile: str) -> Path | None:
    """Write the current rules as a new version, and return its file.

    None if the newest version already has these rules.
    """
    current, before = current_requirements(profile), frozen_requirements(profile)
    if before and before[-1].checksum == current.checksum:
        return None
    number = (before[-1].version or 0) + 1 if before else 1
    changes = tuple(requirement_changes(before[-1], current)) if before else ()
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{profile}-{number}.json"
    content = Requirements(profile, number, current.rules, changes).as_json()
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return file


def requirement_changes(before: Requirements, after: Requirements) -> Iterator[str]:
    """Yield a line for each rule that differs between two sets."""
    for rule in dict.fromkeys((*before.rules, *after.rules)):
        old, new = before.rules.get(rule), after.rules.get(rule)
        if old is None:
            yield f"{rule} is new"
        elif new is None:
            yield f"{rule} is no longer demanded"
        elif old["level"] != new["level"]:
            yield f"{rule} has the level {new['level']} instead of {old['level']}"
        elif old != new:
            yield f"{rule} demands something else"
