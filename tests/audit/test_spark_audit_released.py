"""Histories are judged by the release of their brokers, whatever data they were imported from."""

import json
from types import MappingProxyType

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.versions import profile_of_history
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import (
    Counterfactual,
    ReportOptions,
    build_audit_tables,
    write_audit,
)
from pulsar_conformance.conformance.commands.main import main
from standins.exported import (
    LOGGED,
    PLANNED,
    curl_folder,
    history_lines,
    one_object,
    own_records,
    report,
    series,
    stamp,
    znodes,
)
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

IMPL = "org.apache.pulsar.broker.loadbalance.impl."
SETTINGS = {
    "loadBalancerLoadSheddingStrategy": f"{IMPL}ThresholdShedder",
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.9,
    "lowerBoundarySheddingEnabled": False,
}
USAGES = {"b161": 7, "b206": 20, "b32": 7, "b83": 6, "b87": 7}
"""Usage in percent of five brokers: one is over the limit of 9.4 + 10."""


def measured(cluster, strategy, usages=MappingProxyType(USAGES)):
    """Yield a cycle in which a release unloads nothing: it would shed less than its minimum."""
    settings = {**SETTINGS, "loadBalancerLoadSheddingStrategy": f"{IMPL}{strategy}"}
    yield 0, {"kind": "settings", "settings": settings}
    yield 0.1, {"kind": "leader", "broker": "b161:8080"}
    for place, (name, usage) in enumerate(usages.items()):
        owned = [
            f"perf/load/0x{2 * place + one:x}0000000_0x{2 * place + one + 1:x}0000000"
            for one in (0, 1)
        ]
        one = {**report("b1:8080", 0.2, owned), "cpu": {"usage": usage, "limit": 100}}
        yield 0.2, {"kind": "load_report", "broker": f"{name}:8080", "report": one}
    yield 1, {"kind": "cycle"}
    yield 3, {"kind": "load_report", "broker": "b87:8080", "report": one}


def list_of(folder):
    cycle = {"kind": "cycle", "cluster": "x", "at": "2026-11-20T10:06:00.000Z"}
    records = [{**one, "cluster": "list"} for one in (*own_records(), cycle)]
    (folder / "list.json").write_text(json.dumps(records, indent=1))
    return folder


def queries(folder):
    answer = {"status": "success", "data": {"result": list(series())}}
    (folder / "query.json").write_text(json.dumps(answer))
    return folder


FORMS = {"list": list_of, "curl": curl_folder, "znodes": znodes, "object": one_object}


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    """Audit all clusters together; return profile, summary, text, folder and rows of verdicts."""
    folder = tmp_path_factory.mktemp("released")
    conf, log, history = folder / "conf.json", folder / "broker.log", folder / "history"
    conf.write_text(
        json.dumps(
            {name: str(one).lower() if one is False else one for name, one in SETTINGS.items()}
        )
    )
    log.write_text(
        f"2026-11-20T10:06:00,000+0000 [main] INFO {PLANNED}\n"
        f"2026-11-20T10:06:01,000+0000 [main] INFO {LOGGED}\n"
    )
    for name, save in {**FORMS, "metrics": queries}.items():
        (folder / name).mkdir()
        sources = [
            str(save(folder / name)),
            *([str(log)] if name not in ("list", "metrics") else []),
        ]
        words = ["--conf", str(conf), "--cluster", name, "--output", str(history / name)]
        assert main(["import", *sources, *words]) == 0
    for cluster, strategy in (("threshold", "ThresholdShedder"), ("averaged", "AvgShedder")):
        lines = history_lines(cluster, measured(cluster, strategy))
        (history / f"{cluster}.jsonl").write_text(lines)
    profile = profile_of_history(spark.session, str(history))
    plan, out = AuditPlan.of(profile, by_documents_too=True), str(folder / "audit")
    how = ReportOptions(quiet=True)
    found, lines = write_audit(
        spark.session, str(history), out, plan, Counterfactual({}, None), how
    )
    rows = spark.session.read.parquet(f"{out}/verdicts").collect()
    return profile, found, " ".join(" ".join(lines).split()), folder, rows


def verdicts(audited, cluster):
    return sorted(
        (stamp(row["cycle"]), row["rule"], row["verdict"], row["evidence"])
        for row in audited[-1]
        if row["cluster"] == cluster
    )


def test_the_release_that_the_reports_name_judges(audited):
    profile, found, *_ = audited
    assert profile == found["profile"] == "released-3.0"
    assert found["lines"]["quarantined"] == {}


def test_what_the_documents_judge_otherwise_is_named_a_rule_a_line(audited):
    _, found, text, *_ = audited
    at = {row["cluster"]: row["rule"] for row in found["documents"]["differences"]}
    assert "threshold" in at
    assert "verdicts by documented-3.0 that differ from those by released-3.0:" in text
    assert "THRESHOLD-01" in text.partition("that differ from")[2]
    assert "b206:8080 kept all; it is at 20 %, limit 19.4 %" in text
    accused = [row for row in verdicts(audited, "threshold") if row[2] == "not done though due"]
    assert accused == []


@pytest.mark.thorough
def test_documents_judge_beside_a_release_as_they_do_alone(audited, spark):
    """The findings by documents are the same beside a release, with which they share tables."""
    *_, folder, _ = audited
    history, out = str(folder / "history"), folder / "audit"
    assert not (out / "documented-unloads").exists()
    plan = AuditPlan.of("documented-3.0")
    made = build_audit_tables(spark.session, history, str(folder / "alone"), plan, None, quiet=True)
    columns = ("cluster", "cycle", "rule", "verdict", "evidence")
    beside = spark.session.read.parquet(f"{out}/documented-findings").select(*columns)
    assert sorted(map(str, made["findings"].select(*columns).collect())) == sorted(
        map(str, beside.collect())
    )


def test_a_strategy_that_no_document_has_is_reported_as_not_judged(audited):
    _, found, text, *_ = audited
    assert found["unknown_strategies"] == {"AvgShedder": 1}
    assert "AvgShedder, 1 shedding cycle: no document of documented-3.0 describes it" in text
    assert {rule for _, rule, *_ in verdicts(audited, "averaged")} <= {"SHED-02", "SHED-03"}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_history_has_the_same_verdicts_from_each_form(audited, form):
    found = verdicts(audited, form)
    assert found == verdicts(audited, "list")
    assert {rule for _, rule, *_ in found} >= {"SHED-02", "SHED-03"}


def test_metrics_accuse_nobody_for_the_time_between_their_samples(audited):
    found = verdicts(audited, "metrics")
    assert found
    assert {verdict for *_, verdict, _ in found} <= {"allowed", "undecided"}


@pytest.mark.thorough
def test_the_documents_of_2_10_demand_that_an_overloaded_broker_sheds(spark, tmp_path):
    """The documents demand shedding under any strategy, here ThresholdShedder."""
    history, out = tmp_path / "history", str(tmp_path / "audit")
    history.mkdir()
    events = measured("hot", "ThresholdShedder", {**USAGES, "b206": 95})
    (history / "hot.jsonl").write_text(history_lines("hot", events))
    plan, how = AuditPlan.of("documented-2.10"), ReportOptions(quiet=True)
    write_audit(spark.session, str(history), out, plan, Counterfactual({}, None), how)
    rows = spark.session.read.parquet(f"{out}/verdicts").where("rule = 'SHED-08'").collect()
    assert [row["verdict"] for row in rows] == ["not done though due"]
    assert rows[0]["evidence"].startswith("b206:8080 kept all")
