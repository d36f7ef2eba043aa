"""The sample in Go: how it is found and compiled once into the cache, and the message if that
fails.
"""

import json
import shutil
from dataclasses import replace

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.adapters import AdapterError, bundled
from pulsar_conformance.adapters.bundled import (
    BUNDLED_SAMPLES,
    NotBuilt,
    build_if_changed,
    runnable_adapters,
)
from pulsar_conformance.adapters.cache import CACHE_VARIABLE
from pulsar_conformance.adapters.names import connect

PROFILE = "documented-3.0"
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="needs go 1.21")


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Return a function that replaces Go by a script, given its version and how it builds."""

    def stand_in(version, build):
        program = tmp_path / "bin" / "go"
        program.parent.mkdir()
        program.write_text(
            f'#!/bin/sh\nif [ "$1" = version ]; then echo "{version}"; exit; fi\n{build}\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
        return tmp_path / "cache" / "samples"

    return stand_in


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("go version go1.21.0 linux/amd64", None),
        ("go version go1.26.8 darwin/arm64", None),
        (
            "go version go1.20.14 linux/amd64",
            "it needs go 1.21 or newer; the one on the PATH is version 1.20",
        ),
        (
            "gccgo 13",
            "it needs go 1.21 or newer; the one on the PATH is of an unknown version",
        ),
    ],
)
def test_which_go_will_do(go, version, said):
    go(version, "exit 1")
    assert BUNDLED_SAMPLES["go"].why_not_runnable() == said
    assert ("sample:go" in runnable_adapters()[0]) == (said is None)


def test_without_go_it_is_left_out_and_why(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    adapters, left_out = runnable_adapters()
    assert "sample:go" not in adapters
    assert "sample:go: it needs go 1.21 or newer, which is not on PATH" in left_out


def test_what_the_compiler_says_is_reported_and_nothing_is_left(go):
    kept = go("go version go1.21.0 linux/amd64", "echo 'main.go:3: no such luck' >&2; exit 1")
    with pytest.raises(AdapterError) as caught:
        connect("sample:go", PROFILE, {})
    text = str(caught.value)
    assert text.startswith("sample:go: start: go build in ")
    assert "main.go:3: no such luck" in text
    assert "run without this adapter" in text
    assert list(kept.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_reported(go, tmp_path):
    go("go version go1.21.0 linux/amd64", "exit 1")
    (tmp_path / "cache").write_text("a file in its place")
    with pytest.raises(NotBuilt, match="can't be written"):
        build_if_changed(BUNDLED_SAMPLES["go"])


def test_a_build_that_takes_too_long_has_a_remedy_of_its_own(go, monkeypatch):
    go("go version go1.21.0 linux/amd64", "exec sleep 20")
    monkeypatch.setattr("pulsar_conformance.adapters.bundled.BUILD_SECONDS", 0.2)
    with pytest.raises(AdapterError) as caught:
        connect("sample:go", PROFILE, {})
    assert "go build took more than 0.2 s" in str(caught.value)
    assert "try again" in str(caught.value)
    assert "GOCACHE" not in str(caught.value)


def test_it_is_compiled_once_and_again_where_its_source_changed(go, tmp_path):
    # go build -o FILE . makes FILE; each build is counted.
    counted = tmp_path / "builds"
    go("go version go1.21.0 linux/amd64", f'echo built >> {counted}; echo "$3" > "$3"')
    source = tmp_path / "go"
    source.mkdir()
    (source / "main.go").write_text("package main\n")
    sample = replace(BUNDLED_SAMPLES["go"], folder=source)
    first = build_if_changed(sample)
    assert build_if_changed(sample) == first
    assert counted.read_text().splitlines() == ["built"]
    (source / "main.go").write_text("package main // changed\n")
    second = build_if_changed(sample)
    assert second != first
    assert counted.read_text().splitlines() == ["built", "built"]
    assert {one.name for one in first.parent.iterdir()} == {first.name, second.name}


@needs_go
def test_it_answers_the_worked_examples_of_its_operations(capfd):
    with connect("sample:go", PROFILE, {}) as connection:
        offered = set(connection.hello.operations)
        asked = [
            (operation, case)
            for example in fixtures.examples()
            for operation, case in example.questions
            if operation in offered
        ]
        answers = [connection.ask(operation, [case])[0] for operation, case in asked]
    assert len(answers) > 200
    assert [one for one in answers if "failed" in one] == []


@needs_go
def test_numbers_come_in_every_form_that_json_has():
    # The average of 10 and 20 is 15; a window of 1.0 has only the newest sample.
    case = json.loads(
        '{"samples": [{"msgRateIn": 1e1}, {"msgRateIn": 2E+1}], "shortSamples": 1.0,'
        ' "longSamples": 2}'
    )
    with connect("sample:go", PROFILE, {}) as connection:
        [answer] = connection.ask("average.bundle", [case])
    assert (answer["shortTermData"]["msgRateIn"], answer["shortTermData"]["numSamples"]) == (20, 1)
    assert (answer["longTermData"]["msgRateIn"], answer["longTermData"]["numSamples"]) == (15, 2)


@needs_go
def test_a_case_that_it_cannot_read_is_the_failure_of_that_case_alone():
    wanting = {"broker": {}, "settings": {"loadBalancerCPUResourceWeight": "heavy"}}
    wanting = {**wanting, "weighted": True, "broker": {"cpu": {"usage": 1, "limit": 2}}}
    fine = {"broker": {"cpu": {"usage": 1, "limit": 2}}, "settings": {}, "weighted": False}
    with connect("sample:go", PROFILE, {}) as connection:
        bad, good = connection.exchange("usage.max", [wanting, fine])
    assert bad == {
        "failed": "setting loadBalancerCPUResourceWeight is needed, and the case says heavy"
    }
    assert good == {"percent": 50, "resource": "cpu"}


def test_its_folder_holds_what_go_compiles_and_nothing_else():
    names = {one.name for one in (bundled.SAMPLES_FOLDER / "go").iterdir()}
    assert "go.mod" in names
    assert {one for one in names if not one.endswith((".go", ".mod"))} == set()
