"""An audit counts the cycles in which a broker did not unload what a release would have unloaded,
even if no rule is broken.
"""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import Counterfactual, ReportOptions, write_audit
from pulsar_conformance.audit.pipeline.report_text import difference_lines, overall_verdict
from pulsar_conformance.audit.verdicts.missing_settings import NOT_RECORDED
from pulsar_conformance.audit.verdicts.verdicts import ALLOWED_BY_OTHER_REPORTS
from standins.exported import history_lines, report
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
THRESHOLD = "loadBalancerBrokerThresholdShedderPercentage"
MISSPELT = THRESHOLD.replace("Threshold", "Treshold", 1)
SHED = "shedding"
USAGES = {"b1": 80, "b2": 20, "b3": 20}
"""Usages in percent. b1 is 30 points over the limit of 40 + 10; with the margin of 5, it would shed
35 % of the 12 MB/s of its three bundles: 4.2 MB/s, less than the release's minimum of 10 MiB/s.
Brokers above 50 % have three bundles, all others have one.
"""

CLUSTERS = {
    "little": ("ThresholdShedder", 1, USAGES),
    "much": ("ThresholdShedder", 20, USAGES),
    "overloaded": ("OverloadShedder", 20, {**USAGES, "b1": 95}),
    "read-late": ("OverloadShedder", 20, {**USAGES, "b1": 95}, 20),
    "unlike-brokers": ("ThresholdShedder", 20, {**USAGES, "b4": 80}),
}
"""The strategy, a factor for the traffic, and the brokers' usages, by cluster.

The fourth value is the usage that b1 reports until one second before the cycle.
"""


def history(strategy, factor, usages, before=None):
    settings = {
        "loadBalancerLoadSheddingStrategy": f"{IMPL}{strategy}",
        "loadBalancerHistoryResourcePercentage": 0,
        MISSPELT: 15,
        "brokerDeleteInactiveTopicsEnabled": False,
    }
    yield 0, {"kind": "settings", "settings": settings}
    yield 0.1, {"kind": "leader", "broker": "b1:8080"}
    reports = {}
    for place, (name, used) in enumerate(usages.items()):
        parts = range(4 * place, 4 * place + (3 if used > 50 else 1))
        owned = [f"a/b/0x{part:x}0000000_0x{part + 1:x}0000000" for part in parts]
        one = report("b1:8080", 0.2, owned)
        rates = {rate: factor * value for rate, value in one.items() if rate.startswith("msg")}
        stats = {
            bundle: {rate: factor * value for rate, value in each.items()}
            for bundle, each in one["lastStats"].items()
        }
        cpu = {"usage": used, "limit": 100}
        reports[name] = {**one, **rates, "lastStats": stats, "cpu": cpu}
        yield 0.2, {"kind": "load_report", "broker": f"{name}:8080", "report": reports[name]}
    if before is not None:
        cpu = {"usage": before, "limit": 100}
        former = {"broker": "b1:8080", "report": {**reports["b1"], "cpu": cpu}}
        yield 0.3, {"kind": "load_report", **former}
        yield 59 / 60, {"kind": "load_report", "broker": "b1:8080", "report": reports["b1"]}
    yield 1, {"kind": "cycle"}
    if "b4" in usages:
        yield 1.001, {"kind": "unloaded", "broker": "b4:8080", "bundle": owned[0], "cause": SHED}
    yield 3, {"kind": "load_report", "broker": "b3:8080", "report": reports["b3"]}


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("omissions")
    each = (history_lines(cluster, history(*how)) for cluster, how in CLUSTERS.items())
    owned = {"kind": "owners", "owners": {"c1:8080": ["a/b/0x00000000_0xffffffff"]}}
    idle = history_lines("without-cycles", [(0, owned)])
    (folder / "history.jsonl").write_text("".join((*each, idle)))
    plan, out = AuditPlan.of("released-3.0", by_documents_too=True), str(folder / "audit")
    none, how = Counterfactual({}, None), ReportOptions(quiet=True)
    found, report_lines = write_audit(
        spark.session, str(folder / "history.jsonl"), out, plan, none, how
    )
    return found, " ".join(" ".join(report_lines).split())


