"""The Allure report of the last run and of earlier runs, as one HTML file: `nox -s report`.

Exit status: 0 on success, 2 if there are no results or Allure is not available.
"""

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from pulsar_conformance.reports.table import WORDS, implementation_names, word_of
from pulsar_conformance.specs.errors import UserError, status_of

ALLURE = "3.18.0"
"""The version of the npm package `allure`."""
NODE = 20
"""Oldest major version of Node on which Allure runs."""
OUT = Path("reports/out")
TRACKER = re.compile(r'<script async src="https://www\.googletagmanager\.com/[^"]*"></script>')
"""Pattern of a script that tracks readers; it is removed, since Allure has no option to omit it."""
HISTORY = "allure-history.jsonl"
"""Name of a file next to a report with earlier runs, one per line, for Allure's trends."""
RUNS = 30
"""Number of runs that the history keeps."""
MATRIX = "matrix.csv"
SUITE = {"pulsar-conformance": "suite"}
"""Short names of implementations, for which Allure has little space."""
CATEGORIES = (
    ("Could not be judged", "broken", ".*"),
    ("Passes, though listed as a known deviation", "failed", "unexpected pass"),
    ("Rules that no case reached", "failed", "unexercised"),
    ("Rules violated", "failed", ".*"),
    ("Known deviations", "skipped", "known deviation"),
    ("Rules that no case reached, as only a few cases were run", "skipped", "unexercised"),
    ("Not applicable", "skipped", ".*"),
    ("Warnings", "passed", "warning"),
)
"""Categories, each with name, status and message pattern; a result is in the first that matches."""


class CannotReport(UserError):
    """Raised if no report can be created. The message is one sentence with the reason."""


def main(argv: Sequence[str] | None = None) -> int:
    """Create the report, and print its path. Return the exit status."""
    return run(_arguments(argv))


def run(options: argparse.Namespace) -> int:
    """Create the report that the options describe, and print its path. Return the exit status."""
    return status_of(lambda: _make_and_name(options), OSError)


def _make_and_name(options: argparse.Namespace) -> int:
    _check_results(options.results)
    index = make_report(options.results, options.to)
    print(f"open {index.absolute().as_uri()}")
    return 0


def make_report(results: Sequence[Path], to: Path) -> Path:
    """Create a report from folders of Allure results; return its file.

    Errors: `CannotReport` if Node or npm is missing or fails.
    """
    node, tool = _node(), allure_program(tool_cache() / f"allure-{ALLURE}")
    history = to.absolute().parent / HISTORY
    with TemporaryDirectory() as folder:
        config = Path(folder, "allurerc.json")
        attached = Path(folder, MATRIX)
        attached.write_text(rule_matrix(results), encoding="utf-8")
        config.write_text(json.dumps(_config(results, attached, history)), encoding="utf-8")
        drop_newest_run(history, results)
        words = [node, tool, "generate", "--config", config, "--output", to, *results]
        _run(words, "Allure created no report")
    index = to / "index.html"
    index.write_text(TRACKER.sub("", index.read_text("utf-8")), "utf-8")
    return index


def rule_matrix(results: Sequence[Path]) -> str:
    """Return a table of rules and implementations, from the verdict streams next to the results."""
    out = StringIO()
    table = csv.writer(out, lineterminator="\n")
    columns: dict[str, dict[str, str]] = {}
    for first, *verdicts in filter(None, map(_stream, results)):
        names = implementation_names(first["implementations"])
        for line in verdicts:
            name = names[line["implementation"], line["profile"]]
            column = f"{name}, {line['profile']}"
            columns.setdefault(column, {})[line["rule"]] = WORDS[word_of(line)]
    table.writerow(["rule", *columns])
    for rule in dict.fromkeys(rule for column in columns.values() for rule in column):
        table.writerow([rule, *(column.get(rule, "") for column in columns.values())])
    return out.getvalue()


def drop_newest_run(history: Path, results: Sequence[Path]) -> None:
    """Remove the newest run from a history if its report is about to be rebuilt.

    Allure appends a run to the history whenever it builds a report. The start times of its results
    identify a run.
    """
    *before, last = (history.read_text("utf-8") if history.exists() else "").splitlines() or [""]
    if not last:
        return
    try:
        reported = {one["start"] for one in json.loads(last)["testResults"].values()}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CannotReport(f"{history} is not an Allure history; delete it") from None
    files = (file for folder in results for file in folder.glob("*-result.json"))
    if reported == {json.loads(file.read_text("utf-8")).get("start") for file in files}:
        partial = history.with_suffix(".partial")
        partial.write_text("".join(f"{line}\n" for line in before), encoding="utf-8")
        partial.replace(history)


