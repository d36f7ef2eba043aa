"""A stopped audit continues: missing tables are built, and no row is duplicated."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Semaphore

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.configuring import INTERPRETED, configure
from pulsar_conformance.adapters.spark.session import separate_session
from pulsar_conformance.audit.input.files import current_files
from pulsar_conformance.audit.pipeline import spark_tuning
from pulsar_conformance.audit.pipeline.marks import DONE, Mark
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.reading import records_step
from pulsar_conformance.audit.pipeline.running import _Builder, build_tables
from pulsar_conformance.audit.pipeline.steps import COUNTERFACTUAL_TABLES, build_steps, fingerprints
from pulsar_conformance.audit.pipeline.tables import GOLD, SESSION, SILVER, TABLES
from pulsar_conformance.audit.pipeline.writing import ASKED, Store
from standins.sparks import CORES, audit_session, spark

pytestmark = pytest.mark.spark

assert audit_session
assert spark

MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
PROFILE = "documented-3.0"
READINGS = specs.load().default_readings(PROFILE)
"""Chosen readings, since each alternative of a reading that is left open is judged as well."""

START = datetime(2026, 11, 20, 23, 50, tzinfo=UTC)
CLUSTERS, BROKERS, REPORTS = 2, 3, 4
DOMAINS = 150
"""Number of records without loads after the last reports, so that one record of another year has
little effect.
"""

WHOLE = "t/ns/0x00000000_0x00000002"
PARTS = ["t/ns/0x00000000_0x00000001", "t/ns/0x00000001_0x00000002"]
ENDS_WITHIN = 1200


def lines():
    """Yield the lines of two clusters around midnight.

    They have an unload, a split, damaged lines, and a broker with a wrong clock.
    """
    for number in range(CLUSTERS):
        cluster = f"c{number}"

        def line(kind, at, cluster=cluster, **fields):
            when = at.isoformat().replace("+00:00", "Z")
            return json.dumps({"kind": kind, "cluster": cluster, "at": when, **fields})

        settings = {"loadBalancerBrokerThresholdShedderPercentage": 10}
        yield line("settings", START, settings=settings)
        yield line("leader", START, broker="b0")
        for turn in range(REPORTS):
            at = START + timedelta(minutes=5 * turn + 1)
            for broker in range(BROKERS):
                yield line("load_report", at, broker=f"b{broker}", report=report(broker))
            yield line("cycle", at + timedelta(minutes=1))
            yield line("load_report", at, broker="b0")
        at = START + timedelta(minutes=2, seconds=1)
        yield line("unloaded", at, broker="b0", bundle=bundle(0, 0))
        yield line("split", at, bundle=WHOLE, into=PARTS, cause="automatic")
    for turn in range(DOMAINS):
        at = START + timedelta(hours=1, seconds=turn)
        yield line("domain", at, name="one", members=["b0"])
    yield line("cycle", START + timedelta(days=365))
    yield "{"


def bundle(broker, place):
    return f"t/ns{broker}/0x{place:08x}_0x{place + 1:08x}"


def report(broker):
    load = {"msgRateIn": 10.0, "msgThroughputIn": 1e7}
    owned = [bundle(broker, place) for place in range(3)]
    return {
        "cpu": {"usage": 90 - 40 * broker, "limit": 100},
        "msgThroughputIn": 3e7,
        "bundles": owned,
        "lastStats": dict.fromkeys(owned, load),
    }


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    folder = tmp_path_factory.mktemp("history")
    (folder / "history.jsonl").write_text("".join(line + "\n" for line in lines()), "utf-8")
    return folder


def every_step(store, history, plan=None, asked=None):
    there = current_files(store.spark, str(history))
    first = records_step(store, str(history), there)
    return list(build_steps(first, plan or AuditPlan.of(PROFILE, READINGS), asked))


def rows(store, tables=tuple(TABLES)):
    """Return each table as sorted rows."""
    return {table: sorted(map(repr, store.read(table).collect())) for table in tables}


def silent(_table, _mark):
    pass


@pytest.fixture(scope="module")
def undisturbed(audit_session, history, tmp_path_factory):
    """Return the store of a run that was not interrupted."""
    store = Store(audit_session, str(tmp_path_factory.mktemp("undisturbed")))
    build_tables(store, every_step(store, history), silent)
    return store


@pytest.fixture(scope="module")
def expected(undisturbed):
    """Return the rows of the tables of a run that was not interrupted."""
    return rows(undisturbed)


WITHOUT_ROWS = {"transfer_findings"}
"""Tables about a load manager that the clusters of this history do not run."""


def files_of(folder):
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}


def test_every_table_has_rows_and_the_stray_day_is_quarantined(undisturbed, expected):
    assert {table for table, found in expected.items() if not found} == WITHOUT_ROWS
    records = undisturbed.read("records")
    stray = records.where("reason = 'stray-time'").collect()
    assert [row["day"].year for row in stray] == [START.year + 1]
    used, lost = records.where("used").count(), undisturbed.read("quarantine").count()
    assert used + lost == len(list(lines()))
    assert undisturbed.read("contexts").where("at > '2027-01-01'").count() == 0


def test_stopped_between_any_two_tables_it_goes_on(audit_session, history, expected, tmp_path):
    store = Store(audit_session, str(tmp_path / "made" / "here"))
    every = every_step(store, history)
    seen = {}
    for number in range(1, len(every) + 1):
        build_tables(store, every[:number], silent)
        there = files_of(tmp_path)
        assert seen.items() <= there.items()
        assert (there == seen) == (every[number - 1].table in WITHOUT_ROWS)
        seen = there
    build_tables(store, every, silent)
    assert files_of(tmp_path) == seen
    assert rows(store) == expected


@pytest.mark.thorough
def test_tables_that_are_made_at_once_are_the_same(audit_session, history, expected, tmp_path):
    store = Store(audit_session, str(tmp_path))
    every, told, beside = every_step(store, history), [], set()

    def noted(step):
        def made(tables):
            beside.add(threading.current_thread().name)
            return step.build(tables)

        return replace(step, build=made)

    def tell(table, mark):
        told.extend([table] if mark is not None else [])

    def set_up(of, _table, _in_part):
        configure(of.spark, {**SESSION, **INTERPRETED})

    def other():
        return Store(separate_session(audit_session), str(tmp_path))

    build_tables(store, map(noted, every), tell, set_up, 2, other, configured_alike=False)
    assert len(beside) == 2
    assert told == [step.table for step in every]
    assert rows(store) == expected
    assert stale(store, every) == []


@pytest.mark.thorough
def test_tables_of_one_part_are_the_same(audit_session, history, expected, tmp_path):
    store, set_ups = Store(separate_session(audit_session), str(tmp_path), in_one=True), []

    def set_up(of, table, _in_part):
        set_ups.append(spark_tuning.table_settings(table, spark_tuning.TINY_BYTES - 1, CORES))
        configure(of.spark, set_ups[-1])

    assert store.in_one
    assert spark_tuning.is_single_partition(spark_tuning.TINY_BYTES - 1)
    assert not spark_tuning.is_single_partition(spark_tuning.TINY_BYTES)
    build_tables(store, every_step(store, history), silent, set_up)
    assert {one[spark_tuning.PARTITIONS] for one in set_ups} == {"1"}
    assert rows(store) == rows(Store(store.spark, str(tmp_path))) == expected
    assert {store.read(name).rdd.getNumPartitions() for name in TABLES} == {1}
    # The rows of all tables that nothing has changed since stay in memory.
    assert [name for name in TABLES if store.read(name).inputFiles()] == ["records"]


def test_small_tables_are_planned_while_their_parents_are_written(history, tmp_path, audit_session):
    store = Store(audit_session, str(tmp_path), in_one=True)
    steps = {step.table: step for step in every_step(store, history)}

    def jobs(stores, marks):
        return _Builder(stores, steps, {}, lambda *_: None, marks, Semaphore()).jobs(steps)

    found = jobs([store, store], {})
    assert list(found)[:4] == ["plan of records", "records", "plan of quarantine", "quarantine"]
    assert found["findings"] == ["plan of findings"]
    assert found["plan of quarantine"] == ["records"]
    assert "plan of broker_decisions" in found["plan of findings"]
    whole = {name: step.parents for name, step in steps.items()}
    assert jobs([store, store], {"records": Mark("", 1, 0.1)}) == whole
    assert jobs([store, replace(store)], {}) == jobs([replace(store, in_one=False)], {}) == whole


@pytest.mark.thorough
def test_what_breaks_at_once_is_reported_and_what_is_done_is_kept(audit_session, history, tmp_path):
    store = Store(audit_session, str(tmp_path))
    every = every_step(store, history)

    def breaks(_tables):
        raise OSError("no space left on device")

    broken = [replace(one, build=breaks) if one.table == "contexts" else one for one in every]
    with pytest.raises(OSError, match="no space"):
        build_tables(store, broken, silent, at_once=2)
    done = {name for name in store.marks.read() if name in TABLES}
    assert "records" in done
    assert done <= {"records", "quarantine", *SILVER} - {"contexts"}
    build_tables(store, every, silent, at_once=2)
    assert stale(store, every) == []


def stale(store, every):
    """Return the tables that would be built differently now."""
    wanted, marks = fingerprints(every), store.marks.read()
    return [step.table for step in every if marks[step.table].fingerprint != wanted[step.table]]


@pytest.mark.thorough
def test_other_options_and_other_input_rebuild_what_depends_on_them(
    audit_session, history, undisturbed, tmp_path
):
    made = []

    def tell(table, mark):
        made.extend([table] if mark is None else [])

    again = tmp_path / "again"
    shutil.copytree(history, again)
    shutil.copytree(undisturbed.path, tmp_path / "out")
    store = Store(audit_session, str(tmp_path / "out"))
    assert stale(store, every_step(store, history)) == []
    other = AuditPlan.of(PROFILE, READINGS, since=START + timedelta(minutes=5))
    build_tables(
        store,
        every_step(store, history, other, AuditPlan.of(PROFILE, strategy="OverloadShedder")),
        tell,
    )
    gold = list(GOLD)
    assert made == [*gold, *(ASKED + name for name in COUNTERFACTUAL_TABLES)]
    made.clear()
    before = fingerprints(every_step(store, again))
    with (again / "history.jsonl").open("a") as file:
        file.write("not JSON\n")
    every = every_step(store, again)
    after = fingerprints(every)
    assert [table for table in TABLES if before[table] != after[table]] == list(TABLES)
    build_tables(store, every[:2], tell)
    assert made == ["records", "quarantine"]
    assert store.read("quarantine").count() == undisturbed.read("quarantine").count() + 1


def lose(files):
    files[0].unlink()


def tear(files):
    files[0].write_bytes(files[0].read_bytes()[:100])


def double(files):
    shutil.copy(files[0], files[0].with_name("part-00000-copy.snappy.parquet"))


DAMAGE = [tear, *(pytest.param(one, marks=pytest.mark.thorough) for one in (lose, double))]
"""Ways to damage a table. The usual tests rebuild after one, the thorough tests after each."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_table_is_named_and_rebuilt(
    audit_session, history, undisturbed, expected, tmp_path, damage
):
    output = tmp_path / "out"
    shutil.copytree(undisturbed.path, output)
    for table in ("records", "bundle_averages", "verdicts"):
        damage(sorted((output / table).rglob("*.parquet")))
    store, named, built = Store(audit_session, str(output)), [], []
    build_tables(
        store,
        every_step(store, history),
        lambda table, mark: built.append(table) if mark is None else None,
        damaged=lambda table, why: named.append((table, why)),
    )
    assert [table for table, _ in named] == ["records", "bundle_averages", "verdicts"]
    assert all(str(output) in why for _, why in named)
    assert set(built) == {table for table, _ in named}
    assert rows(store) == expected


