"""PySpark and Py4J have the private interfaces that the engine uses; a failing test names one."""

import inspect
from collections import deque

import pytest

pytestmark = pytest.mark.spark

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")


def test_pyspark_lets_its_java_process_write_elsewhere():
    from pyspark.java_gateway import launch_gateway

    assert list(inspect.signature(launch_gateway).parameters) == ["conf", "popen_kwargs"]


def test_pyspark_takes_a_java_process_that_runs_and_the_python_of_its_workers():
    from pyspark import SparkContext

    assert SparkContext._gateway is None or SparkContext._gateway.jvm is not None
    assert "gateway" in inspect.signature(SparkContext.__init__).parameters
    assert "self.pythonExec" in inspect.getsource(SparkContext._do_init)


def test_py4j_logs_by_loggers_of_its_own_name():
    from py4j import clientserver, java_gateway

    for module in (clientserver, java_gateway):
        assert module.logger.name.partition(".")[0] == "py4j"


def test_py4j_queues_the_objects_to_free():
    from py4j.clientserver import JavaClient

    client = JavaClient.__new__(JavaClient)
    client.finalizer_deque = deque()
    client.garbage_collect_object("o1")
    assert list(client.finalizer_deque) == [(client, "o1")]