def allure_program(folder: Path) -> Path:
    """Return the path of the Allure program in a folder. It is installed with npm if it is
    missing.
    """
    program = Path("node_modules", "allure", "cli.js")
    if not (folder / program).exists():
        npm = shutil.which("npm")
        if npm is None:
            raise CannotReport("the Allure report needs npm, which is not on PATH")
        print(f"installing allure {ALLURE} with npm into {folder}, once", flush=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
        words = [npm, "install", "--prefix", str(partial), f"allure@{ALLURE}"]
        words += ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            _run(words, f"npm could not install allure {ALLURE}")
            if not (folder / program).exists():  # A concurrent run may have installed it first.
                partial.replace(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder / program


def tool_cache() -> Path:
    """Return the folder in which tools are kept between runs."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "pulsar-conformance")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="report", description="The Allure report of a run.")
    add_arguments(parser)
    return parser.parse_args(argv)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for the folders of results and for the output folder."""
    parser.add_argument(
        "results",
        type=Path,
        nargs="*",
        default=[OUT / "allure"],
        help=f"folders of Allure results ({OUT / 'allure'})",
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=OUT / "report",
        metavar="DIR",
        help=f"the folder for the report ({OUT / 'report'}); {HISTORY} next to it has earlier runs",
    )


def _check_results(folders: Sequence[Path]) -> None:
    for folder in folders:
        if not any(folder.glob("*-result.json")):
            raise CannotReport(f"no Allure results in {folder}; nox -s conformance creates them")


def _node() -> str:
    """Return the path of Node. Errors: `CannotReport` if it is missing or too old."""
    program = shutil.which("node")
    if program is None:
        raise CannotReport(f"the Allure report needs Node {NODE}, which is not on PATH")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.match(r"v(\d+)", said.stdout)
    if found is None or int(found[1]) < NODE:
        version = said.stdout.strip() or "unknown"
        needed = f"the Allure report needs Node {NODE} or newer"
        raise CannotReport(f"{needed}; the installed version is {version}")
    return program


def _run(words: Sequence[object], problem: str) -> None:
    status = subprocess.run([*map(str, words)], check=False).returncode
    if status:
        raise CannotReport(f"{problem} (exit status {status}); see above")


def _config(results: Sequence[Path], attached: Path, history: Path) -> Mapping[str, Any]:
    """Return Allure's configuration for a one-file report, with results by implementation."""
    suites = ["parentSuite", "suite", "epic", "feature"]
    awesome = {"singleFile": True, "reportLanguage": "en", "groupBy": suites}
    return {
        "historyPath": str(history),
        "historyLimit": RUNS,
        "globalAttachments": [str(attached)],
        "name": "Conformance to the documented load balancing",
        "variables": _run_description(results),
        "categories": [
            {"name": name, "matchers": {"statuses": [status], "message": message}}
            for name, status, message in CATEGORIES
        ],
        "plugins": {"awesome": {"options": awesome}},
    }


def _run_description(results: Sequence[Path]) -> dict[str, str]:
    """Return the description of a run, from the first line of its verdict stream.

    The stream is next to the results.
    """
    run, *_ = _stream(results[0]) or [{}]
    if len(results) > 1 or not run:
        return {}
    versions = {SUITE.get(name, name): str(version) for name, version in run["versions"].items()}
    readings = (f"{name}={value}" for name, value in run["readings"].items())
    return {
        "implementations": ", ".join(dict.fromkeys(one["name"] for one in run["implementations"])),
        "judged by": ", ".join(run["profiles"]),
        "readings": ", ".join(readings) or "of the profile",
        "seed": str(run["seed"]),
        "examples": str(run["examples"]),
        **versions,
    }


def _stream(results: Path) -> list[dict[str, Any]]:
    """Return the lines of the verdict stream next to the results; empty if there is none."""
    stream = results.parent / "verdicts.jsonl"
    if not stream.exists():
        return []
    return [json.loads(line) for line in stream.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
