"""`ask` follows the profile that a case file names."""

import json

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.adapters import ask
from pulsar_conformance.adapters.reference import ReferenceConnection
from pulsar_conformance.conformance.commands.main import main

EXPECTED_BROKER = {"documented-3.0": "broker-1", "released-3.0": "broker-2"}
"""Expected broker by profile: documents compare load; 3.0 counts the namespace's bundles."""


def place_file(folder, profile):
    """Write a file with a profile and a case that documents and releases decide differently."""
    case = {
        "settings": {},
        "bundle": "t/n/0x80000000_0xffffffff",
        "brokers": {
            "broker-1": {
                "cpu": {"usage": 10, "limit": 100},
                "bundles": ["t/n/0x00000000_0x80000000"],
            },
            "broker-2": {
                "cpu": {"usage": 80, "limit": 100},
                "bundles": ["t/m/0x00000000_0xffffffff"],
            },
        },
        "bundles": {
            "t/m/0x00000000_0xffffffff": {"longTermData": {"msgRateIn": 9, "numSamples": 1}}
        },
        "preallocated": {},
        "domains": {},
        "groups": {},
        "isolation": [],
        "versions": {},
    }
    file = folder / f"{profile}.json"
    file.write_text(json.dumps({"ask": "place.broker", "case": case, "profile": profile}))
    return str(file)


@pytest.mark.parametrize("profile", EXPECTED_BROKER)
def test_the_profile_of_a_file_is_followed(profile, tmp_path, capsys):
    assert main(["ask", "reference", place_file(tmp_path, profile)]) == 0
    assert json.loads(capsys.readouterr().out)["broker"] == EXPECTED_BROKER[profile]


@pytest.mark.parametrize(
    ("adapter", "profile"),
    [("reference", "documented-3.0"), ("pulsar:4.0.7", "documented-4.0")],
)
def test_without_a_profile_in_the_file_that_of_the_release_is_followed(
    adapter, profile, tmp_path, monkeypatch, capsys
):
    """The usual profile of `run` and `ask` is the same."""
    connected = []

    def connect(name, profile, readings, _limits):
        connected.append((name, profile))
        return ReferenceConnection("reference", profile, readings)

    monkeypatch.setattr(ask, "connect", connect)
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}))
    assert main(["ask", adapter, str(file)]) == 0
    assert connected == [(adapter, profile)]


def test_an_exception_of_a_class_is_printed_even_if_a_setting_is_missing(
    tmp_path, monkeypatch, capsys
):
    example = next(one for one in fixtures.examples() if one.id == "threshold-40-10-10")
    [(operation, case)] = example.questions

    class Raising(ReferenceConnection):
        def exchange(self, operation, batch):
            return [{"failed": "ValueError: mine"} for _ in batch]

    monkeypatch.setattr(ask, "connect", lambda *_: Raising("raising", "documented-3.0", {}))
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"ask": operation, "case": {**case, "settings": {}}}))
    assert main(["ask", "reference", str(file)]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out) == {"failed": "ValueError: mine"}
    assert "has no documented default; the case must set it" in " ".join(said.err.split())


def test_files_of_several_profiles_are_not_asked_together(tmp_path, capsys):
    files = [place_file(tmp_path, profile) for profile in EXPECTED_BROKER]
    assert main(["ask", "reference", *files]) == 2
    assert "give one profile for all with --judge-by" in capsys.readouterr().err
    assert main(["ask", "--judge-by", "released-3.0", "reference", *files]) == 0


@pytest.mark.parametrize("given", [None, "documented-3.0"])
def test_a_replayed_case_is_judged_by_its_own_profile(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    replayed = ["--replay", place_file(tmp_path, "released-3.0")]
    named = [] if given is None else ["--judge-by", given]
    main(["run", "--adapter", "reference", *replayed, *named])
    first = (tmp_path / "reports/out/verdicts.jsonl").read_text().splitlines()[0]
    assert json.loads(first)["profiles"] == [given or "released-3.0"]
