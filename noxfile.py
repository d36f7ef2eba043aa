"""The sessions of the project; `nox --list` names them.

What stands after `--` goes through to the command that a session runs.
"""

import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["lint", "tests", "conformance"]

PROJECT = nox.project.load_toml("pyproject.toml")
PACKAGE = PROJECT["project"]["name"]
PROFILES = ("documented-3.0", "unwritten-3.0")
"""What a run judges by that names no profile."""
JAVA = 17
"""The oldest Java that runs Spark."""

RELEASES = {
    "2.4.2": "documented-2.4",
    "2.10.5": "documented-2.10",
    "3.0.7": "documented-3.0",
    "4.0.7": "documented-3.0",
    "4.2.4": "documented-3.0",
    "5.0.0-M1": "documented-3.0",
}
"""The releases of Pulsar that are judged, each by the newest documents that speak of it."""

RELEASED = ("tests/test_pulsar_released*.py", "tests/test_pulsar_deviations.py")
"""Tests that need released Pulsar: the session `pulsar` runs them."""

ON_SPARK = "tests/test_spark_*.py"
"""Tests that need Spark: the session `spark` runs them."""


def install(session: nox.Session, group: str | None = None, extra: str = "") -> None:
    """Install the project as its users do, with an extra, and a dependency group of it.

    Both tools would keep old code: setuptools copies what an earlier build left in `build/`, and
    uv takes a folder for unchanged as long as its pyproject.toml is.
    """
    shutil.rmtree(Path("build", "lib"), ignore_errors=True)
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    refreshed = ("--reinstall-package", PACKAGE) if session.venv_backend == "uv" else ()
    session.install(f".[{extra}]" if extra else ".", *tools, *refreshed)


def extras_for(words: list[str]) -> str:
    """The extras that a run needs: those of the adapters that it names.

    Where it names none, all bundled ones are judged: Spark, too, if there is a Java for it. It is
    half a gigabyte, so that other runs do without.
    """
    adapters = [after for word, after in pairwise(words) if word == "--adapter"]
    adapters += [word.partition("=")[2] for word in words if word.startswith("--adapter=")]
    if not adapters:
        return "spark" if java_version() >= JAVA else ""
    extras = set(PROJECT["project"]["optional-dependencies"])
    return ",".join(sorted(extras & {adapter.partition(":")[0] for adapter in adapters}))


def java_version() -> int:
    """The major version of the Java that Spark would run on; 0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(java) is None:
        return 0
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else 0


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff over every file, mypy over the installed packages."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    packages = (name for name in PROJECT["tool"]["setuptools"]["packages"] if name.count(".") == 1)
    session.run("mypy", *(word for name in packages for word in ("-p", name)))
    session.run("mypy", "noxfile.py")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests of the suite itself; after --, options of pytest and files."""
    install(session, "tests")
    elsewhere = (word for files in (*RELEASED, ON_SPARK) for word in ("--ignore-glob", files))
    session.run("pytest", "-n", "2", "-q", *elsewhere, *session.posargs)


@nox.session
def spark(session: nox.Session) -> None:
    """The tests of the Spark engine; needs Java 17. After --, options of pytest."""
    install(session, "tests", extra="spark")
    session.run("pulsar-conformance", "check", "spark:local[2]")
    files = sorted(map(str, Path().glob(ON_SPARK)))
    session.run("pytest", "-q", *files, *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Implementations on the same cases, and the audit against its floor, as ratios."""
    extras = {extras_for([]), *extras_for(session.posargs).split(",")} - {""}
    install(session, extra=",".join(sorted(extras)))
    session.run("python", "-m", "pulsar_conformance.conformance.bench", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """Judge implementations; after --, options of `pulsar-conformance run`."""
    install(session, extra=extras_for(session.posargs))
    session.run("pulsar-conformance", "run", *by_default(session.posargs))


def by_default(words: list[str]) -> list[str]:
    """The options of a run; one that names neither profile nor case is judged by `PROFILES`."""
    options = words[: words.index("--")] if "--" in words else words
    flags = {word.partition("=")[0] for word in options}
    if flags & {"--judge-by", "--profile", "--replay", "--characterize", "--help", "-h"}:
        return words
    return [*(word for profile in PROFILES for word in ("--judge-by", profile)), *words]


@nox.session
def pulsar(session: nox.Session) -> None:
    """Judge released Pulsar: every version, or those after --; needs Java and Maven."""
    install(session, "tests", extra="pulsar")
    chosen = session.posargs or list(RELEASES)
    outs = [f"reports/out/pulsar-{version}" for version in chosen]
    for version, out in zip(chosen, outs, strict=True):
        words = ["--adapter", f"pulsar:{version}", "--judge-by", RELEASES[version], "--out", out]
        known = f"fixtures/deviations/pulsar-{version}.yaml"
        session.run("pulsar-conformance", "run", *words, "--known-deviations", known)
    session.run("python", "-m", "pulsar_conformance.reports.releases", *outs)
    session.run("pytest", "-q", *map(str, Path("tests").glob("test_pulsar_*.py")))


@nox.session
def audit(session: nox.Session) -> None:
    """Judge recorded history; after --, options of `pulsar-conformance audit`."""
    install(session, extra="spark")
    session.run("pulsar-conformance", "audit", *session.posargs)


@nox.session
def fleet(session: nox.Session) -> None:
    """Write the history of a fleet that never was; needs Java 17. After --, its options."""
    install(session, extra="spark")
    session.run("pulsar-conformance", "fleet", *session.posargs)


@nox.session
def report(session: nox.Session) -> None:
    """The Allure report of the last run, as one HTML file."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.allure", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """The worked examples as Markdown, a page an area in reports/examples."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.pages", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Which sentence of the documents has which rule; needs -- --documents DIR."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.coverage", *session.posargs)
