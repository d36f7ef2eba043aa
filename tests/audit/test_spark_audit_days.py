"""The tables of a history that grows or is corrected equal those of an audit of all files
at once.
"""

import json
import random
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.adapters.spark.session import separate_session
from pulsar_conformance.audit.input import changes
from pulsar_conformance.audit.input.by_cluster import NEVER
from pulsar_conformance.audit.input.files import current_files
from pulsar_conformance.audit.input.records import records
from pulsar_conformance.audit.pipeline import reading, spark_tuning
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.reading import records_step
from pulsar_conformance.audit.pipeline.running import build_tables
from pulsar_conformance.audit.pipeline.steps import INCREMENTAL, build_steps
from pulsar_conformance.audit.pipeline.tables import GOLD, SESSION, SILVER, TABLES
from pulsar_conformance.audit.pipeline.writing import Store
from pulsar_conformance.audit.tables import averages, recent
from pulsar_conformance.audit.verdicts import splits
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

START, DAY = datetime(2026, 11, 20, tzinfo=UTC), timedelta(days=1)
CLUSTERS = ("guessed", "told")
DAYS, BROKERS, BUNDLES = 4, 3, 4
EVERY = 60
"""Minutes between the reports of a broker."""

FRAMES = {"shortTermData": 4, "longTermData": 30}
"""Numbers of samples in the time frames, so small that the first days no longer count."""

SETTINGS = {
    "loadBalancerSheddingIntervalMinutes": EVERY,
    "loadBalancerReportUpdateMaxIntervalMinutes": 2 * EVERY,
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0.9,
    "loadBalancerSheddingGracePeriodMinutes": 3 * EVERY,
}


def line(kind, cluster, at, **fields):
    when = at.isoformat().replace("+00:00", "Z")
    return json.dumps({"kind": kind, "cluster": cluster, "at": when, **fields})


def name(number):
    return f"t/ns/0x{number:08x}_0x{number + 1:08x}"


def day_of(number, chance):
    """Return the events of a day of two clusters; the cycles of only one cluster are recorded."""
    begin = START + timedelta(days=number)
    for cluster in CLUSTERS:
        if number == 0:
            yield line("settings", cluster, begin, settings=SETTINGS)
            yield line("leader", cluster, begin, broker="b0")
        if number == 2:
            yield line("leader", cluster, begin + timedelta(hours=5, minutes=7), broker="b1")
            yield from split(cluster, begin + timedelta(hours=20))
        for minute in range(1, 1440, EVERY):
            at = begin + timedelta(minutes=minute)
            yield from reports(cluster, at, chance)
            if cluster == "told":
                yield line("cycle", cluster, at + timedelta(minutes=1))
            if chance.random() < 0.2:
                moved, since = name(chance.randrange(BUNDLES)), at + timedelta(minutes=1, seconds=2)
                yield line("unloaded", cluster, since, broker="b0", bundle=moved)
                yield line("assigned", cluster, since, broker="b1", bundle=moved)
        yield data(cluster, begin + timedelta(hours=1), name(1))


SPLIT = "t/ns/0x00000000_0x00000002"
"""The bundle that `split` divides."""


def split(cluster, at):
    """Yield records of an automatic split, after a report that lists the bundle."""
    owned = {SPLIT: {"msgRateIn": 1.0}}
    cpu = {"usage": 1, "limit": 100}
    told = {"cpu": cpu, "bundles": [SPLIT], "lastStats": owned}
    yield line("load_report", cluster, at - timedelta(minutes=2), broker="b9", report=told)
    into = ["t/ns/0x00000000_0x00000001", "t/ns/0x00000001_0x00000002"]
    yield line("split", cluster, at, bundle=SPLIT, into=into, cause="automatic")


def data(cluster, at, bundle):
    """Return the leader's record of a bundle."""
    said = {"msgRateIn": 5.0, "numSamples": 3}
    told = {"shortTermData": said, "longTermData": said}
    return line("bundle_data", cluster, at, bundle=bundle, data=told)


