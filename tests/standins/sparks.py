"""Spark for the tests that need it: one for all tests of a process."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark import session

CORES = "local[2]"
NAME = f"spark:{CORES}"


@pytest.fixture(scope="session")
def spark():
    """Kept running from the first test to the last."""
    running = session.take(CORES, "the tests")
    yield running
    session.release(running)
