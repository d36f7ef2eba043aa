"""The errors if Spark is not available. These tests do not need Spark."""

import os
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError
from threading import Lock

import pytest
from pulsar_conformance.adapters import AdapterError, programs
from pulsar_conformance.adapters.bundled import runnable_adapters
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.spark import background, session
from pulsar_conformance.adapters.spark.connection import (
    MAX_JOB_CHARACTERS,
    SparkConnection,
    job_portions,
)

PROFILE = "documented-3.0"
PYSPARK = "4.3.0"

NEEDED = "it needs PySpark 4: pip install '.[spark]'"


def java(folder, version):
    """Create a script that acts as a Java of this version, and return its `JAVA_HOME`."""
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    program.chmod(0o755)
    return str(folder)


@pytest.fixture
def installed(monkeypatch):
    """Return a function that pretends that a version of PySpark is installed."""

    def of(found):
        def version(name):
            if found is None:
                raise PackageNotFoundError(name)
            return found

        monkeypatch.setattr(programs, "version", version)

    return of


def told(name="spark"):
    """Return the complete message with which an adapter fails to start."""
    with pytest.raises(AdapterError) as caught:
        connect(name, PROFILE, {})
    assert caught.value.phase == "start"
    return str(caught.value)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, NEEDED),
        (
            "3.5.8",
            f"{NEEDED}; 3.5.8 is installed",
        ),
    ],
)
def test_what_pyspark_is_lacking(installed, found, said):
    installed(found)
    assert programs.spark_problem() == said
    for name in ("spark", "spark:local[4]", "spark:sc://127.0.0.1:1"):
        assert told(name).splitlines()[0] == f"{name}: start: {said}"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("1.8.0_392", "it needs Java 17 or newer; the one in JAVA_HOME is version 1"),
        ("11.0.2", "it needs Java 17 or newer; the one in JAVA_HOME is version 11"),
        ("17.0.15", None),
        ("25", None),
    ],
)
def test_which_java_will_do(installed, monkeypatch, tmp_path, version, said):
    installed(PYSPARK)
    monkeypatch.setenv("JAVA_HOME", java(tmp_path, version))
    assert programs.spark_problem() == said
    if said:
        assert said in told()


def test_the_audit_is_no_adapter_to_run_without(installed):
    installed(None)
    with pytest.raises(AdapterError) as caught:
        session.check_installed("local[1]", "audit")
    assert "next: install it, or try nox -s audit" in str(caught.value)
    assert "install it, or run without this adapter" in told("spark")


def test_no_java_at_all(installed, monkeypatch, tmp_path):
    installed(PYSPARK)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert programs.spark_problem() == "it needs Java 17 or newer, and there is none in JAVA_HOME"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.spark_problem() == "it needs Java 17 or newer, and there is none on the PATH"


def test_a_default_run_says_why_it_leaves_spark_out(installed):
    installed(None)
    adapters, left_out = runnable_adapters()
    assert "spark" not in adapters
    assert any(why.startswith("spark: it needs PySpark 4") for why in left_out)


def test_no_session_is_begun_while_the_former_one_ends(installed, monkeypatch):
    installed(PYSPARK)
    monkeypatch.setattr(session, "END_SECONDS", 0.01)
    monkeypatch.setattr(session._PROCESS, "ending", Future())
    started = []
    monkeypatch.setattr(session, "_start_spark", lambda *given: started.append(given))
    with pytest.raises(AdapterError, match="the previous Spark of this process did not stop"):
        session._share_running("local[1]", "spark")
    assert started == []


def test_jobs_that_end_at_once_are_all_counted():
    class Slow(Counter):
        def __getitem__(self, name):
            found = super().__getitem__(name)
            time.sleep(0.001)
            return found

    connection = SparkConnection.__new__(SparkConnection)
    connection._jobs, connection._cases, connection._lock = Slow(), Slow(), Lock()
    connection._held = 0
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: connection._count("usage.max", ["{}", "{}"]), range(40)))
    assert (dict(connection._jobs), dict(connection._cases)) == (
        {"usage.max": 40},
        {"usage.max": 80},
    )


def test_no_server_is_reported_at_once(installed):
    installed(PYSPARK)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        said = told(f"spark:sc://{address}")
    assert f"no Spark Connect server at {address}" in said


@pytest.mark.parametrize("rest", ["nowhere", "yarn", "spark://", "mesos://host:7077"])
def test_a_place_that_is_none(rest):
    assert "write spark, spark:local[4], or spark:sc://HOST:PORT" in told(f"spark:{rest}")


def test_work_that_takes_too_long_is_given_up():
    with pytest.raises(TimeoutError):
        background.run_within(0.05, lambda: os.read(os.pipe()[0], 1))
    with pytest.raises(ZeroDivisionError):
        background.run_within(10, lambda: 1 // 0)
    assert background.run_within(10, lambda: 7) == 7


def test_large_batches_are_several_jobs():
    whole, half = "x" * MAX_JOB_CHARACTERS, "x" * (MAX_JOB_CHARACTERS // 2)
    assert list(job_portions(iter(["", half, half, whole, "x", "x"]))) == [
        ["", half, half],
        [whole],
        ["x", "x"],
    ]
    assert list(job_portions(iter([whole * 2]))) == [[whole * 2]]
    assert list(job_portions(iter([]))) == []


def test_what_draws_meanwhile_meets_no_library_half_imported():
    """pandas and PySpark are completely imported before Spark starts in the background.

    Hypothesis seeds NumPy as soon as its import has begun, and fails if NumPy is incomplete. Two
    threads that import PySpark at the same time may see incomplete modules.
    """
    asked = (
        "import sys; from pulsar_conformance.adapters.spark import java, session\n"
        "session.check_installed = lambda *given: None\n"
        "java.JAVA._launching = java.Future()\n"
        "java.import_module = lambda name: print('imported', name)\n"
        "session._share_running = lambda *given: print('taken')\n"
        "session.acquire_in_background('local[1]', 'spark').result()\n"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == [
        "imported pandas",
        "imported pyspark.sql",
        "taken",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "An error occurred while calling o7.collect.\n: java.lang.OutOfMemoryError: heap",
            "java.lang.OutOfMemoryError: heap",
        ),
        (
            "[DIVIDE_BY_ZERO] Division by zero.\n\nJVM stacktrace:",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        ("", "RuntimeError"),
    ],
)
def test_an_error_of_spark_is_reported_by_its_own_message(text, message):
    assert session.exception_message(RuntimeError(text)) == message
