"""The verdict stream: a first line that describes the run, then one line per verdict."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.plan import Plan

FILE = "verdicts.jsonl"
PACKAGES = ("pulsar-conformance", "hypothesis", "pytest")


def first_line(plan: Plan, implementations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a description of the run; equal first lines give equal streams."""
    cases = [saved.trial.fingerprint for saved in plan.saved]
    if plan.replay is not None:
        cases.append(plan.replay.fingerprint)
    return {
        "kind": "run",
        "seed": plan.seed,
        "examples": plan.examples,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "profiles": list(plan.profiles),
        "readings": dict(plan.readings),
        "rules": list(plan.rules),
        "known_deviations": [f"{one.rule} {one.implementation or '*'}" for one in plan.deviations],
        "implementations": list(implementations),
        "saved_cases": sorted(set(cases)),
    }


def write(directory: Path, first: Mapping[str, Any], verdicts: Iterable[Verdict]) -> Path:
    """Write the stream atomically."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / FILE
    lines = [first, *(verdict.as_json() for verdict in verdicts)]
    partial = target.with_suffix(".partial")
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    partial.write_bytes(text.encode("utf-8", "backslashreplace"))
    partial.replace(target)
    return target
