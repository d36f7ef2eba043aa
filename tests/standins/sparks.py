"""Spark for the tests that need it: one session for all tests of a process."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark import session
from pulsar_conformance.adapters.spark.configuring import INTERPRETED, configure
from pulsar_conformance.audit.pipeline.tables import SESSION

CORES = "local[2]"
NAME = f"spark:{CORES}"


@pytest.fixture(scope="session")
def spark():
    """Provide a session that runs from the first test to the last."""
    running = session.acquire(CORES, "the tests")
    yield running
    session.release(running)


@pytest.fixture(scope="module")
def audit_session(spark):
    """Provide the session with the options of an audit of a small history; restore them later."""
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