def begun(history, output):
    """Start an audit in its own process group."""
    words = ["audit", "--input", str(history), "--output", str(output), "--spark", CORES]
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", MAIN, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def killed_when(process, sign):
    """Kill all processes of the audit as soon as the function `sign` returns true."""
    deadline = time.monotonic() + ENDS_WITHIN
    while not sign():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


KILLED_IN = ("bundle_samples", "verdicts")
"""Tables during whose writing an audit is killed: a table of records, and the last table."""


@pytest.mark.thorough
@pytest.mark.parametrize("table", KILLED_IN)
def test_killed_while_a_table_is_written_it_goes_on(
    audit_session, history, undisturbed, expected, tmp_path, table
):
    """At the kill, the audit has built the parents of the table. It is writing this table, and may
    also be writing the table before.
    """
    output, names = tmp_path / "out", list(TABLES)
    shutil.copytree(undisturbed.path, output)
    place = names.index(table)
    for missing in names[place - 1 :]:
        shutil.rmtree(output / missing)
        shutil.rmtree(output / DONE / f"table={missing}")
    killed_when(begun(history, output), (output / table / "_temporary").exists)
    assert not (output / DONE / f"table={table}").exists()
    store, made = Store(audit_session, str(output)), []
    every = every_step(store, history)[: place + 1]
    done = store.marks.read()
    assert set(every[place].parents) <= set(done)
    build_tables(store, every, lambda table, mark: made.append((table, mark is None)))
    assert [one for one, anew in made if anew] == [
        one for one in names[: place + 1] if one not in done
    ]
    there = names[: place + 1]
    assert rows(store, there) == {name: expected[name] for name in there}
