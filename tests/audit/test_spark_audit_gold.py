"""Knowledge, decisions and unloads at each cycle of small histories with known verdicts."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.averages import Timeline
from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.audit.pipeline import spark_tuning
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import GOLD, TABLES
from pulsar_conformance.audit.tables.cycles import strategies_followed
from pulsar_conformance.audit.tables.decisions import decided_bundles
from pulsar_conformance.audit.verdicts.verdicts import checks_for_strategies
from pulsar_conformance.conformance.cases.saved import trial_of
from pulsar_conformance.conformance.engine.evaluate import RuleEvaluator
from pulsar_conformance.reference import Readings
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

PROFILE = "documented-3.0"
START = datetime(2026, 11, 20, tzinfo=UTC)
SETTINGS = {
    "loadBalancerSheddingEnabled": "true",
    "loadBalancerLoadSheddingStrategy": "OverloadShedder",
    "loadBalancerBrokerOverloadedThresholdPercentage": "85",
    "loadBalancerSheddingGracePeriodMinutes": "30",
    "loadBalancerSheddingIntervalMinutes": "5",
}
HOT, COLD = 90.0, 10.0
TASKS = 2
SILVER = ("broker_samples", "bundle_samples", "actions", "contexts")


def at(minute):
    return START + timedelta(minutes=minute)


def bundle(place):
    return f"t/ns/0x{place:08x}_0x{place + 1:08x}"


class History:
    """A history as rows of the silver tables, written in a short notation."""

    def __init__(self):
        self.rows = {name: [] for name in SILVER}

    def add(self, table, cluster, minute, **columns):
        day = at(minute).date()
        row = {"cluster": cluster, "at": at(minute), "day": day, **columns}
        self.rows[table].append(row)

    def begin(self, cluster, leader=True):
        if leader:
            self.add("contexts", cluster, 0, kind="leader", broker="b1")
        self.add("contexts", cluster, 0, kind="settings", settings=SETTINGS)

    def report(self, cluster, minute, broker, cpu, places, rate=10.0):
        names = [bundle(place) for place in places]
        percent = {"cpu": cpu, "memory": 0.0, "directMemory": 0.0}
        percent |= {"bandwidthIn": 0.0, "bandwidthOut": 0.0}
        rates = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
        total = dict.fromkeys(rates, rate * len(names))
        self.add("broker_samples", cluster, minute, broker=broker, percent=percent, bundles=names)
        self.rows["broker_samples"][-1] |= total
        for place, name in zip(places, names, strict=True):
            own = dict.fromkeys(rates, rate + place)
            self.add("bundle_samples", cluster, minute, broker=broker, bundle=name, **own)

    def both(self, cluster, minute, cpu):
        self.report(cluster, minute, "b1", cpu, (0, 1, 2, 3))
        self.report(cluster, minute, "b2", COLD, (4, 5))

    def cycles(self, cluster, *minutes):
        for minute in minutes:
            self.add("contexts", cluster, minute, kind="cycle")

    def unload(self, cluster, minute, place, broker="b1", cause=None):
        self.add(
            "actions",
            cluster,
            minute,
            kind="unloaded",
            bundle=bundle(place),
            broker=broker,
            cause=cause,
        )


def histories():
    told = History()
    told.begin("recorded")
    for minute in (4, 9, 14, 19):
        told.both("recorded", minute, HOT)
    told.cycles("recorded", 5, 10, 15, 20)
    told.unload("recorded", 5.1, 3)  # the heaviest, more than a tenth of what the broker carries
    told.unload("recorded", 15.1, 3, cause="shedding")  # within the grace period
    told.unload("recorded", 15.2, 5, broker="b1", cause="shedding")  # of another broker
    for cluster in ("guessed", "unled"):
        told.begin(cluster, leader=cluster == "guessed")
        for minute, cpu in ((4, COLD), (9, COLD), (12, HOT), (17, HOT), (22, HOT)):
            told.both(cluster, minute, cpu)
        told.unload(cluster, 7, 3, cause="shedding")  # nobody is overloaded
        told.unload(cluster, 15.1, 2, cause="shedding")
        told.both(cluster, 30, HOT)
    told.begin("old")
    told.both("old", 1, HOT)
    told.report("old", 2, "b3", COLD, ())
    told.report("old", 29, "b3", COLD, ())
    told.report("old", 29, "b2", COLD, (4, 5))
    told.cycles("old", 16, 17, 30)
    told.report("old", 31, "b3", COLD, ())
    return told


@pytest.fixture(scope="module")
def made(audit_session):
    """Return the tables, each built as in an audit of a large history."""
    told, session = histories().rows, audit_session
    silver = Silver(*(session.createDataFrame(told[name], TABLES[name].schema) for name in SILVER))
    # Readings that are left open would cost an audit for each alternative.
    plan = AuditPlan.of(PROFILE, specs.load().default_readings(PROFILE))
    tables = {}
    for name, table in GOLD.items():
        configure(session, spark_tuning.table_settings(name, spark_tuning.SMALL_BYTES, TASKS))
        rows = table.build(silver, tables, plan)
        columns = {
            one.split()[0] for one in session.createDataFrame([], TABLES[name].schema).columns
        }
        assert {*rows.columns, "day"} == columns
        tables[name] = session.createDataFrame(rows.collect(), rows.schema)
    tables["decided"] = (
        decided_bundles(tables, plan).withColumnRenamed("cycle", "key").select("key.*", "*")
    )
    return {name: [row.asDict() for row in rows.collect()] for name, rows in tables.items()}


def minute(time):
    return round((time.replace(tzinfo=UTC) - START) / timedelta(minutes=1), 2)


def verdicts(made, cluster, *rules):
    return {
        (minute(row["cycle"]), row["rule"]): row["verdict"]
        for row in made["verdicts"]
        if row["cluster"] == cluster and (row["rule"] in rules or row["verdict"] != "allowed")
    }


def test_what_is_recorded_is_judged_at_its_cycle(made):
    assert verdicts(made, "recorded", "OVERLOAD-01") == {
        (5.0, "OVERLOAD-01"): "allowed",
        (10.0, "OVERLOAD-01"): "not done though due",
        (10.0, "OVERLOAD-02"): "not done though due",
        (10.0, "OVERLOAD-09"): "not done though due",
        (15.0, "OVERLOAD-01"): "allowed",
        (15.0, "SHED-02"): "violated",
        (15.0, "SHED-04"): "violated",
        (20.0, "OVERLOAD-01"): "undecided",
        (20.0, "OVERLOAD-02"): "undecided",
        (20.0, "OVERLOAD-09"): "undecided",
    }


def test_what_another_moment_would_turn_around_is_undecided(made):
    assert verdicts(made, "guessed", "OVERLOAD-01") == {
        (5.0, "OVERLOAD-04"): "violated",
        (10.0, "OVERLOAD-01"): "undecided",
        (10.0, "OVERLOAD-02"): "undecided",
        (10.0, "OVERLOAD-09"): "undecided",
        (15.0, "OVERLOAD-01"): "allowed",
        (20.0, "OVERLOAD-01"): "not done though due",
        (20.0, "OVERLOAD-02"): "not done though due",
        (20.0, "OVERLOAD-09"): "not done though due",
        (25.0, "OVERLOAD-01"): "not done though due",
        (25.0, "OVERLOAD-02"): "not done though due",
        (25.0, "OVERLOAD-09"): "not done though due",
        (30.0, "OVERLOAD-01"): "undecided",
        (30.0, "OVERLOAD-02"): "undecided",
        (30.0, "OVERLOAD-09"): "undecided",
    }


def test_without_a_leader_nothing_is_sure(made):
    words = set(verdicts(made, "unled").values())
    assert words == {"undecided"}


def test_a_report_counts_for_fifteen_minutes(made):
    reported = {
        (minute(row["cycle"]), row["broker"])
        for row in made["broker_usage"]
        if row["cluster"] == "old" and row["standing"] is None
    }
    assert reported == {
        (16.0, "b1"),
        (16.0, "b2"),
        (16.0, "b3"),
        (17.0, "b3"),
        (30.0, "b2"),
        (30.0, "b3"),
    }


def test_averages_begin_with_the_leader_and_unloads_are_remembered(made):
    known = {
        (minute(row["cycle"]), row["bundle"]): row
        for row in made["bundle_averages"]
        if row["cluster"] == "recorded"
    }
    third = known[15.0, bundle(3)]
    assert third["shortTermData"]["numSamples"] == 3
    assert third["longTermData"]["msgRateIn"] == pytest.approx(13)
    assert third["moved"] == pytest.approx(9.9)
    assert known[5.0, bundle(3)]["moved"] is None


def whys(rows):
    """Return the reasons by minute, bundle and broker, for the cluster with recorded cycles."""
    return {
        (minute(row["cycle"]), row["bundle"], row["broker"]): row["why"]
        for row in rows
        if row["cluster"] == "recorded"
    }


def test_every_choice_is_explained(made):
    every = whys(made["decided"])
    assert every[5.0, bundle(3), "b1"] == "over by 5 points, needs 8 B/s, running sum 0 B/s"
    assert every[5.0, bundle(2), "b1"] == "enough already gone: 26 B/s of 8 B/s"
    assert every[5.0, bundle(4), "b2"] == "broker not over its threshold"
    assert every[10.0, bundle(3), "b1"] == "recently unloaded (4.9 min ago)"
    assert every[15.0, bundle(5), "b1"] == "unloaded, though not in the broker's last report"


def test_what_is_kept_is_what_was_chosen_or_unloaded(made):
    kept = whys(made["decisions"])
    assert sorted((time, broker, name) for time, name, broker in kept) == [
        (5.0, "b1", bundle(3)),
        (10.0, "b1", bundle(2)),
        (15.0, "b1", bundle(2)),
        (15.0, "b1", bundle(3)),
        (15.0, "b1", bundle(5)),
        (20.0, "b1", bundle(2)),
    ]


def test_a_case_is_broken_as_its_cycle_was(made):
    evaluator = RuleEvaluator(specs.load().defaults(PROFILE), Readings.of(PROFILE))
    done = {(5.0, "guessed"): [("b1", 3)], (10.0, "recorded"): [], (20.0, "guessed"): []}
    done[15.0, "recorded"] = [("b1", 3), ("b1", 5)]
    key, judged, cases = ("cluster", "cycle", "rule"), 0, {}
    moments = {tuple(row[n] for n in key): row["moment"] for row in made["findings"]}
    for row in made["verdicts"]:
        moment = moments[tuple(row[n] for n in key)]
        assert (moment is None) == (row["verdict"] == "allowed")
        if row["case"] is not None:
            assert (row["cluster"], row["cycle"], moment) not in cases
            cases[row["cluster"], row["cycle"], moment] = row["case"]
    for row in made["verdicts"]:
        cycle = minute(row["cycle"]), row["cluster"]
        if row["verdict"] in ("violated", "not done though due") and cycle in done:
            pairs = [{"broker": one, "bundle": bundle(place)} for one, place in done[cycle]]
            moment = moments[tuple(row[n] for n in key)]
            trial = trial_of(json.loads(cases[row["cluster"], row["cycle"], moment]))
            assert evaluator.legal(trial)
            assert evaluator.judge(row["rule"], trial, [{"unload": pairs}]).violated
            judged += 1
    assert judged > 5


@pytest.mark.parametrize(
    ("named", "areas"),
    [
        (("ThresholdShedder", "Own"), {"SHED", "THRESHOLD"}),
        (("OverloadShedder", "UniformLoadShedder"), {"SHED", "OVERLOAD", "UNIFORM"}),
        (("Own", None), {"SHED"}),
        ((), {"SHED"}),
    ],
)
def test_rules_of_strategies_that_no_cycle_follows_are_not_asked(audit_session, named, areas):
    rows = [(one, None) for one in named]
    ran = audit_session.createDataFrame(rows, "strategy string, other_strategy string")
    plan = AuditPlan.of(PROFILE)
    rules = checks_for_strategies(strategies_followed({"cycles": ran}, plan), plan)
    assert {rule.partition("-")[0] for rule in rules} == areas


def test_the_next_row_that_has_a_value(audit_session):
    rows = [("b1", 1, None), ("b1", 2, "x"), ("b1", 3, None), ("b1", 4, "y"), ("b2", 5, "z")]
    frame = audit_session.createDataFrame(rows, "broker string, at int, seen string")
    told = frame.select("at", Timeline(("broker",), ("at",)).value_after("seen").alias("next"))
    assert dict(told.collect()) == {1: "x", 2: "y", 3: "y", 4: None, 5: None}