def test_cycles_in_which_the_release_would_have_unloaded_are_counted(audited):
    found, text = audited
    omitted = found["omitted"]
    assert (omitted["cycles"], omitted["more"]) == (2, False)
    assert (omitted["first"]["cluster"], omitted["first"]["broker"]) == ("much", "b1:8080")
    assert omitted["first"]["bundles"]
    assert (
        "2 cycles in which a broker unloaded nothing although released-3.0 would have unloaded "
        "some of its bundles; no rule of released-3.0 forbids that first in much at "
        "2026-11-20T10:01:00Z: a/b/0x00000000_0x10000000"
    ) in text
    assert "see --cluster much --broker b1:8080 --at 2026-11-20T10:01:00Z" in text
    assert found["rules"]["OVERLOAD-01"]["not done though due"] == 1


def test_a_broker_that_keeps_all_is_counted_although_another_one_sheds(audited):
    """In this cluster, b1 and b4 are over the limit, and only b4 sheds."""
    found, _ = audited
    assert found["unloads"]["causes"] == {SHED: 1}
    assert found["unloads"]["allowed"] == 1
    assert found["omitted"]["cycles"] == 2


def test_the_documents_use_the_defaults_of_the_release_which_are_named(audited):
    found, text = audited
    differences = {one["rule"]: one for one in found["documents"]["differences"]}
    assert differences["THRESHOLD-01"]["documents"] == "not done though due"
    assert differences["THRESHOLD-01"]["cycles"] == 3
    assert found["documents"]["defaults"] == {THRESHOLD: 10, "lowerBoundarySheddingEnabled": False}
    assert f"so taken from released-3.0: {THRESHOLD} = 10, lowerBoundarySheddingEnabled" in text


def test_a_cluster_without_a_cycle_is_named(audited):
    found, text = audited
    assert (found["clusters"], found["clusters_without_cycle"]) == (5, ["without-cycles"])
    assert "1 more cluster has no cycle or unload that can be judged: without-cycles" in text


def test_a_report_just_before_the_cycle_may_have_been_read_late(audited):
    """Before its last report, b1 was at 20 %; the leader may not have known that report yet."""
    found, _ = audited
    points = {one["rule"]: one for one in found["undecided"]}
    assert points["OVERLOAD-01"]["cluster"] == "read-late"
    assert points["OVERLOAD-01"]["open_point"] == ALLOWED_BY_OTHER_REPORTS


def test_documents_alone_have_no_default_of_a_release():
    assert THRESHOLD not in AuditPlan.of("documented-3.0").defaults
    assert AuditPlan.of("released-3.0").documents is None
    beside = AuditPlan.of("released-3.0", by_documents_too=True).documents
    assert beside.defaults[THRESHOLD] == 10


def test_recorded_settings_that_no_release_has_are_named(audited):
    found, text = audited
    assert [*found["unknown_settings"]] == [MISSPELT]
    similar = f"there is no such setting; the most similar name is {THRESHOLD}"
    assert f"recorded setting {MISSPELT} is not used: {similar}" in text


def test_a_rule_that_only_releases_follow_is_named_with_the_reason(audited):
    _, text = audited
    assert "they describe what releases do: THRESHOLD-11" in text


def test_the_last_line_names_what_the_release_would_have_done():
    counts = {"allowed": 1, "violated": 0, "not done though due": 0, "undecided": 0}
    found = {"profile": "released-3.0", "cycles": 3, "rules": {"SHED-02": counts}, "follow": 0}
    none = {"omitted": None, "excess": None}
    assert overall_verdict({**found, **none}) == "no rule is broken"
    told = overall_verdict({**found, **none, "omitted": {"cycles": 2, "more": True}})
    assert told == (
        "no rule is broken; at least 2 cycles in which a broker unloaded nothing although "
        "released-3.0 would have unloaded some of its bundles"
    )
    told = overall_verdict({**found, **none, "excess": {"cycles": 1, "more": False}})
    assert told == (
        "no rule is broken; 1 cycle in which a broker shed bundles although released-3.0 would "
        "have unloaded none of its bundles"
    )


def test_rules_that_the_documents_leave_undecided_are_named_with_the_reason():
    def undecided(rule):
        told = f"{THRESHOLD}: {NOT_RECORDED}"
        return {"rule": rule, "cycles": 7, "cluster": "eu", "at": "2026-11-28", "evidence": told}

    rules = [undecided("THRESHOLD-01"), undecided("THRESHOLD-03")]
    compared = {"profile": "documented-3.0", "differences": [], "undecided": rules, "defaults": {}}
    text = " ".join(" ".join(difference_lines(compared, "released-3.0")).split())
    assert "the same faults as by released-3.0 by documented-3.0, THRESHOLD-01," in text
    assert "THRESHOLD-03 undecided in 7 cycles; first in eu at 2026-11-28:" in text
    assert NOT_RECORDED in text
