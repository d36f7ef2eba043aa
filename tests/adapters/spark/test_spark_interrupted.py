"""A command that is interrupted while Spark works prints one line and ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import report
from pyspark.errors import PySparkException

pytestmark = pytest.mark.spark

HISTORY = Path(__file__).parents[3] / "fixtures" / "histories" / "cluster-3.0.7.json.gz"
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from pulsar_conformance.conformance.__main__ import entry
entry()
"""
"""Script that handles interrupts, since the children of a shell's background jobs ignore them."""


def test_an_interrupted_audit_says_one_line(tmp_path):
    words = ["audit", "--input", str(HISTORY), "--output", str(tmp_path / "out")]
    words += ["--judge-by", "documented-3.0", "--spark", "local[1]"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        told = process.stderr.read().splitlines()
        assert process.stdout.read() == ""
    assert process.returncode == 130
    assert first.startswith("records ")
    tables = [line for line in told if line.endswith(" s")]
    told = [line for line in told if line not in tables]
    assert told == ["pulsar-conformance: stopped; to continue, run the same command again"]


CLOSED = """
from py4j.clientserver import JavaClient
from py4j.protocol import Py4JNetworkError
from pulsar_conformance.adapters.spark import session

connect = JavaClient._create_new_connection

def close(client):
    JavaClient._create_new_connection = connect
    raise Py4JNetworkError("Answer from Java side is empty")

for word in ("first", "second"):
    spark = session.acquire("local[1]", "the test")
    print(word, spark.session.range(3).count())
    JavaClient._create_new_connection = close
    session.release(spark)
"""
"""Script in which Java closes the connection that ends the session, as after an interrupt."""


def test_a_session_ends_though_java_closes_a_connection():
    done = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "first 3\nsecond 3\n", "")


LEFT = """
from pulsar_conformance.adapters.spark import session

for word in ("first", "second"):
    with session.spark_acquired("local[1]", "the test") as spark:
        print(word, spark.session.range(3).count())
try:
    with session.spark_acquired("local[1]", "the test") as spark:
        raise ValueError
except ValueError:
    print(session._PROCESS.ending.done())
with session.spark_acquired("local[1]", "the test") as spark:
    print("last", spark.session.range(3).count())
"""
"""Script with two sessions that no code waits for, a session whose end it awaits, and a last
session that ends only after the process.
"""


def test_a_session_that_is_idle_is_left_to_end_by_itself():
    done = subprocess.run([sys.executable, "-c", LEFT], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["first 3", "second 3", "True", "last 3"]


def interrupted():
    try:
        raise KeyboardInterrupt
    finally:
        raise PySparkException("the answer to another question")


def test_what_java_says_to_tidying_up_after_an_interrupt_is_the_interrupt():
    with pytest.raises(KeyboardInterrupt), report.spark_errors_as_audit_errors("history", "output"):
        interrupted()
    with (
        pytest.raises(AuditError, match="Spark stopped"),
        report.spark_errors_as_audit_errors("one", "other"),
    ):
        raise PySparkException("no space")
