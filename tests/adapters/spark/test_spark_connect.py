"""Commands in their own processes use the engine on a local Spark Connect server.

A process has either its own Spark session or a client of Spark Connect.
"""

import gzip
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from pulsar_conformance.adapters.spark.java import JAVA_OPTIONS

pytestmark = pytest.mark.spark

pyspark = pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

MAIN = "import sys; from pulsar_conformance.conformance.commands.main import main; sys.exit(main())"
STARTS_WITHIN, ANSWERS_WITHIN = 180, 600
PATIENT = 120
"""Maximum seconds for a job, which are many since other tests use the same cores."""
CONF = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": " ".join(JAVA_OPTIONS),
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def free_port():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]


@pytest.fixture(scope="module")
def server():
    """Start a server for these tests; provide the adapter's name for it, and its process."""
    home, port = Path(pyspark.__file__).parent, free_port()
    words = [str(home / "bin" / "spark-submit"), "--master", "local[2]"]
    words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    for name, value in {**CONF, "spark.connect.grpc.binding.port": port}.items():
        words += ["--conf", f"{name}={value}"]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}
    process = subprocess.Popen(
        [*words, "spark-internal"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _await(process, port)
        yield f"spark:sc://127.0.0.1:{port}", process
    finally:
        _end(process)


def _await(process, port):
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.2)
    raise AssertionError(f"no server within {STARTS_WITHIN} s")


def _end(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def command(*words, cwd, text=""):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MAIN, *words],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=ANSWERS_WITHIN,
        check=False,
    )


def test_every_rule_that_it_offers_holds(server, tmp_path):
    words = ("--examples", "5", "--time-limit", str(PATIENT))
    done = command("run", "--adapter", server[0], *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{server[0]}, documented-3.0: " in done.stdout
    assert "FAIL" not in done.stdout
    assert "error" not in done.stdout


def test_an_audit_reads_and_writes_where_the_server_is(server, tmp_path):
    records = [
        {"kind": "leader", "cluster": "c", "at": "2026-11-20T10:00:00Z", "broker": f"b{place}"}
        for place in range(1000)
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    report = {"cpu": {"usage": 5, "limit": 100}, "bundles": []}
    cycle = [
        {"kind": "load_report", "at": "2026-11-20T10:00:10Z", "broker": "b999", "report": report},
        {"kind": "cycle", "at": "2026-11-20T10:01:00Z"},
    ]
    (tmp_path / "in").mkdir()
    whole = "".join(json.dumps({"cluster": "c", **record}) + "\n" for record in cycle)
    (tmp_path / "in" / "whole.jsonl").write_text(whole)
    (tmp_path / "in" / "cut-off.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:-99])
    target = server[0].partition(":")[2]
    words = ("--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--spark", target)
    for _ in range(2):
        done = command("audit", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1  damaged-gzip" in done.stdout
    assert (tmp_path / "out" / "verdicts" / "_SUCCESS").exists()


def test_its_tasks_return_the_verdicts_and_simulations_of_one_process(server, tmp_path):
    there = ("--spark", server[0].partition(":")[2])
    words = ("run", "--adapter", "reference", "--seed", "3", "--rules", "USAGE-01")
    words = (*words, "--campaign", "2500")
    streams = set()
    for more in ((), there):
        done = command(*words, *more, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        streams.add((tmp_path / "reports/out/verdicts.jsonl").read_bytes())
    assert len(streams) == 1
    words = ("simulate", "--world", "ninety-ten", "--world", "daily", "--cycles", "20", "--json")
    here, tasks = (command(*words, *more, cwd=tmp_path) for more in ((), there))
    assert (tasks.returncode, tasks.stdout) == (here.returncode, here.stdout), tasks.stderr


def test_a_server_that_is_gone_is_reported_and_not_waited_for(server, tmp_path):
    name, process = server
    _end(process)
    asked = '{"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}\n'
    done = command("ask", name, cwd=tmp_path, text=asked)
    assert done.returncode == 2
    assert "no Spark Connect server at 127.0.0.1:" in " ".join(done.stderr.split())