def reports(cluster, at, chance):
    for broker in range(BROKERS):
        owned = [name(one) for one in range(BUNDLES) if one % BROKERS == broker]
        loads = {
            one: {"msgRateIn": chance.randrange(99) / 8, "msgThroughputIn": 1e6 * chance.random()}
            for one in owned
        }
        cpu = {"usage": chance.randrange(100), "limit": 100}
        told = {"cpu": cpu, "bundles": owned, "lastStats": loads}
        yield line("load_report", cluster, at, broker=f"b{broker}", report=told)


@pytest.fixture(scope="module")
def session(spark):
    for setting, value in SESSION.items():
        spark.session.conf.set(setting, value)
    return spark.session


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    monkeypatch.setattr(averages, "FRAMES", FRAMES)


@pytest.fixture(scope="module")
def every_line():
    chance = random.Random(7)
    return [list(day_of(number, chance)) for number in range(DAYS + 1)]


@pytest.fixture
def written(every_line):
    """Return the lines of each day."""
    return [list(day) for day in every_line]


def write(folder, number, lines):
    (folder / f"{number}.jsonl").write_text("".join(one + "\n" for one in lines), "utf-8")


PLAN = AuditPlan.of("documented-3.0")


def made(store, history, tell=lambda _table, _mark: None, count=None, plan=PLAN):
    """Run an audit, or only its first `count` tables; return the marks of the tables."""
    first = records_step(store, str(history), current_files(store.spark, str(history)))
    every = list(build_steps(first, plan, None))
    with spark_tuning.tasks_at_once(store.spark) as tasks:

        def set_up(of, table, _part):
            configure(of.spark, {**SESSION, **spark_tuning.table_settings(table, 0, tasks)})

        def beside():
            return Store(separate_session(store.spark), store.path)

        return build_tables(store, every[:count], tell, set_up, beside=beside)


def rows(store):
    """Return each table as sorted rows; fractional numbers are rounded to twelve digits."""
    return {table: sorted(map(repr, map(rounded, store.read(table).collect()))) for table in TABLES}


def rounded(value):
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, str) and value.startswith('{"ask"'):
        return rounded(json.loads(value))
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in sorted(value.items())}
    return [rounded(one) for one in value] if isinstance(value, list | tuple) else value


def files_before(store, day):
    """Return the files of the days before `day` in tables that are only partly rebuilt."""
    tables = [table for table in TABLES if table in INCREMENTAL or table not in GOLD]
    files = {file for table in tables for file in store.read(table).inputFiles()}
    return {file for file in files if "day=2" in file and file.partition("day=")[2][:10] < day}


def check(session, store, history, folder):
    """Check that the tables equal those of a run that has all files at once."""
    whole = Store(session, str(folder / "whole"))
    shutil.rmtree(whole.path, ignore_errors=True)
    made(whole, history)
    ours, others = rows(store), rows(whole)
    for table in TABLES:
        assert ours[table] == others[table], table


@pytest.fixture(scope="module")
def begun(session, every_line, tmp_path_factory):
    """Audit a history of all days but the last; return the folder of both, and a copy of it."""
    there = tmp_path_factory.mktemp("there")
    (there / "history").mkdir()
    for number in range(DAYS):
        write(there / "history", number, every_line[number])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(averages, "FRAMES", FRAMES)
        made(Store(session, str(there / "made")), there / "history")
    copy = tmp_path_factory.mktemp("copy") / "of"
    shutil.copytree(there, copy)
    return there, copy


