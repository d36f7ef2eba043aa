"""Campaigns as Spark tasks: on this machine, and on a cluster whose worker is killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.commands.main import main

pytestmark = pytest.mark.spark

pyspark = pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.spark.tasks import results_of_tasks  # noqa: E402  after the extra
from standins.sparks import CORES, spark  # noqa: E402, F401  a fixture

MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
STREAM = Path("reports/out/verdicts.jsonl")
WITHIN = 300
WORDS = ("run", "--adapter", "reference", "--seed", "3")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("spark")
def test_tasks_return_the_verdicts_of_one_process():
    words = [*WORDS, "--rules", "USAGE-01", "--campaign", "2500"]
    assert main(words) == 0
    here = STREAM.read_bytes()
    assert main([*words, "--spark", CORES]) == 0
    assert STREAM.read_bytes() == here


@pytest.mark.usefixtures("spark")
def test_a_task_that_fails_says_why():
    with pytest.raises(AdapterError, match=r"a task failed: ValueError: invalid literal"):
        list(results_of_tasks(CORES, lambda text: str(int(text)), ["1", "x"]))


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


@pytest.fixture
def cluster(tmp_path):
    """Start a Spark master and two workers on this machine, each worker with one core."""
    home, port = Path(pyspark.__file__).parent, free_port()
    url, host = f"spark://127.0.0.1:{port}", ("--host", "127.0.0.1", "--webui-port", "0")
    deploy = "org.apache.spark.deploy"
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }

    def started(*words):
        program = str(home / "bin" / "spark-class")
        with (tmp_path / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                [program, *words], env=environment, start_new_session=True, stdout=log, stderr=log
            )

    processes = [started(f"{deploy}.master.Master", "--port", str(port), *host)]
    try:
        _await(lambda: socket.create_connection(("127.0.0.1", port), 1).close() or True)
        for number in (1, 2):
            words = ("--cores", "1", "--memory", "1g", "-d", str(tmp_path / f"work-{number}"), url)
            processes.append(started(f"{deploy}.worker.Worker", *host, *words))
        yield url, environment, processes[1:]
    finally:
        for one in processes:
            _kill(one)


def _await(holds):
    deadline = time.monotonic() + WITHIN
    while time.monotonic() < deadline:
        with suppress(OSError):
            if holds():
                return
        time.sleep(0.2)
    raise AssertionError(f"not within {WITHIN} s")


def _kill(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.thorough
def test_a_cluster_that_loses_a_worker_returns_the_verdicts_of_one_process(cluster, tmp_path):
    url, environment, workers = cluster
    words = [*WORDS, "--rules", "USAGE-0[1-3]", "--campaign", "12000"]
    assert main(words) == 0
    here = STREAM.read_bytes()
    run = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", MAIN, *words, "--spark", url, "--out", "there"],
        env=environment,
        start_new_session=True,
    )
    try:
        _await(lambda: len(list(tmp_path.glob("there/campaign/*/*.json"))) >= 2)
        _kill(workers[0])
        assert run.wait(WITHIN) == 0
    finally:
        _kill(run)
    assert Path("there/verdicts.jsonl").read_bytes() == here


@pytest.mark.thorough
def test_a_world_on_a_cluster_has_the_verdicts_of_one_process(cluster):
    url, environment, _ = cluster
    words = [*WORDS, "--exhaustive", "usage.max"]
    assert main(words) == 0
    here = STREAM.read_bytes()
    command = [sys.executable, "-W", "ignore", "-c", MAIN, *words, "--spark", url]
    assert subprocess.run(command, env=environment, timeout=WITHIN, check=False).returncode == 0
    assert STREAM.read_bytes() == here
