"""After any damage to an output, its tables end up as after an undisturbed run, or a message names
the damage.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.pipeline.marks import DONE, LINE
from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster
from standins.sparks import CORES, spark

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

assert spark
MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
HISTORY = Path(__file__).parents[2] / "fixtures" / "history"
FOUND = 1
"""Exit status of an audit of this history, which has a planted violation."""
LOCKED = "is writing to it"
ENDS_WITHIN = 600


def begun(*words):
    """Start a command in its own process group."""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", MAIN, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def audit(output, *more, history=HISTORY):
    return begun("audit", "--input", history, "--output", output, "--spark", "local[1]", *more)


def ended(process):
    """Wait until a process has ended; return its exit status and its standard error."""
    _, errors = process.communicate(timeout=ENDS_WITHIN)
    return process.returncode, errors


def tables(spark, output):
    """Return each table as sorted rows."""
    found = {}
    for name, table in TABLES.items():
        rows = spark.session.read.schema(table.schema).parquet(str(output / name))
        found[name] = sorted(map(repr, rows.collect()))
    return found


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """Return the output of an undisturbed audit."""
    output = tmp_path_factory.mktemp("quiet") / "out"
    assert ended(audit(output))[0] == FOUND
    return output


@pytest.fixture(scope="module")
def expected(spark, quiet):
    found = tables(spark, quiet)
    assert [table for table, rows in found.items() if not rows] == ["transfer_findings"]
    return found


@pytest.mark.parametrize("seed", range(10))
def test_two_audits_at_once_leave_the_tables_of_one(spark, expected, tmp_path, seed):
    random, output = Random(seed), tmp_path / "out"
    wait = ["--wait"] if seed % 2 else []
    first = audit(output)
    time.sleep(random.uniform(0, 20))
    second = audit(output, *wait)
    results = [ended(first), ended(second)]
    refused = [errors for status, errors in results if status != FOUND]
    assert all(LOCKED in errors.splitlines()[-1] for errors in refused), results
    assert len(refused) <= (0 if wait else 1)
    assert tables(spark, output) == expected


def test_an_audit_beside_watch_leaves_the_tables_of_one(spark, tmp_path):
    cluster = FakeCluster()
    cluster.owned[cluster.names[0]] = ["shop/eu/0x00000000_0x80000000"]
    output, results = tmp_path / "audit", []
    try:
        words = ["--every", "0.5", "--for", "45", "--audit-every", "1", "--spark", "local[1]"]
        watch = begun("watch", cluster.url, "--output", tmp_path, *words)
        while watch.poll() is None:
            if list((tmp_path / "history").glob("*.jsonl")):
                results.append(ended(audit(output, history=tmp_path / "history")))
            time.sleep(0.2)
        status, errors = ended(watch)
    finally:
        cluster.close()
    assert status == 0, errors
    assert results
    assert all(status == 0 or LOCKED in errors for status, errors in results), results
    alone = tmp_path / "alone"
    for folder in (output, alone):
        assert ended(audit(folder, history=tmp_path / "history"))[0] == 0
    assert tables(spark, output) == tables(spark, alone)


@pytest.mark.parametrize("seed", range(4))
def test_killed_five_times_an_audit_ends_with_the_tables_of_a_quiet_one(
    spark, expected, tmp_path, seed
):
    """Each kill is 4 to 25 s after a start; if the audit has ended, a table is removed instead."""
    random, output = Random(seed), tmp_path / "out"
    for _ in range(5):
        process, deadline = audit(output), time.monotonic() + random.uniform(4, 25)
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        else:
            process.communicate()
            shutil.rmtree(output / random.choice(list(TABLES)))
    assert ended(audit(output))[0] == FOUND
    assert tables(spark, output) == expected


def parts(output, table):
    return sorted((output / table).rglob("*.parquet"))


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def replace_by_file(path):
    shutil.rmtree(path)
    path.write_text("no folder")


def swap(output):
    first, second = parts(output, "cycles")[0], parts(output, "unloads")[0]
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)


def lose_row(output):
    """Remove a file of a table, and also the table's list of files."""
    parts(output, "bundle_samples")[0].unlink()
    (output / DONE / "_files-bundle_samples.json").unlink()


