"""A single name for each broker, whatever names the sources use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pulsar_conformance.audit.collect.changes import Entry
from pulsar_conformance.audit.collect.sources import ImportedData

URLS = ("webServiceUrl", "webServiceUrlTls")
"""Fields of a load report with the broker's addresses, which some sources use as its name."""

MAX_LISTED_NAMES = 3
"""Maximum number of names that a note lists; it gives only the number of all others."""


def with_single_names(data: ImportedData) -> ImportedData:
    """Return the data with a single name for each broker: the name under which it reports.

    If a broker reports under several names, one of which is its address, the address becomes its
    name. An address that several brokers report is not used as a name.
    """
    reports = [(broker, report) for _, broker, report in data.reports]
    reports += [
        (str(one.get("broker")), one["report"])
        for _, one in data.records
        if one["kind"] == "load_report" and isinstance(one.get("report"), dict)
    ]
    names = _names_by_address(reports)
    renamed = [(at, names.get(broker, broker), report) for at, broker, report in data.reports]
    records = [(at, _with_replaced_names(one, names)) for at, one in data.records]
    reported = {names.get(broker, broker) for broker, _ in reports}
    notes = [*data.notes, *_name_notes(data, names), *_unreported_notes(records, reported)]
    return replace(data, reports=renamed, records=records, notes=notes)


def _names_by_address(reports: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return each name that is replaced, with the broker's single name."""
    reporting: defaultdict[str, set[str]] = defaultdict(set)
    known = set[str]()
    for broker, report in reports:
        known.add(broker)
        for address in _addresses(report):
            reporting[address].add(broker)
    found = {}
    for address, brokers in reporting.items():
        others = brokers - {address}
        if address in known and len(others) == 1:
            found[others.pop()] = address
    for address, brokers in reporting.items():
        named = {found.get(broker, broker) for broker in brokers}
        if address not in known and len(named) == 1:
            found[address] = named.pop()
    return found


def _addresses(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses in a report, with and without their ports."""
    for field in URLS:
        place = urlsplit(str(report.get(field) or "")).netloc
        yield from filter(None, (place, place.rpartition(":")[0]))


def _with_replaced_names(record: Entry, names: Mapping[str, str]) -> Entry:
    """Return a record in which the broker names in `names` are replaced."""
    changed = dict(record)
    if changed.get("broker") in names:
        changed["broker"] = names[changed["broker"]]
    if isinstance(owners := record.get("owners"), dict):
        changed["owners"] = {names.get(broker, broker): held for broker, held in owners.items()}
    return changed


def _name_notes(data: ImportedData, names: Mapping[str, str]) -> Iterator[str]:
    """Yield a note that lists the replaced names, if there are any."""
    used = {str(one.get("broker")) for _, one in data.records}
    used |= {broker for _, broker, _ in data.reports}
    told = [f"{other} is {name}" for other, name in sorted(names.items()) if other in used]
    if told:
        yield f"according to the addresses in load reports, {_names_text(told)}"


def _unreported_notes(records: Iterable[tuple[Any, Entry]], reported: set[str]) -> Iterator[str]:
    """Yield a note about brokers that unloaded bundles but have no load report, if there
    are any.
    """
    unloading = {str(one["broker"]) for _, one in records if _is_unload(one)}
    unknown = sorted(unloading - reported)
    if unknown and reported:
        yield (
            f"some unloads name brokers that have no load report: {_names_text(unknown)}; save "
            "their reports under these names, or give reports whose webServiceUrl has such a name"
        )


def _is_unload(record: Entry) -> bool:
    return record["kind"] == "unloaded" and bool(record.get("broker"))


def _names_text(names: list[str]) -> str:
    more = [f"{len(names) - MAX_LISTED_NAMES} more"] if len(names) > MAX_LISTED_NAMES else []
    return ", ".join((*names[:MAX_LISTED_NAMES], *more))
