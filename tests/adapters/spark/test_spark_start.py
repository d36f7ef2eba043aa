"""Spark starts in another thread while its caller continues."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

STARTED = """
import sys
from pulsar_conformance.adapters.spark import session

def taken(*given, really=session._share_running):
    before = set(sys.modules)
    spark = really(*given)
    print(*sorted(name for name in set(sys.modules) - before if name.startswith("pyspark.sql")))
    return spark

session._share_running = taken
session.release(session.acquire_in_background("local[1]", "spark").result())
"""

STATE = """
import os, sys
from pulsar_conformance.adapters.spark import session

own = {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"}  # PySpark's

def state():
    return {name: value for name, value in os.environ.items() if name not in own}

before, interval = state(), sys.getswitchinterval()
spark = session.acquire_in_background("local[1]", "spark").result()
assert state() == before, set(state().items()) ^ set(before.items())
print(spark.session.sparkContext.pythonExec == sys.executable)
session.release(spark)
assert sys.getswitchinterval() == interval
"""


def test_the_thread_imports_nothing_that_its_caller_may_import_meanwhile():
    done = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_starting_and_ending_leaves_this_process_as_it_was():
    done = subprocess.run([sys.executable, "-c", STATE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
