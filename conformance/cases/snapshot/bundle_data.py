"""Bundle data of a real cluster, as ZooKeeper holds it below /loadbalance/bundle-data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.cases.snapshot.files import BadSnapshot, content, json_files
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference.averages import FRAMES
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.reports import BUNDLE

KEPT = (*RATE_FIELDS, "numSamples", "maxSamples")


def read_bundle_data(path: Path) -> dict[str, Json]:
    """The data of each bundle, by its full name.

    `path` is a folder of `tenant/namespace/range.json`, or of files whose names have `%2F` for
    each slash; or one file, in the folder or by itself, with an object of all bundles.

    Errors: `BadSnapshot`.
    """
    if path.is_file():
        return _several(path)
    found: dict[str, Json] = {}
    for name, file in json_files(path, "**/*.json"):
        named = BUNDLE.fullmatch(name) is not None
        found.update({name: _data(file, content(file))} if named else _several(file))
    return found


def _several(file: Path) -> dict[str, Json]:
    data = content(file)
    if not isinstance(data, dict) or not all(BUNDLE.fullmatch(name) for name in data):
        problem = "neither its name nor its content names bundles (tenant/namespace/0x…_0x…)"
        raise BadSnapshot(f"{file}: {problem}")
    return {name: _data(file, one) for name, one in data.items()}


def _data(file: Path, data: Any) -> Json:
    """The averages of a bundle, without the other fields of the file."""
    found = {}
    for frame in FRAMES:
        known = data.get(frame) if isinstance(data, dict) else None
        if not isinstance(known, dict):
            raise BadSnapshot(f"{file}: it is not bundle data, which has {' and '.join(FRAMES)}")
        found[frame] = {name: known[name] for name in KEPT if name in known}
    return found
