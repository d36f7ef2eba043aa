"""What Java has loaded is kept for its next start, and Java does without where it cannot be."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pulsar_conformance.adapters.spark import archive

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

STARTED = """
from pulsar_conformance.adapters.spark import java, session

spark = session.take("local[1]", "spark")
print(spark.session.range(3).count())
jvm = spark.session.sparkContext._jvm
print(*jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
session.release(spark)
java.JAVA.log.file.seek(0)
print(java.JAVA.log.file.read().decode())
"""
WITHIN = 60


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / "a cache"))
    return tmp_path / "a cache" / "spark"


def written(option):
    """The file that an option names, and whether Java is to write it."""
    name, _, path = option.strip('"').partition("=")
    return path, name == "-XX:ArchiveClassesAtExit"


def test_it_is_written_once_and_used_from_then_on(folder):
    [first] = archive.options(["-XX:+UseSerialGC"], "a.jar")
    path, writes = written(first)
    assert writes
    (folder / Path(path).name).write_bytes(b"\xa8\xba\x0b\xf0 classes")
    assert written(*archive.options(["-XX:+UseSerialGC"], "a.jar")) == (path, False)


def test_one_that_java_did_not_finish_is_written_anew(folder):
    path, _ = written(*archive.options([], "a.jar"))
    (folder / Path(path).name).write_bytes(bytes(1000))
    assert written(*archive.options([], "a.jar")) == (path, True)


def test_another_java_has_its_own(folder, tmp_path, monkeypatch):
    jar = tmp_path / "a.jar"
    jar.touch()
    asked = [([], str(jar)), (["-XX:+UseSerialGC"], str(jar)), ([], "b.jar")]
    paths = {written(*archive.options(*one))[0] for one in asked}
    os.utime(jar, (1, 1))
    paths.add(written(*archive.options([], str(jar)))[0])
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").touch()
    paths.add(written(*archive.options([], str(jar)))[0])
    assert len(paths) == 5


def test_only_the_newest_stay(folder):
    folder.mkdir(parents=True)
    for age, name in enumerate(["new", "middle", "old"]):
        (folder / f"{name}.jsa").write_bytes(b"classes")
        os.utime(folder / f"{name}.jsa", (1000 - age, 1000 - age))
    archive.options([], "a.jar")
    assert [one.name for one in folder.iterdir()] == ["new.jsa"]


@pytest.mark.parametrize("root", ["file", 'quoted"'])
def test_java_does_without_where_nothing_can_be_kept(root, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / root))
    assert archive.options([], "a.jar") == ()


def test_spark_starts_from_what_the_start_before_it_left(folder):
    first = started()
    assert "-XX:ArchiveClassesAtExit=" in first
    end = time.monotonic() + WITHIN
    while not (found := [one for one in folder.glob("*.jsa") if archive._complete(one)]):
        assert time.monotonic() < end
        time.sleep(0.2)
    second = started()
    assert f"-XX:SharedArchiveFile={found[0]}" in second
    assert "[cds" not in second


def started():
    """What a process says that counts three rows; its cache has a space in its name."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("3\n")
    return done.stdout
