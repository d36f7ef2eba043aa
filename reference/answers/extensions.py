"""Answers to the operations that no document before 4.0 describes.

The module is imported when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference.channel import Channel
from pulsar_conformance.reference.context import Answer, Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.isolation import PolicyChange
from pulsar_conformance.reference.numbers import exact, plain, quantity
from pulsar_conformance.reference.written import ReportDue, TopBundles


def due(context: Context, case: Case) -> Derivation:
    """Answer `report.due`. [REPORT-13 … 17]"""
    return report_due_answer(ReportDue(case, context.settings(case)))


def report_due_answer(report: ReportDue) -> Derivation:
    """Return the answer to `report.due`, with a derivation that lists each change since the last
    report.
    """

    def explain() -> Iterator[Step]:
        if report.first:
            yield Step("due", "nothing has been written yet")
            return
        yield Step("written", f"{plain(exact(report.case['seconds']))} s ago")
        for name, change in report.changes.items():
            unit = "points" if name == "usage" else "%"
            yield Step(name, "from 0" if change is None else f"{plain(change)} {unit} changed")
        late, soon = report.late and "the longest interval is over", report.too_soon and "too soon"
        yield Step("due", soon or late or ", ".join(report.changed) or "nothing changed enough")

    return Derivation({"due": report.due}, explain)


def top_bundles(context: Context, case: Case) -> Derivation:
    """Answer `report.bundles`. [REPORT-18 … 21]"""
    report = TopBundles(case, context.settings(case))

    def explain() -> Iterator[Step]:
        yield Step("at most", f"{report.most} of {quantity(len(case['stats']), 'bundle')}")
        yield Step("reported", ", ".join(report.reported) or "none")

    return Derivation({"bundles": report.reported}, explain)


def changed(_context: Context, case: Case) -> Derivation:
    """Answer `policy.changed`. [ISOLATION-01 … 06]"""
    change = PolicyChange(case)

    def explain() -> Iterator[Step]:
        yield Step("scope", change.scope)
        yield Step("compared", ", ".join(change.regexes) or "nothing that unloads")
        yield Step("unloaded", ", ".join(change.unloaded) or "nothing")

    return Derivation({"unload": change.unloaded}, explain)


def apply_changes(context: Context, case: Case) -> Derivation:
    """Answer `channel.apply`. [CHANNEL]"""
    channel = Channel(case, context.readings["channel-transfer"])

    def explain() -> Iterator[Step]:
        for index, change in enumerate(case["changes"]):
            brokers = f"from {change['from'] or 'no broker'} to {change['to'] or 'no broker'}"
            fate = "ignored" if index in channel.ignored else "counts"
            yield Step(change["bundle"], f"{change['state']} {brokers}: {fate}")
        for lookup, found in zip(case["lookups"], channel.lookups, strict=True):
            to = f" to {found['to']}" if "to" in found else ""
            yield Step(lookup["bundle"], f"looked up at {lookup['at']}: {found['does']}{to}")

    answer = {"units": channel.units, "ignored": channel.ignored}
    return Derivation({**answer, "lookups": list(channel.lookups)}, explain)


ANSWERS: Mapping[str, Answer] = {
    "report.due": due,
    "report.bundles": top_bundles,
    "policy.changed": changed,
    "channel.apply": apply_changes,
}
