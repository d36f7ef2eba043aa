"""The part of an adapter's name after `pulsar:`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pulsar_conformance.adapters.names import PULSAR_FORM
from pulsar_conformance.adapters.options import parse_options
from pulsar_conformance.specs.errors import UserError

KEYS = ("strategy", "as", "classpath", "set")
CLAIMABLE_STRATEGIES = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
"""The documented strategies whose rules a user's class may claim to follow."""


class BadTarget(UserError):
    """Raised for an unusable text after `pulsar:`; the message says what is wrong."""


@dataclass(frozen=True)
class Target:
    """A version of Pulsar, and what the user adds to it.

    `release` is a version, or the jar folder of a distribution or build. `strategy` is the user's
    own shedding or placement strategy class, or None. `class_path` are the jars and folders that
    contain this class. `played` is the documented strategy whose rules it claims to follow, or
    None. `settings` are the user's own broker.conf settings.
    """

    release: str
    strategy: str | None = None
    class_path: tuple[Path, ...] = ()
    played: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Target:
        """Parse the text after `pulsar:`. Errors: `BadTarget`."""
        release, *rest = text.split(",")
        if not release:
            raise BadTarget(f"names neither a version nor a folder; write {PULSAR_FORM}")
        strategy, played, paths, settings = None, None, [], {}
        for key, value in parse_options(rest, KEYS, PULSAR_FORM, BadTarget):
            if key == "strategy":
                strategy = value
            elif key == "as":
                played = _parse_played(value)
            elif key == "classpath":
                paths += [Path(one) for one in value.split(os.pathsep)]
            else:
                name, given = _parse_setting(value)
                settings[name] = given
        if played is not None and strategy is None:
            raise BadTarget(
                f"as={played}: also name your class with strategy=; write {PULSAR_FORM}"
            )
        for path in paths:
            _check_on_class_path(path)
        found = tuple(path.resolve() for path in paths)
        return cls(release, strategy, found, played, settings)


def _parse_played(text: str) -> str:
    """Return the short name of the strategy that `as=` names. Errors: `BadTarget`."""
    name = text.rpartition(".")[2]
    if name not in CLAIMABLE_STRATEGIES:
        raise BadTarget(
            f"as={text}: a class can be judged only as {' or '.join(CLAIMABLE_STRATEGIES)}"
        )
    return name


def _check_on_class_path(path: Path) -> None:
    """Check that a path exists and is not a folder of jars, in which Java would find no class.

    Errors: `BadTarget`.
    """
    each = f"name each jar, as in classpath=mine.jar{os.pathsep}other.jar"
    if not path.exists():
        hint = f"; {each}" if "*" in path.name else ""
        raise BadTarget(f"classpath: there is no {path}{hint}")
    files = [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else []
    if files and all(one.suffix == ".jar" for one in files):
        raise BadTarget(f"classpath: the folder {path} contains jars, but no classes; {each}")


def _parse_setting(text: str) -> tuple[str, str]:
    """Parse name and value; an empty value means the release's default.

    Errors: `BadTarget`.
    """
    name, equals, value = text.partition("=")
    if not name.strip() or not equals:
        raise BadTarget(f"set={text}: write set=NAME=VALUE, as in set=minUnloadMessage=1000")
    return name.strip(), value
