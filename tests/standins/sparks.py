"""Spark for the tests that need it: one session for all tests of a process."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.configuring import INTERPRETED, configure
from pulsar_conformance.adapters.spark.java import JAVA_OPTIONS, OPTIONS
from pulsar_conformance.audit.pipeline.tables import SESSION

CORES = "local[2]"
NAME = f"spark:{CORES}"
LONG_RUN = {
    OPTIONS: " ".join(one for one in JAVA_OPTIONS if "Tiered" not in one),
    "spark.driver.memory": "2g",
}
"""Settings of a Java process for tests that run for many minutes: both compilers, and more memory.

Measured: the ninth audit of a small history in one process takes 11 s of CPU time with both
compilers, and 19 s with the first alone. The tables of earlier tests fill 1 GB, the default.
"""


@pytest.fixture(scope="session")
def spark():
    """Provide a session that runs from the first test to the last."""
    running = session.acquire(CORES, "the tests", LONG_RUN)
    yield running
    session.release(running)


@pytest.fixture(scope="module")
def audit_session(spark):
    """Provide the session, configured to audit a small history; restore its options afterwards."""
    settings = {**SESSION, **INTERPRETED}
    before = {name: spark.session.conf.get(name) for name in settings}
    configure(spark.session, settings)
    yield spark.session
    configure(spark.session, before)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Collect no garbage automatically, as in a command that runs for minutes."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def java_objects() -> int:
    """Return the number of Java's objects that Python still refers to, and Java therefore keeps."""
    from py4j.finalizer import ThreadSafeFinalizer

    return len(ThreadSafeFinalizer.finalizers)