@pytest.fixture
def audited(session, begun):
    """Provide a history of all days but the last, and the unchanged store of its audit."""
    there, copy = begun
    shutil.rmtree(there)
    shutil.copytree(copy, there)
    return there / "history", Store(session, str(there / "made"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("near", "fresh"),
    [
        (timedelta(0), timedelta(0)),
        (recent.MAX_UNPRUNED_PERIOD, recent.MAX_SUMMED_PERIOD),
    ],
)
def test_a_corrected_day_and_a_day_more_come_to_what_all_of_it_at_once_does(
    session, written, audited, tmp_path, monkeypatch, near, fresh
):
    monkeypatch.setattr(recent, "MAX_UNPRUNED_PERIOD", near)
    monkeypatch.setattr(recent, "MAX_SUMMED_PERIOD", fresh)
    history, store = audited
    moved = ('"unloaded", "cluster": "told"', '"assigned", "cluster": "told"')
    third = [one for one in written[2] if not any(kind in one for kind in moved)]
    told = '"told"', '"b0", "report"'
    first = next(n for n, one in enumerate(third) if all(part in one for part in told))
    third[first] = third[first].replace('"cpu": {"usage": ', '"cpu": {"usage": 1')
    write(history, 2, [*third, "no JSON"])
    (history / "3.jsonl").unlink()
    marks = made(store, history)
    assert all(mark.before for mark in marks.values())
    named = {cluster: f"{at:%Y-%m-%d}" for cluster, at in marks["records"].change.named.items()}
    assert named == {"told": "2026-11-22", "guessed": "2026-11-23"}
    assert marks.pop("transfer_findings").since == NEVER
    dates = {table: f"{mark.since:%Y-%m-%d}" for table, mark in marks.items()}
    assert {dates[table] for table in SILVER} == {"2026-11-22"}
    assert dates["cycles"] == "2026-11-21", "the last hour of a day depends on the next day"
    assert set(dates.values()) == {"2026-11-21", "2026-11-22"}
    assert store.read("records").where("day = '2026-11-23'").isEmpty()
    kept = files_before(store, "2026-11-22")
    write(history, DAYS, written[DAYS])
    made(store, history, count=4)
    begun = []
    marks = made(store, history, lambda table, mark: begun.append(table) if mark is None else None)
    assert begun == list(TABLES)[4:]
    assert all(mark.before for mark in marks.values())
    for table in ("split_findings", "transfer_findings"):
        assert marks.pop(table).since == NEVER
    assert {f"{mark.since:%Y-%m-%d}" for mark in marks.values()} == {"2026-11-22", "2026-11-24"}
    assert kept
    assert kept == files_before(store, "2026-11-22")
    check(session, store, history, tmp_path)


@pytest.mark.thorough
def test_a_leader_remembers_what_was_before_the_cycles_that_are_asked_about(
    session, written, audited, tmp_path
):
    """All runs include the same test without files, in test_spark_audit_usages.py."""
    history, store = audited
    plan, usage = replace(PLAN, since=START + DAYS * DAY), "broker_usage"
    count, whole = list(TABLES).index(usage) + 1, Store(session, str(tmp_path / "whole"))
    assert made(store, history, count=count, plan=plan)[usage].rows == 0
    write(history, DAYS, written[DAYS])
    assert made(store, history, count=count, plan=plan)[usage].before
    made(whole, history, count=count, plan=plan)
    ours, others = (sorted(map(repr, one.read(usage).collect())) for one in (store, whole))
    assert ours
    assert ours == others


def test_what_is_written_while_files_are_read_is_read_the_next_time(written, audited, monkeypatch):
    history, store = audited
    write(history, DAYS, written[DAYS][:-2])

    def late(of):
        def and_then(lines, *shards):
            rows = of(lines, *shards)
            with (history / "4.jsonl").open("a", encoding="utf-8") as file:
                file.write(written[DAYS].pop() + "\n")
            return rows

        return and_then

    for name, before in (("parse_each_line", True), ("records", False)):
        monkeypatch.setattr(reading, name, late(getattr(reading, name)))
        count = store.read("records").count()
        assert bool(made(store, history, count=1)["records"].before) == before
        monkeypatch.undo()
        assert made(store, history, count=1)["records"].before
        assert store.read("records").count() > count
        lines = [one for file in history.glob("*") for one in file.read_text().splitlines()]
        assert store.read("records").count() == len(lines)
        store.marks.put("records", None)


def silver_of(session, folder, lines):
    """Return the silver tables of some lines."""
    write(folder, 0, lines)
    rows = session.read.text(str(folder)).selectExpr("'' file", "value line", "null damage")
    recorded = records(rows).localCheckpoint()
    return Silver(**{name: table.build(recorded) for name, table in SILVER.items()})


def test_what_a_leader_says_within_a_day_makes_a_split_open(session, written, tmp_path):
    silver = silver_of(session, tmp_path, written[2])
    at = START + timedelta(days=2, hours=20)
    every = len(CLUSTERS)
    for since, open_ones in ((at - DAY, every), (at + DAY, every), (at + 1.1 * DAY, 0)):
        assert splits.recently_split(silver, since).count() == open_ones


TOPICS = {"near": (1, 1, 2000), "far": (2000, 1, 1), "never": (1, 1, 1)}
"""Reported topics of the bundle that each cluster splits; the limit is 1000."""


@pytest.mark.parametrize(
    "clusters", [["near"], pytest.param(list(TOPICS), marks=pytest.mark.thorough)]
)
def test_a_split_is_judged_by_all_that_was_reported_before(session, tmp_path, clusters):
    lines = []
    for cluster in clusters:
        lines.append(line("leader", cluster, START, broker="b0"))
        for day, topics in enumerate(TOPICS[cluster]):
            cpu = {"usage": 1, "limit": 100}
            told = {"cpu": cpu, "bundles": [SPLIT], "lastStats": {SPLIT: {"topics": topics}}}
            at = START + day * DAY + timedelta(hours=12)
            lines.append(line("load_report", cluster, at, broker="b0", report=told))
        into = ["t/ns/0x00000000_0x00000001", "t/ns/0x00000001_0x00000002"]
        at = START + (len(TOPICS[cluster]) - 0.4) * DAY
        lines.append(line("split", cluster, at, bundle=SPLIT, into=into, cause="automatic"))
    silver = silver_of(session, tmp_path, lines)
    for since in (None, START + 2 * DAY):
        plan = replace(PLAN, since=since)
        made = splits.leader_splits(silver, plan)
        found = splits.findings_about_splits(silver, made, plan, len(clusters))
        verdicts = {
            row["cluster"]: row["verdict"] for row in found.where("rule = 'SPLIT-05'").collect()
        }
        assert verdicts == {
            cluster: "violated" if cluster == "never" else "allowed" for cluster in clusters
        }


def test_the_first_recorded_cycle_rebuilds_all_that_were_assumed(written, audited):
    history, store = audited
    at = START + timedelta(days=DAYS, hours=2)
    write(history, DAYS, [*written[DAYS], line("cycle", "guessed", at)])
    marks = made(store, history, count=list(TABLES).index("cycles") + 1)
    assert f"{marks['actions'].since:%Y-%m-%d}" == "2026-11-24"
    assert f"{marks['cycles'].since:%Y-%m-%d}" < "2026-11-21"


def test_a_file_that_is_only_touched_makes_nothing_another_one(audited):
    history, store = audited
    before = files_before(store, "2026-12-01")
    (history / "1.jsonl").touch()
    marks = made(store, history, count=list(TABLES).index("cycles") + 1)
    assert {mark.since for mark in marks.values()} == {NEVER}
    assert before
    assert before == files_before(store, "2026-12-01")


@pytest.mark.thorough
def test_after_a_wrong_clock_or_with_many_files_all_is_read_again(written, audited, monkeypatch):
    history, store = audited
    late = line("cycle", "told", START + timedelta(days=400))
    write(history, DAYS, [*written[DAYS], late])
    assert not made(store, history, count=1)["records"].before
    assert store.read("records").where("reason = 'stray-time'").count() == 1
    (history / "1.jsonl").touch()
    assert not made(store, history, count=1)["records"].before
    assert store.read("records").where("reason = 'stray-time'").count() == 1
    write(history, DAYS, written[DAYS])
    assert made(store, history, count=1)["records"].before
    assert store.read("records").where("reason = 'stray-time'").isEmpty()
    monkeypatch.setattr(changes, "MAX_SEPARATE_FILES", 1)
    (history / "1.jsonl").touch()
    assert made(store, history, count=1)["records"].before
    (history / "1.jsonl").touch()
    (history / "2.jsonl").touch()
    assert not made(store, history, count=1)["records"].before
