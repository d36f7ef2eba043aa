"""The sample in Java is compiled once into the cache, and started from its classes."""

import shutil
from dataclasses import replace

import pytest
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.bundled import BUNDLED_SAMPLES, build_if_changed
from pulsar_conformance.adapters.cache import CACHE_VARIABLE
from pulsar_conformance.adapters.names import connect

PROFILE = "documented-3.0"
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")


@pytest.fixture
def java(tmp_path, monkeypatch):
    """Return a function that replaces Java by a script, given how the script compiles."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))

    def stand_in(compiling):
        asked = 'if [ "$1" = -version ]; then echo \'openjdk version "17.0.1"\' >&2; exit; fi'
        program.write_text(f"#!/bin/sh\n{asked}\n{compiling}\n")
        program.chmod(0o755)
        return tmp_path / "cache" / "samples"

    return stand_in


def test_it_is_started_by_classes_that_are_compiled_once(java, tmp_path):
    # java --module COMPILER -d FOLDER Main.java makes FOLDER.
    counted = tmp_path / "builds"
    java(f'echo built >> {counted}; mkdir "$4"; touch "$4/Main.class"')
    first, second = (BUNDLED_SAMPLES["java"].command() for _ in range(2))
    assert first == second
    assert first[0] == "java"
    assert first[-3:-1] == ["-cp", str(build_if_changed(BUNDLED_SAMPLES["java"]))]
    assert first[-1] == "Main"
    assert counted.read_text().splitlines() == ["built"]


def test_classes_that_another_run_has_compiled_meanwhile_are_taken(java, tmp_path):
    made = tmp_path / "cache" / "samples"
    source = tmp_path / "java"
    source.mkdir()
    (source / "Main.java").write_text("class Main {}\n")
    other = '"${4%/*/*}/${4##*/}"'
    java(f'mkdir "$4" {other}; touch "$4/Main.class" {other}/Main.class')
    program = build_if_changed(replace(BUNDLED_SAMPLES["java"], folder=source))
    assert (program / "Main.class").exists()
    assert list(made.iterdir()) == [program]


def test_what_the_compiler_says_is_reported_and_nothing_is_left(java):
    kept = java("echo 'Main.java:3: error: no such luck' >&2; exit 1")
    with pytest.raises(AdapterError) as caught:
        connect("sample:java", PROFILE, {})
    text = str(caught.value)
    assert text.startswith("sample:java: start: java --module in ")
    assert "Main.java:3: error: no such luck" in text
    assert list(kept.iterdir()) == []


@needs_java
def test_its_classes_answer():
    case = {"broker": {"cpu": {"usage": 1, "limit": 2}}, "settings": {}, "weighted": False}
    with connect("sample:java", PROFILE, {}) as connection:
        assert connection.hello.name == "sample-java"
        assert connection.ask("usage.max", [case]) == [{"percent": 50, "resource": "cpu"}]
