"""An archive of Java's classes is kept for later starts; without one, Spark starts as usual."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pulsar_conformance.adapters.spark import archive
from pulsar_conformance.adapters.spark.java import CLASS_PATH, _first_class_path

pytestmark = pytest.mark.spark

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

STARTED = """
from pulsar_conformance.adapters.spark import java, session

spark = session.acquire("local[1]", "spark")
print(spark.session.range(3).count())
jvm = spark.session.sparkContext._jvm
print(*jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
session.release(spark)
java.JAVA.log.file.seek(0)
print(java.JAVA.log.file.read().decode())
"""
WITHIN = 120
JARS = Path("jars")
LISTED = "java/lang/Object\njava/lang/String\norg/apache/had"
JAVA = "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\n"
"""A script in place of Java that prints its arguments."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / "a cache"))
    return tmp_path / "a cache" / "spark"


def named(kept):
    """Return the name of Java's option for an archive, and the file that it names."""
    [option] = kept.options()
    name, _, path = option.strip('"').partition("=")
    return name.removeprefix("-XX:"), Path(path)


def listed(kept):
    """Return an archive whose list names three classes; the third line is incomplete."""
    assert named(kept) == ("DumpLoadedClassList", kept.listing)
    kept.listing.write_text(LISTED)
    return kept


def test_classes_are_listed_until_there_is_an_archive(folder):
    kept = listed(archive.archive_of(["-XX:+UseSerialGC"], JARS))
    assert kept.file.parent == folder
    kept.file.write_bytes(b"\xa8\xba\x0b\xf0 classes")
    assert named(kept) == ("SharedArchiveFile", kept.file)


def test_one_that_java_did_not_finish_is_not_used(folder):
    kept = listed(archive.archive_of([], JARS))
    kept.file.write_bytes(bytes(1000))
    assert named(kept) == ("DumpLoadedClassList", kept.listing)


def test_an_archive_is_made_of_the_classes_that_were_listed_whole(folder, tmp_path):
    kept, home, told = listed(archive.archive_of([], JARS)), tmp_path / "java", tmp_path / "told"
    (home / "bin").mkdir(parents=True)
    (home / "bin/java").write_text(JAVA.format(told))
    (home / "bin/java").chmod(0o755)
    (tmp_path / "empty").mkdir()
    class_path = os.pathsep.join(("a.jar", str(tmp_path / "empty")))
    kept.start_build(str(home), class_path)
    words = until(lambda: told.exists() and told.read_text().splitlines())
    assert words[-2:] == ["-cp", class_path]
    assert {f"-XX:SharedClassListFile={kept.classes}", f"-XX:SharedArchiveFile={kept.file}"} <= {
        *words
    }
    assert kept.classes.read_text() == "java/lang/Object\njava/lang/String\n"
    assert not kept.listing.exists()


def test_what_was_tried_is_not_tried_again_for_a_day(folder):
    kept = listed(archive.archive_of([], JARS))
    kept.classes.write_text("classes")
    assert kept.options() == ()
    kept.start_build("nowhere", "a.jar")
    assert kept.classes.read_text() == "classes"
    os.utime(kept.classes, (1000, 1000))
    listed(kept).start_build("nowhere", "a.jar")
    assert kept.classes.read_text() != "classes"


def test_none_is_made_of_a_java_with_classes_in_a_folder(folder, tmp_path):
    kept = listed(archive.archive_of([], JARS))
    kept.start_build("nowhere", os.pathsep.join(("a.jar", str(tmp_path))))
    assert list(folder.iterdir()) == []


def test_another_java_has_its_own(folder, tmp_path, monkeypatch):
    jar = tmp_path / "a.jar"
    jar.touch()
    asked = [([], jar), (["-XX:+UseSerialGC"], jar), ([], JARS)]
    files = {archive.archive_of(*one).file for one in asked}
    os.utime(jar, (1, 1))
    files.add(archive.archive_of([], jar).file)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").touch()
    files.add(archive.archive_of([], jar).file)
    assert len(files) == 5


def test_java_searches_the_jars_with_most_classes_first(tmp_path, monkeypatch):
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in ("spark-core_2.13-4.1.0.jar", "ivy-2.5.jar", "scala-library-2.13.jar"):
        (jars / name).touch()
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    first = [jars / "scala-library-2.13.jar", jars / "spark-core_2.13-4.1.0.jar"]
    assert _first_class_path(jars) == {CLASS_PATH: os.pathsep.join(map(str, first))}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert _first_class_path(jars) == {}


def test_only_the_newest_stay(folder):
    folder.mkdir(parents=True)
    names = ["new.jsa", "middle.jsa", "old.jsa", "killed.1.listing", "failed.classes"]
    for age, name in enumerate(names):
        (folder / name).write_bytes(b"classes")
        os.utime(folder / name, (1000 - age, 1000 - age))
    for name in ("old.classes", "new.classes"):
        (folder / name).touch()
    kept = listed(archive.archive_of([], JARS))
    kept.start_build("nowhere", "a.jar")
    assert {one.name for one in folder.iterdir()} == {"new.jsa", "new.classes", kept.classes.name}


def test_a_removed_archive_is_built_again(folder):
    folder.mkdir(parents=True)
    removed = archive.archive_of(["-Xint"], JARS)
    for age, file in enumerate([folder / "new.jsa", removed.file]):
        file.write_bytes(b"classes")
        os.utime(file, (1000 - age, 1000 - age))
    removed.classes.touch()
    listed(archive.archive_of([], JARS)).start_build("nowhere", "a.jar")
    assert named(removed) == ("DumpLoadedClassList", removed.listing)


def test_that_of_another_stays_while_one_is_made(folder):
    kept = listed(archive.archive_of([], JARS))
    kept.classes.write_text("classes")
    for other in (kept.file, folder / "another.jsa"):
        other.write_bytes(bytes(1000))
    os.utime(folder / "another.jsa", (1000, 1000))
    kept.start_build("nowhere", "a.jar")
    assert (folder / "another.jsa").exists()


@pytest.mark.parametrize("root", ["file", 'quoted"'])
def test_java_does_without_where_nothing_can_be_kept(root, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / root))
    kept = archive.archive_of([], JARS)
    assert kept.options() == ()
    kept.start_build("nowhere", "a.jar")


def test_spark_starts_from_what_the_start_before_it_left(folder):
    assert "-XX:DumpLoadedClassList=" in started()
    [found] = until(lambda: [one for one in folder.glob("*.jsa") if archive._is_complete(one)])
    second = started()
    assert f"-XX:SharedArchiveFile={found}" in second
    assert "[cds" not in second
    assert list(folder.glob("*.listing")) == []


def until(true):
    """Return the result of a function once it is true; fail after `WITHIN` seconds."""
    end = time.monotonic() + WITHIN
    while not (answer := true()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return answer


def started():
    """Return the output of a process that counts three rows; its cache's path has a space."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("3\n")
    return done.stdout
