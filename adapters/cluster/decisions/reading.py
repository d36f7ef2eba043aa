"""Answers to report.read and usage.max: a leader reads another broker's report."""

from __future__ import annotations

import json

from pulsar_conformance.adapters.cluster.decisions.leader import DEFAULT_BROKER, AskedLeader
from pulsar_conformance.adapters.pulsar.operations import usage
from pulsar_conformance.adapters.pulsar.operations.reports import parse_report, report_content
from pulsar_conformance.adapters.pulsar.release import Answer, Case, Unsupported

OTHER_BROKER = "other"
OWN_MANAGER = "modular"


def maximum(leader: AskedLeader, case: Case) -> Answer:
    """Return the usage that the release's classes compute from a report; this needs no running
    broker.
    """
    return usage.maximum(leader.release, case)


def read(leader: AskedLeader, case: Case) -> Answer:
    """Return the leader's data about the broker that wrote the report.

    Errors: `RejectedRequest` if the release rejects the report, `Unsupported` if the leader ignores
    it.
    """
    manager, _ = parse_report(case["report"])
    if manager != OWN_MANAGER:
        raise Unsupported(
            "the modular load manager does not read the reports of other load managers"
        )
    leader.begin({}, [DEFAULT_BROKER])
    one = leader.names.identify(OTHER_BROKER)
    leader.cluster.metadata.register(one, json.dumps(case["report"]))
    leader.cluster.wait_processed()
    data = leader.load_data.getBrokerData().get(one)
    if data is None:
        raise Unsupported("the leader ignores the report")
    return {"manager": OWN_MANAGER, "broker": report_content(data.getLocalData(), OWN_MANAGER)}
