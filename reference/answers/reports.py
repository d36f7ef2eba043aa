"""Contents of load reports. [REPORT]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulsar_conformance.reference import reports
from pulsar_conformance.reference.cluster import RESOURCES, percent_of
from pulsar_conformance.reference.context import Answer, Case, Context, Refused
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.numbers import plain


def read(_context: Context, case: Case) -> Derivation:
    """Answer `report.read`. [REPORT-01 … 09]"""
    try:
        report = reports.read(case["report"])
    except reports.Unreadable as wrong:
        raise Refused(str(wrong)) from None
    broker = report.broker

    def explain() -> Iterator[Step]:
        where = f"below {reports.NESTED}" if report.manager == "simple" else "at the top"
        yield Step("manager", f"{report.manager}: its resources stand {where}")
        for name in RESOURCES:
            if name in broker:
                usage, limit = broker[name]["usage"], broker[name]["limit"]
                yield Step(name, f"{usage} / {limit} = {plain(percent_of(broker[name]))} %")
        said = [name for name in reports.LOAD if name in broker]
        yield Step("besides", ", ".join(said) or "nothing")

    return Derivation({"manager": report.manager, "broker": broker}, explain)


ANSWERS: Mapping[str, Answer] = {
    "report.read": read,
}