def add_day(output):
    (first,) = parts(output, "unloads")[:1]
    day = output / "unloads" / "day=2020-01-01"
    day.mkdir()
    shutil.copy(first, day / first.name)


def unlink_each(files):
    for file in files:
        file.unlink()


DAMAGE = {
    "a file is lost": (lambda out: parts(out, "records")[0].unlink(), "records"),
    "a file is torn": (lambda out: cut(parts(out, "verdicts")[0], 100), "verdicts"),
    "a file is empty": (lambda out: cut(parts(out, "cycles")[0], 0), "cycles"),
    "a bit is wrong": (lambda out: flip(parts(out, "broker_usage")[0]), "broker_usage"),
    "a file is there twice": (
        lambda out: shutil.copy(
            parts(out, "unloads")[0], parts(out, "unloads")[0].with_name("part-9.parquet")
        ),
        "unloads",
    ),
    "a day is added": (add_day, "unloads"),
    "two files are exchanged": (swap, "cycles"),
    "a day is lost": (lambda out: shutil.rmtree(parts(out, "actions")[0].parent), "actions"),
    "a table is lost": (lambda out: shutil.rmtree(out / "bundle_averages"), "bundle_averages"),
    "a table is a file": (lambda out: replace_by_file(out / "decisions"), "decisions"),
    "a mark is lost": (lambda out: shutil.rmtree(out / DONE / "table=contexts"), None),
    "a mark is text": (
        lambda out: (out / DONE / "table=contexts" / LINE).write_text("yesterday\n"),
        None,
    ),
    "a mark is no text": (
        lambda out: (out / DONE / "table=contexts" / LINE).write_bytes(bytes(range(256))),
        None,
    ),
    "a list of files is damaged": (
        lambda out: (out / DONE / "_files-cycles.json").write_text("{"),
        "cycles",
    ),
    "a list and a file are lost": (lose_row, None),
    "all lists are lost": (lambda out: unlink_each((out / DONE).glob("_files-*")), None),
    "the lock is no JSON": (lambda out: (out / ".lock").write_bytes(b"\xff\x00"), None),
    "the page is torn": (lambda out: cut(out / "audit.html", 50), None),
    "the cases are lost": (lambda out: shutil.rmtree(out / "cases"), None),
    "a case is torn": (lambda out: cut(next((out / "cases").glob("*.json")), 20), None),
    "the list of sources is lost": (lambda out: shutil.rmtree(out / "sources"), None),
    "the list of sources is damaged": (
        lambda out: [flip(file) for file in (out / "sources").iterdir()],
        None,
    ),
}
"""Kinds of damage, each with the table that a message names; None if it is repaired silently."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_to_an_output_is_mended_and_named(spark, quiet, expected, tmp_path, capsys, damage):
    output = tmp_path / "out"
    shutil.copytree(quiet, output)
    do, named = DAMAGE[damage]
    do(output)
    words = ["audit", "--input", str(HISTORY), "--output", str(output), "--spark", CORES]
    assert main(words) == FOUND
    said = capsys.readouterr()
    assert tables(spark, output) == expected
    if named is not None:
        assert any(named in line and str(output) in line for line in said.err.splitlines())
    for file in quiet.glob("cases/*.json"):
        assert (output / "cases" / file.name).read_text() == file.read_text()
    assert len((output / "audit.html").read_text("utf-8")) > 10_000


def test_a_folder_without_any_mark_is_left_as_it_is(quiet, tmp_path, capsys):
    output = tmp_path / "out"
    shutil.copytree(quiet, output)
    shutil.rmtree(output / DONE)
    before = {file: file.stat().st_mtime_ns for file in output.rglob("*.parquet")}
    words = ["audit", "--input", str(HISTORY), "--output", str(output), "--spark", CORES]
    assert main(words) == 2
    assert "files that no audit wrote; give a new folder" in capsys.readouterr().err
    assert before == {file: file.stat().st_mtime_ns for file in output.rglob("*.parquet")}
