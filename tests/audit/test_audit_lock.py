"""Only one process writes to an output at a time, and a table that lacks a file is not valid."""

import json
import subprocess
import sys
import threading
import time

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import lock
from pulsar_conformance.audit.pipeline.lock import NAME, hold_lock
from pulsar_conformance.audit.pipeline.marks import DONE
from pulsar_conformance.audit.pipeline.writing import Manifests

pytestmark = pytest.mark.spark

HOLDER = """
import sys
from pulsar_conformance.audit.pipeline.lock import hold_lock
with hold_lock(sys.argv[1]):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held(tmp_path):
    """Provide an output to which another process is writing, and that process."""
    output = tmp_path / "audit"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(output)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "locked\n"
        yield output, process
        process.kill()


def test_a_second_writer_is_refused_and_the_first_one_is_named(held):
    output, process = held
    with pytest.raises(AuditError) as refused, hold_lock(str(output)):
        pass
    assert f"process {process.pid} on " in str(refused.value)
    assert "--wait" in str(refused.value)


def test_a_second_writer_may_wait(held, monkeypatch):
    output, process = held
    monkeypatch.setattr(lock, "POLL", 0.02)
    threading.Timer(0.3, process.stdin.close).start()
    begun = time.monotonic()
    with hold_lock(str(output), wait=True) as writable:
        assert writable
        assert time.monotonic() - begun > 0.2


def test_a_killed_writer_leaves_no_lock(held):
    output, process = held
    process.kill()
    process.wait()
    with hold_lock(f"file:{output}") as writable:
        assert writable
        assert json.loads((output / NAME).read_text())["process"] > 0


def test_a_folder_that_cannot_be_written_is_no_error_by_itself(tmp_path, monkeypatch):
    def refused(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lock, "_open_lock_file", refused)
    with hold_lock(str(tmp_path)) as writable:
        assert not writable


def test_no_folder_is_made_for_an_output_elsewhere(tmp_path):
    output = tmp_path / "elsewhere"
    with hold_lock(str(output), create=False) as writable:
        assert writable
    assert not output.exists()


@pytest.fixture
def manifests(tmp_path):
    (tmp_path / DONE).mkdir()
    part = tmp_path / "verdicts" / "day=2026-11-20"
    part.mkdir(parents=True)
    for number in range(2):
        (part / f"part-{number}.parquet").write_bytes(bytes(range(200)) * (number + 1))
    (part / ".part-0.parquet.crc").write_bytes(b"crc")
    found = Manifests(str(tmp_path))
    found.write("verdicts")
    return found, part


def cut(part):
    (part / "part-0.parquet").write_bytes(b"")


def flip(part):
    content = bytearray((part / "part-1.parquet").read_bytes())
    content[17] ^= 1
    (part / "part-1.parquet").write_bytes(content)


DAMAGE = {
    "lost": (lambda part: (part / "part-0.parquet").unlink(), "part-0.parquet is missing"),
    "torn": (cut, "part-0.parquet has changed"),
    "one bit": (flip, "part-1.parquet has changed"),
    "doubled": (
        lambda part: (part / "part-2.parquet").write_bytes((part / "part-0.parquet").read_bytes()),
        "part-2.parquet is not one of its files",
    ),
    "all lost": (lambda part: [file.unlink() for file in part.glob("part*")], "is missing"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_to_the_files_of_a_table_is_found_and_named(manifests, damage):
    found, part = manifests
    assert found.damage("verdicts") is None
    do, named = DAMAGE[damage]
    do(part)
    assert named in found.damage("verdicts")
    found.write("verdicts")
    assert found.damage("verdicts") is None


def test_a_damaged_manifest_is_damage_and_a_missing_one_is_not(manifests, tmp_path):
    found, _ = manifests
    (path,) = (tmp_path / DONE).glob("_files-*")
    path.write_text("{")
    assert "is damaged" in found.damage("verdicts")
    found.remove("verdicts")
    assert found.damage("verdicts") is None
