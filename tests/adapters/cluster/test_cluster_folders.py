"""Temporary folders of clusters are removed only if the process that made them has ended."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from pulsar_conformance.adapters.cluster import folders


@pytest.fixture(autouse=True)
def _temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_the_folder_of_a_live_process_stays_though_its_process_id_is_unknown_here():
    folder, lock = folders.create_locked_folder()
    elsewhere = folder.rename(folder.with_name(f"{folders.PREFIX}999999999-x"))
    folders.remove_abandoned()
    assert elsewhere.exists()
    lock.close()
    folders.remove_abandoned()
    assert not elsewhere.exists()


def test_the_folder_of_a_killed_process_is_removed(tmp_path):
    code = "from pulsar_conformance.adapters.cluster import folders; import os; "
    code += "made = folders.create_locked_folder(); os._exit(1)"
    subprocess.run([sys.executable, "-c", code])
    assert len(list(tmp_path.glob(f"{folders.PREFIX}*"))) == 1
    folders.remove_abandoned()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_lock_may_have_been_made_just_now(tmp_path):
    new = tmp_path / f"{folders.PREFIX}1-new"
    new.mkdir()
    folders.remove_abandoned()
    assert new.exists()
    os.utime(new, (0, 0))
    folders.remove_abandoned()
    assert not new.exists()


def test_a_folder_in_which_somebody_still_writes_is_removed_in_the_end(tmp_path):
    folder, stop = tmp_path / "busy", threading.Event()
    folder.mkdir()
    started = time.monotonic()

    def write():
        number = 0
        while time.monotonic() < started + 0.5:
            number += 1
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
                (folder / str(number)).touch()
        stop.set()

    threading.Thread(target=write).start()
    while not stop.is_set():
        folders.remove_folder(folder)
    folders.remove_folder(folder)
    assert not folder.exists()
