"""Files that do not exist: the message names the most similar one."""

from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.specs.errors import similar_file

REPORTS = str(Path(__file__).parents[3] / "fixtures/reports/three-brokers/modular")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports").mkdir()
    for name in ("broker.conf", "unrelated.txt", "case.json", "reports/broker-1.json"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("settings", "broker.cnf"), "broker.conf"),
        (("explain", "cse.json"), "case.json"),
        (("explain", "--log", "broker.cnf"), "broker.conf"),
        (("explain", "--metrics", "broker.cnf"), "broker.conf"),
        (("run", "--replay", "cse.json"), "case.json"),
        (("run", "--known-deviations", "broker.cnf"), "broker.conf"),
        (("case", "report"), "reports"),
        (("case", REPORTS, "--conf", "broker.cnf"), "broker.conf"),
        (("simulate", "--world", "cse.json"), "case.json"),
        (("simulate", "--history", "cse.json"), "case.json"),
        (("import", "broker.cnf", "--output", "history"), "broker.conf"),
        (("import", "report/broker-1.json", "--output", "history"), "reports"),
    ],
)
def test_a_missing_file_is_answered_with_the_most_similar_name(here, capsys, words, meant):
    assert main(list(words)) == 2
    assert " ".join(capsys.readouterr().err.split()).endswith(f"; did you mean {meant}?")


def test_a_file_like_none_is_missing_without_a_hint(here, capsys):
    assert main(["explain", "xyz.json"]) == 2
    assert "did you mean" not in capsys.readouterr().err
    assert similar_file("xyz/abc/def") == ""


def test_a_pattern_with_a_dot_is_no_file(here, capsys):
    assert main(["settings", "*.cnf"]) == 2
    assert "is not a setting" in capsys.readouterr().err
