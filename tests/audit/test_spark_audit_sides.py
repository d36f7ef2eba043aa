"""ThresholdShedder after a leader's first cycle: a rule that one broker breaks by an omission and
another by an action has a verdict for each, an unload for an idle broker is judged by bounds, and
an unload that only the release would not have made is counted.
"""

from datetime import timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import Counterfactual, ReportOptions, write_audit
from standins.exported import START, history_lines, report
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

CLUSTERS = {
    "both-sides": ((88, 45, 20), (88, 45, 20), False, "b2"),
    "one-side": ((50, 45, 40), (50, 45, 40), False, "b2"),
    "boundary": ((50, 45, 40), (50, 45, 40), True, "b2"),
    "boundary-idle": ((50, 49, 12), (50, 49, 12), True, "b2"),
    "boundary-busiest": ((50, 49, 12), (50, 49, 12), True, "b1"),
    "smoothed": ((50, 40, 30), (80, 40, 30), False, "b1"),
}
"""The usages of three brokers in a leader's first two cycles, whether lower boundary shedding is
on, and the broker that sheds in the second cycle.

In the last cluster, b1 is over the present limit, 50 + 15, but its smoothed usage, 53, is not over
the smoothed one, 41 + 15.
"""

SECOND = 6
"""The minute of the second cycle."""


def history(first, second, boundary, sheds):
    settings = {
        "loadBalancerLoadSheddingStrategy": "org.apache.pulsar.broker.loadbalance.impl."
        "ThresholdShedder",
        "loadBalancerBrokerThresholdShedderPercentage": 15,
        "loadBalancerHistoryResourcePercentage": 0.9,
        "loadBalancerBundleUnloadMinThroughputThreshold": 0,
        "lowerBoundarySheddingEnabled": boundary,
    }
    yield 0, {"kind": "settings", "settings": settings}
    yield 0.1, {"kind": "leader", "broker": "b1:8080"}
    for minute, usages in ((0.2, first), (SECOND - 1, second)):
        for place, used in enumerate(usages):
            parts = (range(5), range(5, 8), range(8, 10))[place]
            owned = [f"a/b/0x{part:x}0000000_0x{part + 1:x}0000000" for part in parts]
            one = {**report("b1:8080", 0.2, owned), "cpu": {"usage": used, "limit": 100}}
            yield minute, {"kind": "load_report", "broker": f"b{place + 1}:8080", "report": one}
            if sheds == f"b{place + 1}":
                gone = owned[0]
    yield 1, {"kind": "cycle"}
    yield SECOND, {"kind": "cycle"}
    shed = {"kind": "unloaded", "broker": f"{sheds}:8080", "bundle": gone, "cause": "shedding"}
    yield SECOND + 0.02, shed
    yield SECOND + 2, {"kind": "load_report", "broker": "b3:8080", "report": one}


@pytest.fixture(scope="module", params=["released-3.0", "documented-4.2"])
def audited(request, spark, tmp_path_factory):
    """Audit all clusters together; return the summary, the folder and the faults by cluster.

    The summary has the report as `text`.
    """
    folder = tmp_path_factory.mktemp("sides")
    each = (history_lines(cluster, history(*how)) for cluster, how in CLUSTERS.items())
    (folder / "history.jsonl").write_text("".join(each))
    plan = AuditPlan.of(request.param, specs.load().default_readings(request.param))
    out = folder / "audit"
    none, how = Counterfactual({}, None), ReportOptions(quiet=True)
    found, report_lines = write_audit(
        spark.session, str(folder / "history.jsonl"), str(out), plan, none, how
    )
    found["text"] = " ".join(" ".join(report_lines).split())
    rows = spark.session.read.parquet(str(out / "verdicts")).where("verdict != 'allowed'")
    second = (START + timedelta(minutes=SECOND)).isoformat()
    faults = {
        (row["cluster"], row["rule"], row["verdict"]): row["evidence"]
        for row in rows.collect()
        if row["cycle"].isoformat() == second.removesuffix("+00:00")
    }
    return found, out, faults


def test_an_omission_hides_no_violation(audited):
    found, _, faults = audited
    for rule in {"THRESHOLD-07"} | {rule for _, rule, _ in faults if rule == "THRESHOLD-18"}:
        omitted = faults["both-sides", rule, "not done though due"]
        assert omitted.startswith("b1:8080 kept all; it is at least 37 points above the average")
        done = faults["both-sides", rule, "violated"]
        assert done.startswith("b2:8080 shed a/b/0x50000000_0x60000000; it is at most -6 points")
        assert ("one-side", rule, "not done though due") not in faults
        assert faults["one-side", rule, "violated"].startswith("b2:8080 shed")
    unloads = found["unloads"]
    assert (unloads["recorded"], unloads["in_violation"]) == (
        len(CLUSTERS),
        len(CLUSTERS) - (2 if found["excess"] else 1),
    )


def test_both_sides_share_a_case_file(audited):
    _, out, _ = audited
    files = [one.name for one in (out / "cases").iterdir() if "-both-sides-" in one.name]
    second = [name for name in files if name.startswith("THRESHOLD-07") and "T1006" in name]
    assert len(second) == 1


def test_only_the_busiest_broker_may_shed_for_an_idle_one(audited):
    _, _, faults = audited
    for cluster, most in (("boundary", "0"), ("boundary-idle", "12")):
        told = faults[cluster, "THRESHOLD-02", "violated"]
        assert told.startswith(
            f"b2:8080 shed a/b/0x50000000_0x60000000; it is at most {most} points above the average"
        )
        assert told.endswith("%, and another broker's is at least 50 %")
    assert "lower boundary, 15 points below" in faults["boundary", "THRESHOLD-10", "violated"]
    assert ("boundary-idle", "THRESHOLD-10", "violated") not in faults
    assert not [key for key in faults if key[0] == "boundary-busiest"]


def test_an_unload_that_only_the_release_would_not_have_made_is_counted(audited):
    found, _, faults = audited
    if found["profile"] != "released-3.0":
        assert found["excess"] is None
        assert ("smoothed", "THRESHOLD-18", "violated") in faults
        return
    assert not [key for key in faults if key[0] == "smoothed"]
    excess = found["excess"]
    assert (excess["cycles"], excess["more"], excess["first"]["cluster"]) == (1, False, "smoothed")
    assert (
        "1 cycle in which a broker shed bundles although released-3.0 would have unloaded none of "
        "its bundles; no rule of released-3.0 forbids that first in smoothed at "
        "2026-11-20T10:06:00Z: a/b/0x00000000_0x10000000 of b1:8080 "
        "see --cluster smoothed --broker b1:8080 --at "
        "2026-11-20T10:06:01.2Z"
    ) in found["text"]
