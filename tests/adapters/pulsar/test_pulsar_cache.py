"""Jars are downloaded once, and completely or not at all; any failure gives one message."""

import fcntl
import json
import stat
import subprocess
import sys
import threading
import time
import zipfile
from functools import partial

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.cache import cache_folder
from pulsar_conformance.adapters.pulsar import connect as opening
from pulsar_conformance.adapters.pulsar import maven, shelf

POM = maven.plain_pom(["org.acme:thing:1"])

FETCHES = """#!/bin/sh
for word in "$@"; do
  case "$word" in -DoutputDirectory=*) out="${word#-DoutputDirectory=}";; esac
done
echo "Downloaded from central: thing"
echo jar > "$out/thing-1.jar"; echo more > "$out/other-2.jar"
echo "$@" >> "$COUNT"
"""
FAILS = """#!/bin/sh
echo "[ERROR] Failed to execute goal: {why}"
exit 1
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Provide an empty cache, and a function that replaces mvn by a script."""
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COUNT", str(tmp_path / "count"))
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")

    def mvn(text):
        file = programs / "mvn"
        file.write_text(text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    mvn(FETCHES)
    return mvn


def fetched():
    return opening._jar_folder("thing-1", "a thing", partial(maven.fetch_artifacts, "a thing", POM))


def times(tmp_path):
    return len((tmp_path / "count").read_text().splitlines())


def test_jars_are_fetched_once(machine, tmp_path):
    first, second = fetched(), fetched()
    assert first == second
    assert sorted(jar.name for jar in first.iterdir()) == ["other-2.jar", "thing-1.jar"]
    assert times(tmp_path) == 1
    assert cache_folder() == tmp_path / "cache"


@pytest.mark.parametrize("damage", ["remove", "truncate", "change", "manifest", "garbage", "empty"])
def test_what_is_damaged_is_fetched_again(machine, tmp_path, damage):
    library = fetched()
    jar, manifest = library / "thing-1.jar", library.parent / "jars.json"
    {
        "remove": jar.unlink,
        "truncate": lambda: jar.write_text("j"),
        "change": lambda: jar.write_text("rat\n"),
        "manifest": manifest.unlink,
        "garbage": lambda: manifest.write_text("{"),
        "empty": lambda: (jar.unlink(), manifest.write_text('{"jars": []}')),
    }[damage]()
    assert fetched().joinpath("thing-1.jar").read_text() == "jar\n"
    assert times(tmp_path) == 2


def test_what_is_damaged_and_cannot_be_fetched_again_says_both(machine):
    fetched().joinpath("thing-1.jar").unlink()
    machine(FAILS.format(why="Unknown host repo"))
    with pytest.raises(maven.CannotFetch) as raised:
        fetched()
    assert "thing-1.jar is missing; it must be downloaded again" in raised.value.problem
    assert "cannot reach a repository" in raised.value.problem


def test_nothing_is_left_of_a_fetch_that_failed(machine, tmp_path):
    machine(FAILS.format(why="disk full"))
    with pytest.raises(maven.CannotFetch):
        fetched()
    left = (tmp_path / "cache" / "pulsar").iterdir()
    assert [file.name for file in left if file.suffix != ".lock"] == []


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("Unknown host repo.maven.apache.org", "cannot reach a repository"),
        ("Could not transfer artifact x from central: timed out", "cannot reach a repository"),
        (
            "Could not find artifact org.acme:thing:pom:1 in central",
            "a thing needs org.acme:thing:pom:1, which Maven's repositories do not have",
        ),
        (
            "Could not transfer artifact io.acme:part:jar:2.1 from/to far (https://far.io/m2): x",
            "a thing needs io.acme:part:jar:2.1 from far (https://far.io/m2), which cannot be",
        ),
        ("No plugin of that name", "could not fetch"),
    ],
)
def test_why_maven_failed(machine, why, said):
    machine(FAILS.format(why=why))
    with pytest.raises(maven.CannotFetch) as raised:
        fetched()
    assert said in raised.value.problem
    assert why in raised.value.tail
    assert raised.value.hint


