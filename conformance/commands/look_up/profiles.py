"""`pulsar-conformance profiles`: what an implementation can be judged by."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from pulsar_conformance.conformance.commands.look_up.lines import show
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import columns


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def run(_args: argparse.Namespace) -> int:
    """Prints each profile with the number of its rules."""
    return show(_lines())


def _lines() -> Iterator[str]:
    specs = load()
    yield from columns(
        [
            (name, f"{len(specs.rules_of(name))} rules", profile.title)
            for name, profile in specs.profiles.items()
        ]
    )
