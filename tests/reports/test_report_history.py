"""The history of Allure reports over runs, and the command in the summary that makes a report."""

import json
import os
import subprocess
import sys

import pytest
from pulsar_conformance.reports import allure


def remembered(folder, *runs):
    """Write the last run's results, and a history of runs, given the start times of their rules."""
    lines = [{"testResults": {str(n): {"start": n} for n in starts}} for starts in runs]
    history = folder / "allure-history.jsonl"
    history.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return history


def test_a_report_that_is_made_again_is_no_second_run(tmp_path):
    results = tmp_path / "allure"
    results.mkdir()
    for start in (3, 4):
        (results / f"{start}-result.json").write_text(json.dumps({"start": start}))
    history = remembered(tmp_path, (1, 2), (3, 4))
    allure.drop_newest_run(history, [results])
    assert [json.loads(line) for line in history.read_text().splitlines()] == [
        {"testResults": {"1": {"start": 1}, "2": {"start": 2}}}
    ]
    kept = history.read_text()
    allure.drop_newest_run(history, [results])
    assert history.read_text() == kept, "another run is kept"
    allure.drop_newest_run(tmp_path / "none.jsonl", [results])


@pytest.mark.parametrize("content", ["no JSON\n", "[]\n", "{}\n", ""])
def test_what_is_no_history_is_reported_and_kept(tmp_path, content):
    history = tmp_path / "allure-history.jsonl"
    history.write_text(content)
    if content:
        with pytest.raises(allure.CannotReport, match="is not an Allure history; delete it"):
            allure.drop_newest_run(history, [])
    assert history.read_text() == content


def test_the_summary_names_the_command_that_makes_a_page(tmp_path):
    words = ["-m", "pulsar_conformance.conformance", "run", "--adapter", "reference"]
    words += ["--rules", "BUNDLE-03", "--examples", "1"]
    environment = {name: value for name, value in os.environ.items() if "NOX" not in name}

    def last(*more, **extra):
        done = subprocess.run(
            [sys.executable, *words, *more],
            cwd=tmp_path,
            env={**environment, **extra},
            capture_output=True,
            text=True,
        )
        return next(line for line in done.stdout.splitlines() if line.startswith("as a page: "))

    started = "as a page: python -m pulsar_conformance.conformance report allure"
    assert last() == started
    assert last("--out", "else where") == f"{started} 'else where/allure' --to 'else where/report'"
    assert last(NOX_CURRENT_SESSION="conformance") == "as a page: nox -s report"
    session = last("--out", "other", NOX_CURRENT_SESSION="conformance")
    assert session == "as a page: nox -s report -- other/allure --to other/report"
