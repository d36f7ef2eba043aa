"""`watch` records, audits and draws a cluster on loopback by its admin API until it is stopped."""

import json
import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.adapters.admin_api.remote import TOKEN_VARIABLE
from pulsar_conformance.adapters.spark.messages import MAX_REMEMBERED
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster
from standins.sparks import CORES, java_objects, spark, without_garbage_collection

pytestmark = pytest.mark.spark

assert spark
COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from pulsar_conformance.conformance.__main__ import entry
entry()
"""
"""Script that handles interrupts, since the children of a shell's background jobs ignore them."""
BUNDLE = "shop/eu/0x00000000_0x80000000"


@pytest.fixture
def cluster():
    made = FakeCluster()
    made.owned[made.names[0]] = [BUNDLE]
    yield made
    made.close()


def recorded(folder):
    files = (folder / "history").glob("*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.thorough
def test_for_a_time(spark, cluster, tmp_path, capsys, monkeypatch):
    cluster.token = "very-secret"
    words = ["watch", cluster.url, "--output", str(tmp_path), "--every", "0.5", "--for", "1"]
    words += ["--spark", CORES, "--audit-every", "3600"]
    assert main(words) == 2
    assert "HTTP 401: the token is missing" in capsys.readouterr().err
    monkeypatch.setenv(TOKEN_VARIABLE, "very-secret")
    with without_garbage_collection():
        before = java_objects()
        assert main(words) == 0
        assert java_objects() - before < MAX_REMEMBERED  # Only constant columns are remembered.
    told = capsys.readouterr()
    page = tmp_path / "audit" / "audit.html"
    first, *audits = told.out.splitlines()
    assert first == f"the page: {page}"
    lines = recorded(tmp_path)
    assert audits[-1].split("  ")[1].startswith(f"{len(lines)} lines, ")
    assert {line["kind"] for line in lines} >= {"settings", "leader", "owners", "load_report"}
    text = page.read_text("utf-8")
    assert '<meta http-equiv="refresh" content="3600">' in text
    assert "very-secret" not in told.out + told.err + text
    assert not list(tmp_path.glob("audit/.audit*"))


def test_until_it_is_interrupted(cluster, tmp_path):
    words = ["watch", cluster.url, "--output", str(tmp_path), "--every", "5"]
    words += ["--spark", "local[1]", "--audit-every", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        told = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().splitlines()
    assert process.returncode == 130
    assert told[0].startswith("the page: ")
    assert ", 0 unloads, " in told[1]
    last = f"pulsar-conformance: stopped; the recorded history is in {tmp_path}/history"
    assert " ".join(" ".join(errors).split()).endswith(last)
    assert all(line.startswith(("pulsar-conformance: ", "  ")) for line in errors)
    assert (tmp_path / "audit" / "audit.html").is_file()
    assert "load_report" in {line["kind"] for line in recorded(tmp_path)}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--spark", "foo"], "'foo' is not a Spark target"),
        (["--reading", "overload-amount"], "write NAME=VALUE"),
        (["--cluster", "us"], "--cluster us: there is no such cluster; choose from eu-1"),
        ([], "nothing listens there"),
    ],
)
def test_mistakes_are_reported_before_anything_starts(cluster, more, told, tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        url = cluster.url if more else nobody
        assert main(["watch", url, "--output", str(tmp_path / "out"), *more]) == 2
    shown = capsys.readouterr().err
    assert told in shown
    assert not list(tmp_path.glob("out/**/*.jsonl"))
