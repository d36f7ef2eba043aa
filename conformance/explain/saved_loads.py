"""Reads load data of the extensible load manager, saved from its topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pulsar_conformance.conformance.cases.load_reports import (
    EXTENSIBLE,
    TOP,
    BadSnapshot,
    saved_files,
)
from pulsar_conformance.conformance.cases.metrics import has_consumed_messages, read_consumed_load
from pulsar_conformance.reference.released.load_data import LoadData

BYTES = ("msgThroughputIn", "msgThroughputOut")
LOAD, TRAFFIC = "weightedMaxEMA", "msgThroughputEMA"
SUFFIX = "-top-bundles"
"""Suffix, before `.json`, of the name of a file with a broker's top bundles."""

UPDATED_AT = "updatedAt"


def consumed_load_data(file: Path) -> LoadData:
    """Read load data and top bundles that pulsar-client consume printed. Errors: `BadSnapshot`.

    Only the last message of each broker counts.
    """
    brokers, top, notes = read_consumed_load(file)
    _check_loads(brokers, dict.fromkeys(brokers, file))
    return replace(parse_load_data(brokers, top), notes=notes)


def _check_loads(brokers: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    """Raise `BadSnapshot` for load data in which a number that the decision needs is missing."""
    for name, one in brokers.items():
        for key in (LOAD, TRAFFIC):
            if not isinstance(one.get(key), int | float):
                raise BadSnapshot(f"{paths[name]}: {key} of {name} is not a number")


def load_data(folder: Path, to_skip: Collection[Path] = ()) -> LoadData | None:
    """Read a folder with load data of the extensible load manager, or a file of its topics'
    messages.

    The result is None if the files are of another kind, such as load reports. Files in `to_skip`
    are not read: they have another purpose. Errors: `BadSnapshot`.
    """
    if has_consumed_messages(folder):
        return consumed_load_data(folder)
    if not folder.is_dir():
        return None
    found, notes = saved_files(folder, to_skip)
    files = {one.broker: one.content for one in found}
    paths = {one.broker: one.path for one in found}
    top = {name: data for name, data in files.items() if isinstance(data, dict) and TOP in data}
    brokers = {name: one for name, one in files.items() if name not in top or LOAD in one}
    known = {name: {*one} if isinstance(one, dict) else set() for name, one in brokers.items()}
    unlike = [name for name, fields in known.items() if not EXTENSIBLE & fields]
    if len(unlike) == len(brokers):
        return None
    if unlike:
        raise BadSnapshot(
            f"{paths[unlike[0]]}: it is not load data of the extensible load manager, but other "
            "files are; save the load data of every broker, or TransferShedder unloads nothing"
        )
    _check_loads(brokers, paths)
    for name in top:
        if name.removesuffix(SUFFIX) not in brokers:
            raise BadSnapshot(
                f"{paths[name]}: it has top bundles, but no other file has the load data of "
                f"their broker; save both, as BROKER.json and BROKER{SUFFIX}.json"
            )
    for one in found:
        if paths[one.broker] != one.path:
            raise BadSnapshot(f"{one.path}: there is already load data of {one.broker}; keep one")
    named = {name.removesuffix(SUFFIX): one for name, one in top.items()}
    return replace(parse_load_data(brokers, named), notes=tuple(notes))


def parse_load_data(brokers: Mapping[str, Any], top: Mapping[str, Any]) -> LoadData:
    """Parse load data and top bundles from Pulsar's own JSON."""
    return LoadData(
        {name: one[LOAD] for name, one in brokers.items()},
        {name: one.get(TRAFFIC, _throughput_in_both(one) or 0.0) for name, one in brokers.items()},
        {name: _parse_top_bundles(one[TOP]) for name, one in top.items()},
        {name: _throughput_in_both(one) or one.get(TRAFFIC, 0.0) for name, one in brokers.items()},
        {
            name: one[UPDATED_AT]
            for name, one in brokers.items()
            if isinstance(one.get(UPDATED_AT), int | float) and one[UPDATED_AT] > 0
        },
    )


def _throughput_in_both(stats: Mapping[str, Any]) -> float | None:
    """Return the bytes per second in both directions together; None if both are unknown."""
    known = [one for one in map(stats.get, BYTES) if isinstance(one, int | float)]
    return float(sum(known)) if known else None


def _parse_top_bundles(bundles: Any) -> dict[str, float | None]:
    found = [one for one in bundles or () if isinstance(one, dict)]
    return {
        str(one.get("bundleName")): _throughput_in_both(one.get("stats") or {}) for one in found
    }
