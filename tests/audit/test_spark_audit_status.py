"""The exit status of an audit with nothing to judge, and the profiles that it accepts."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from contextlib import nullcontext
from datetime import datetime, timedelta
from types import SimpleNamespace

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.session import last_cause
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import report, summary
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import check_profile_has_rules
from pulsar_conformance.audit.pipeline.report_text import case_file_lines, report_lines
from pulsar_conformance.audit.verdicts.verdict_lines import assumption_lines
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pulsar_conformance.conformance.commands.main import main
from pyspark.errors import AnalysisException
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

EMPTY = {"cycles": 0, "wrong": 0, "rules": {}, "lines": {"read": 2, "used": 2, "quarantined": {}}}
NOTHING = {
    "no line is used": (
        [],
        0,
        2,
        "none of its lines can be used; out/quarantine gives the reasons",
    ),
    "no cycle": ([], 2, 2, "no broker had reported before any of its shedding cycles"),
    "none in that time": (["--from", "2026-11-20"], 2, 2, "between --from and --to; give another"),
}


@pytest.fixture
def unstarted(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    none = nullcontext(SimpleNamespace(session=None))
    monkeypatch.setattr(session, "spark_acquired", lambda *_: none)


@pytest.mark.parametrize("case", NOTHING)
def test_where_nothing_could_be_audited_it_says_so(case, unstarted, monkeypatch, capsys):
    words, used, status, told = NOTHING[case]
    found = {**EMPTY, "lines": {**EMPTY["lines"], "used": used}}
    monkeypatch.setattr(report, "write_audit", lambda *_: (found, iter(())))
    assert main(["audit", "--input", "in", "--output", "out", *words]) == status
    assert told in capsys.readouterr().err


def test_what_spark_cannot_do_is_one_sentence(unstarted, monkeypatch, capsys):
    def broken(*_):
        raise AnalysisException("[X] It broke.\n;\n'Project [x]")

    monkeypatch.setattr(report, "_build_report", broken)
    assert main(["audit", "--input", "in", "--output", "out"]) == 2
    shown = capsys.readouterr().err
    assert "Spark stopped: [X] It broke; finished tables are kept" in shown
    assert shown.count("\n") == 1


def test_the_last_cause_is_reported():
    trace = (
        "An error occurred.\n: org.apache.Failed: job\n\tat x.Y\nCaused by: java.io.No: a file\n"
    )
    assert last_cause(Exception(trace)) == "a file"
    assert last_cause(ValueError("")) == "ValueError"


def test_clusters_without_a_cycle_are_named():
    def told(clusters, names):
        counts = {"clusters": clusters, "clusters_without_cycle": names}
        found = {**FOUND, **counts, "unloads": NO_UNLOADS}
        return " ".join(" ".join(report_lines(found, [], "out/cases")).split())

    assert "no cycle or unload" not in told(1, [])
    assert "2 more clusters have no cycle or unload that can be judged: a, b" in told(1, ["a", "b"])
    assert "1 cluster has no cycle or unload that can be judged: a" in told(0, ["a"])
    assert "judged: c, c, c, c, c and 4 more" in told(3, ["c"] * 9)


def test_a_release_is_judged_by_the_documents_that_it_follows():
    of = specs.load().profile("released-3.0")
    documented = set(rules_of(AuditPlan.of("documented-3.0", of.readings)))
    assert set(rules_of(AuditPlan.of(of.id))) == documented - set(of.without)


def test_documents_without_rules_of_shedding_are_reported():
    with pytest.raises(AuditError, match="it has no rule about unloads"):
        check_profile_has_rules(AuditPlan.of("unwritten-3.0"))


def test_the_report_says_which_violated_rules_have_no_case():
    assert list(case_file_lines(["SHED-04", "THRESHOLD-02"], "out/cases")) == [
        "case files, for pulsar-conformance explain: out/cases/*.json"
    ]
    assert " ".join(case_file_lines(["SHED-04", "SPLIT-05"], "out/cases")) == (
        "case files of SHED-04, for pulsar-conformance explain: out/cases/*.json "
        "no case files of SPLIT-05, judged by the records of single events, whose numbers   "
        "are given above"
    )
    [line, *_] = case_file_lines(["CHANNEL-01"], "out/cases")
    assert line.startswith("no case files of CHANNEL-01")


NO_UNLOADS = {
    "recorded": 0,
    "in_violation": 0,
    "causes": {},
    "open": 0,
    "unchosen": 0,
    "uncertain": {},
}
FOUND = {
    "profile": "released-3.0",
    "from": None,
    "to": None,
    "settings_recorded": True,
    "unknown_settings": {},
    "lines": {"read": 9, "used": 9, "quarantined": {}},
    "clusters": 1,
    "clusters_without_cycle": [],
    "cycles": 3,
    "cycles_judged": 3,
    "transfers": 0,
    "splits": 0,
    "leaders": {"count": 0, "first": []},
    "wrong": 0,
    "follow": 0,
    "rules": {},
    "unknown_strategies": {},
    **dict.fromkeys(("missing", "omitted", "excess", "rules_without_check", "undecided"), ()),
}


@pytest.mark.parametrize(
    ("count", "uncertain", "unlike"),
    [
        (
            1,
            "1 of the 4 may or may not be by shedding, so its cycle is judged with and without it",
            "1 of the 4 has no recorded cause and is not what the strategy would unload in its",
        ),
        (
            2,
            "2 of the 4 may or may not be by shedding, so their cycles are judged with and without",
            "2 of the 4 have no recorded cause and are not what the strategy would unload in",
        ),
    ],
)
def test_unloads_of_uncertain_cause_are_told_in_sentences_below_the_counts(
    count, uncertain, unlike
):
    unloads = {"recorded": 4, "in_violation": 0, "causes": {"shedding": 3, "unknown": 1}}
    unloads |= {"open": count, "unchosen": count, "uncertain": {"shedding": count}}
    lines = list(report_lines({**FOUND, "unloads": unloads}, [], "out/cases"))
    at = lines.index("         1  unknown")
    told = " ".join(" ".join(lines[at + 1 :]).split())
    assert f"         {count}  perhaps shedding" in lines[:at]
    assert told.startswith(uncertain)
    assert unlike in told
    assert not any(line.split("  ")[-1].startswith("of these") for line in lines)


def test_causes_that_may_also_be_shedding_are_counted_as_such():
    unloads = {"recorded": 20, "in_violation": 0, "causes": {"shutdown": 14, "unknown": 6}}
    unloads |= {"open": 18, "unchosen": 0, "uncertain": {"shutdown": 12, "unknown": 6}}
    lines = list(report_lines({**FOUND, "unloads": unloads}, [], "out/cases"))
    at = lines.index("         2  shutdown")
    assert lines[at + 1 : at + 3] == [
        "        12  shutdown or shedding",
        "         6  unknown or shedding",
    ]


@pytest.mark.parametrize(
    ("cycles", "transfers", "told"),
    [
        (3, 0, "1 cluster, 3 shedding cycles"),
        (0, 2, "1 cluster, 2 shedding cycles known by unloads"),
        (3, 1, "1 cluster, 3 shedding cycles, 1 shedding cycle known by unloads"),
    ],
)
def test_transfers_are_counted_as_cycles_that_are_known_by_their_unloads(cycles, transfers, told):
    found = {**FOUND, "unloads": NO_UNLOADS, "cycles": cycles}
    assert told in list(report_lines({**found, "transfers": transfers}, [], "out/cases"))


def test_unloads_by_transfers_count_in_the_cycle_known_by_its_first_unload(spark):
    def at(minute, second=0):
        return datetime(2026, 11, 12, 0, minute, second)

    cycle = "cluster string, cycle timestamp"
    went = [("c", None, "p1", f"b{nth}", when) for nth, when in enumerate(map(at, (1, 5, 9)))]
    went.insert(1, ("c", None, "p1", "b9", at(1, 2)))
    unloads = spark.session.createDataFrame(
        [(*one, "shedding", False) for one in went],
        f"{cycle}, broker string, bundle string, at timestamp, cause string, open boolean",
    )
    judged = [
        ("c", at(1), "TRANSFER-02", "violated"),
        ("c", at(1), "TRANSFER-08", "allowed"),
        ("c", at(5), "TRANSFER-08", "allowed"),
        ("c", at(9), "TRANSFER-02", "undecided"),
    ]
    verdicts = spark.session.createDataFrame(judged, f"{cycle}, rule string, verdict string")
    (row,) = summary.judged_unloads(unloads, verdicts).collect()
    assert row.asDict() == {"allowed": 1, "in_violation": 2}


def test_the_arithmetic_says_what_it_assumes_about_brokers(spark):
    when = datetime(2026, 11, 12)
    rows = [
        (when, "b1", "perhaps", "b1: another broker leads in its place"),
        (when, "b2", "late", "b2: its last report is older than the longest interval"),
        (when, "b3", None, None),
        (when + timedelta(minutes=5), "b4", "perhaps", "b4: its shutdown is recorded"),
    ]
    types = "moment timestamp, broker string, standing string, note string"
    usages = spark.session.createDataFrame(rows, types)
    text = " ".join(" ".join(assumption_lines(usages, "2026-11-12T00:00:00Z")).split())
    assert text == (
        "this arithmetic counts a broker that may be down, b1: another broker leads in its place "
        "this arithmetic leaves out a broker that may be up, b2: its last report is older than the "
        "longest interval"
    )


@pytest.mark.parametrize(
    ("strategy", "profile", "told"),
    [
        ("AvgShedder", "released-4.2", "released-4.2 has no rule about it"),
        ("AvgShedder", "released-4.2", "documented-4.2 describes it"),
        ("AvgShedder", "released-3.0", "no document of documented-3.0 describes it"),
        ("AvgShedder", "documented-3.0", "no document of documented-3.0 describes it"),
        ("LoudShedder", "released-4.2", "no document describes it"),
    ],
)
def test_a_strategy_is_described_by_the_documents_that_do(strategy, profile, told):
    found = {
        **FOUND,
        "unloads": NO_UNLOADS,
        "profile": profile,
        "unknown_strategies": {strategy: 2},
    }
    text = " ".join(" ".join(report_lines(found, [], "out/cases")).split())
    assert f"{strategy}, 2 shedding cycles: " in text
    assert told in text


def test_of_many_faults_of_a_rule_the_report_tells_how_many_more_there_are():
    one = {"rule": "SHED-02", "verdict": "violated", "cluster": "eu", "cycle": "2026-11-20"}
    one |= {"evidence": "b1 shed a", "follows": None, "independent": 5}
    for shown, more in ((3, "and 2 further faults of SHED-02"), (5, "")):
        faults = [{**one, "nth": place + 1} for place in range(shown)]
        found = {**FOUND, "unloads": NO_UNLOADS, "profile": "documented-4.2"}
        lines = list(report_lines(found, faults, "out/cases"))
        assert ("further fault" in "".join(lines)) == bool(more)
        assert more in "".join(lines)


def test_a_comparison_of_settings_says_how_the_release_differs_from_what_it_computes():
    numbers = {"bundles": 1, "cycles": 1, "brokers": 1, "bytes_per_second": 1e6}
    asked = {"recorded": numbers, "asked": numbers, "both": 1, "only_asked": 0}
    found = {**FOUND, "unloads": NO_UNLOADS, "asked": asked}

    def told(profile):
        lines = report_lines({**found, "profile": profile}, [], "out/cases")
        return " ".join(" ".join(lines).split())

    text = told("released-3.0")
    assert "computed by the amounts of documented-3.0, from which released-3.0 differs" in text
    assert "sheds the excess over average and threshold plus five points, instead of down" in text
    assert "nothing if that is not above loadBalancerBundleUnloadMinThroughput" in text
    assert "for the release's own decisions, use simulate --history FILE" in text
    assert "ThresholdShedder" not in told("released-2.4")
    assert "computed by" not in told("documented-3.0")