def test_a_relative_cache_is_taken_from_here(machine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", "there")
    assert fetched() == tmp_path / "there" / "pulsar" / "thing-1" / "lib"


HOLDS = """
import sys, time
from pulsar_conformance.adapters.pulsar.shelf import CachedJars
with CachedJars("thing-1").locked("a thing"):
    print("locked", flush=True)
    time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize(("seconds", "told"), [("0.2", 0), ("2.5", 1)])
def test_waiting_for_another_process_is_said_once(machine, capsys, seconds, told):
    words = [sys.executable, "-c", HOLDS, seconds]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"locked\n"
        fetched()
    said = " ".join(capsys.readouterr().err.split())
    waiting = f"another process is downloading a thing; waiting (process {other.pid})"
    assert said.count(waiting) == told
    assert said.count("set PULSAR_CONFORMANCE_CACHE to another folder") == told


def test_a_holder_that_left_no_number_is_told_without_one(machine, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(shelf, "QUIET_SECONDS", 0)
    shelves = tmp_path / "cache" / "pulsar"
    shelves.mkdir(parents=True)
    with (shelves / ".thing-1.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(0.5, lock.close).start()
        fetched()
    said = " ".join(capsys.readouterr().err.split())
    assert "another process is downloading a thing; waiting; to" in said


def test_a_fetch_that_does_not_end_is_stopped(machine, monkeypatch, capsys):
    machine("#!/bin/sh\necho 'Downloading from central: thing'\nexec sleep 60\n")
    monkeypatch.setattr(maven, "MAX_SECONDS", 0.6)
    monkeypatch.setattr(maven, "PROGRESS_SECONDS", 0.2)
    begun = time.monotonic()
    with pytest.raises(
        maven.CannotFetch, match=r"did not finish fetching a thing within 0\.01 min"
    ):
        fetched()
    assert time.monotonic() - begun < 10
    assert "a thing: 0 files fetched" in capsys.readouterr().err, "progress without output"


def test_what_a_killed_fetch_left_goes_with_the_next(machine, tmp_path):
    shelves = tmp_path / "cache" / "pulsar"
    (shelves / ".thing-1.4711.partial" / "lib").mkdir(parents=True)
    (shelves / ".thing-1.2.4711.partial").mkdir()
    fetched()
    assert [one.name for one in shelves.glob(".*.partial")] == [".thing-1.2.4711.partial"]


def test_a_machine_without_maven(machine, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(maven.CannotFetch, match="no mvn on PATH"):
        fetched()


def test_a_jar_that_was_only_touched_is_whole(machine, tmp_path):
    fetched().joinpath("thing-1.jar").touch()
    fetched()
    assert times(tmp_path) == 1


def test_a_cache_that_cannot_be_written_is_one_message(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PULSAR_CONFORMANCE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(opening, "check_prerequisites", lambda: None)
    with pytest.raises(AdapterError, match="PULSAR_CONFORMANCE_CACHE"):
        opening.connect_pulsar(
            "3.0.7", "pulsar:3.0.7", "documented-3.0", {}, opening.UNHURRIED_LIMITS
        )


def test_a_folder_with_a_truncated_jar_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "check_prerequisites", lambda: None)
    with zipfile.ZipFile(tmp_path / "pulsar-broker-3.0.7.jar", "w") as jar:
        jar.writestr("Some.class", "x" * 1000)
    cut = tmp_path / "other.jar"
    cut.write_bytes((tmp_path / "pulsar-broker-3.0.7.jar").read_bytes()[:500])
    words = (str(tmp_path), f"pulsar:{tmp_path}", "documented-3.0", {}, opening.UNHURRIED_LIMITS)
    with pytest.raises(AdapterError, match=r"other\.jar is incomplete"):
        opening.connect_pulsar(*words)


def test_a_release_is_asked_for_with_its_own_versions_and_pins_first():
    pom = maven.pulsar_pom("5.0.0-M1", ["a:pinned:2"])
    assert pom.index("pinned") < pom.index("<scope>import</scope>") < pom.index("pulsar-broker")


LACKS = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in -f) pom=$2;; -DoutputDirectory=*) out=${1#*=};; esac
  shift
done
echo once >> "$COUNT"
for part in PARTS; do
  if ! grep -q "<artifactId>$part</artifactId><version>4.0.7<" "$pom"; then
    echo "[ERROR] Could not find artifact org.apache.pulsar:$part:pom:3.3.6 in central"
    exit 1
  fi
  echo jar > "$out/org.apache.pulsar.$part-4.0.7.jar"
done
echo jar > "$out/org.apache.pulsar.pulsar-broker-3.3.6.jar"
"""
"""Script in place of mvn: its repository lacks some parts of 3.3.6, but not those of 4.0.7."""


def test_parts_that_decide_nothing_are_taken_from_the_closest_release(machine, tmp_path):
    parts = ["jetcd-core-shaded", "pulsar-opentelemetry"]
    machine(LACKS.replace("PARTS", " ".join(parts)))
    library = tmp_path / "lib"
    library.mkdir()
    maven.fetch_release("3.3.6", (), "4.0.7", library)
    assert times(tmp_path) == 3
    assert maven.replaced_parts("3.3.6", library) == [f"{part} 4.0.7" for part in parts]
    assert maven.replaced_parts("4.0.7", library) == []


@pytest.mark.parametrize("part", ["pulsar-broker-common", "pulsar-metadata"])
def test_parts_that_decide_are_not_replaced(machine, tmp_path, part):
    machine(LACKS.replace("PARTS", part))
    with pytest.raises(maven.CannotFetch, match=rf"Pulsar 3\.3\.6 needs .*:{part}:pom:3\.3\.6"):
        maven.fetch_release("3.3.6", (), "4.0.7", tmp_path)
    assert times(tmp_path) == 1


def test_the_manifest_names_every_jar(machine):
    entries = json.loads((fetched().parent / "jars.json").read_text())["jars"]
    assert [one["name"] for one in entries] == ["other-2.jar", "thing-1.jar"]
    assert all(len(one["sha256"]) == 64 for one in entries)
