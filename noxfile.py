"""The project's nox sessions; `nox --list` lists them.

Arguments after `--` are passed to the command that a session runs.
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
VERSION = PROJECT["project"]["version"]
SITE = "reports/out/zensical.toml"
PROFILES = ("documented-3.0", "unwritten-3.0")
"""Profiles that judge a run whose options name none."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python with which the package is tested."""
CONSTRAINTS = "constraints.txt"
"""File of the versions of packages that sessions install; `nox -s lock` updates it."""
JAVA = 17
"""Minimum version of Java for Spark."""

RELEASES = {
    "2.4.2": "documented-2.4",
    "2.10.5": "documented-2.10",
    "3.0.7": "documented-3.0",
    "4.0.7": "documented-4.0",
    "4.2.4": "documented-4.2",
    "5.0.0-M1": "documented-5.0",
}
"""Releases of Pulsar to judge, each with the profile of the newest documents about it."""

OTHER_RELEASES = {
    "2.8.2": "documented-2.10",
    "2.11.0": "documented-2.10",
    "3.1.2": "documented-3.0",
    "3.2.3": "documented-3.0",
    "3.3.6": "documented-3.0",
    "4.0.8": "documented-4.0",
}
"""Further releases with published reports, and their profiles; all deviation lists apply."""

CLUSTER_RELEASES = ("2.10.5", "3.0.7", "4.0.7", "4.2.4")
"""Releases to judge as running clusters."""

MODES = {
    "reference": "in the process of the suite",
    "pulsar": "the classes of the release, one decision at a time",
    "cluster": "a cluster on loopback, story by story and decision by decision",
}
"""How each kind of implementation is run, as described in published reports."""

SAVED_OPTION, STORIES_TEST = "--saved", "tests/adapters/cluster/test_cluster_deviations.py"
"""Argument after -- that selects saved stories, and the file of the test that plays them."""

MUTANTS = (
    ("mutants", "--sample", "300"),
    ("mutants", "--drawn", "--sample", "60"),
    ("mutants.judge", "--sample", "60"),
)
"""Commands that test samples of mutants, which together take 15 minutes on two idle cores."""

TESTS_ON_PATH = {"PYTHONPATH": "tests"}
"""Environment variables that make `bench` and `mutants` importable, which the wheel lacks."""

PLAIN_TESTS = "not (browser or cluster or pulsar or site or spark or thorough)"
"""Marker expression of tests that need only Python and the languages of the sample adapters."""

PAGE_TESTS = ("tests/reports", "tests/audit")
"""Folders with the tests of generated pages."""

TWO_WORKERS = ("-n", "2", "--dist", "worksteal")
"""Options of pytest for two workers; an idle worker takes over tests of the other one."""

TEST_LIMITS = ("--timeout", "900", "--durations", "25")
"""Options of pytest: seconds until a hanging test fails, and number of slow tests to list."""


def install(session: nox.Session, group: str | None = None, extra: str = "") -> None:
    """Install the project as users do, with an extra and a dependency group.

    Delete `build/lib`, where setuptools keeps files of earlier builds, and make uv reinstall the
    project, which counts as unchanged if its pyproject.toml is. uv compiles modules only on
    request; with a dependency group, tests compile what they import.
    """
    shutil.rmtree(Path("build", "lib"), ignore_errors=True)
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    compiled = () if group else ("--compile-bytecode",)
    of_uv = ("--reinstall-package", PACKAGE, *compiled)
    refreshed = of_uv if session.venv_backend == "uv" else ()
    wanted = f".[{extra}]" if extra else "."
    session.install(wanted, *tools, "--constraint", CONSTRAINTS, *refreshed)


def extras_for(words: list[str]) -> str:
    """Return the extras that the adapters in the options need, such as `spark,pulsar`.

    A run that names no adapter judges all bundled adapters, including Spark if there is a suitable
    Java. Other runs do not install Spark, whose size is half a gigabyte.
    """
    adapters = adapters_in(words)
    if not adapters:
        return "spark" if java_version() >= JAVA else ""
    extras = set(PROJECT["project"]["optional-dependencies"])
    return ",".join(sorted(extras & {adapter.partition(":")[0] for adapter in adapters}))


def adapters_in(words: list[str]) -> list[str]:
    """Return the adapters that the options name by --adapter."""
    adapters = [after for word, after in pairwise(words) if word == "--adapter"]
    return adapters + [word.partition("=")[2] for word in words if word.startswith("--adapter=")]


def java_version() -> int:
    """Return the major version of the Java that Spark would use; 0 if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(java) is None:
        return 0
    done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', done.stderr)
    return int(found[1]) if found else 0


@nox.session
def lint(session: nox.Session) -> None:
    """Run ruff on every file, and mypy on the installed packages."""
    install(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", "-p", "pulsar_conformance")
    session.run("mypy", "-p", "bench", "-p", "mutants", env={"MYPYPATH": "tests"})
    session.run("mypy", "noxfile.py")


@nox.session
def lock(session: nox.Session) -> None:
    """Update constraints.txt to the newest versions that fit, for every Python and extra."""
    session.install("uv")
    groups = [word for name in PROJECT["dependency-groups"] for word in ("--group", name)]
    wanted = ("pyproject.toml", "--universal", "--all-extras", *groups, "--upgrade")
    plain = ("--python-version", "3.11", "--no-header", "--no-annotate", "--quiet")
    session.run("uv", "pip", "compile", *wanted, *plain, "--output-file", CONSTRAINTS)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the suite's own tests; after --, options and files for pytest, such as --cov."""
    install(session, "tests")
    session.run("pytest", *TWO_WORKERS, "-q", *TEST_LIMITS, "-m", PLAIN_TESTS, *session.posargs)


@nox.session
def spark(session: nox.Session) -> None:
    """Run the tests of the Spark engine, which need Java 17. After --, options for pytest."""
    install(session, "tests", extra="spark")
    session.run("pulsar-conformance", "check", "spark:local[2]")
    session.run("pytest", "-q", *TEST_LIMITS, "-m", "spark and not thorough", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the speed of implementations on the same cases, and of an audit."""
    extras = {extras_for([]), *extras_for(session.posargs).split(",")} - {""}
    install(session, extra=",".join(sorted(extras)))
    session.run("python", "-m", "bench", *session.posargs, env=TESTS_ON_PATH)


@nox.session
def mutants(session: nox.Session) -> None:
    """Test mutants of the model and the suite, each with one change; after --, their options."""
    install(session, "tests")
    for module, *options in [["mutants", *session.posargs]] if session.posargs else MUTANTS:
        session.run("python", "-m", module, *options, env=TESTS_ON_PATH)


@nox.session
def thorough(session: nox.Session) -> None:
    """Run the tests that take hours; after --, options and files for pytest."""
    install(session, "tests")
    session.run(
        "pytest", *TWO_WORKERS, "-q", *TEST_LIMITS, "-m", "thorough and not spark", *session.posargs
    )


@nox.session
def conformance(session: nox.Session) -> None:
    """Judge implementations; after --, options of `pulsar-conformance run`."""
    install(session, extra=extras_for(session.posargs))
    session.run("pulsar-conformance", "run", *with_default_profiles(session.posargs))


def with_default_profiles(words: list[str]) -> list[str]:
    """Return the options of a run; add `PROFILES` if no option implies a profile.

    A saved case implies the profile that it names, and a release the documents of its line.
    """
    options = words[: words.index("--")] if "--" in words else words
    flags = {word.partition("=")[0] for word in options}
    if flags & {"--judge-by", "--profile", "--replay", "--characterize", "--help", "-h"}:
        return words
    if any(name.startswith(("pulsar:", "cluster:")) for name in adapters_in(options)):
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
    few = " and not thorough" if session.posargs else ""
    session.run("pytest", "-q", *TEST_LIMITS, "-m", f"pulsar{few}", "--releases", ",".join(chosen))


@nox.session
def publish(session: nox.Session) -> None:
    """Rebuild reports/published: all of it, or the reports named after --; needs Maven.

    There are reports about the model, every release, and every `cluster:VERSION`; those on
    `OTHER_RELEASES` are in a separate folder. Saved cases, which a run asks first, are deleted.
    """
    profiles = {**OTHER_RELEASES, **RELEASES}
    running = [f"cluster:{version}" for version in CLUSTER_RELEASES]
    chosen = session.posargs or ["reference", *profiles, *running]
    extras = {name.partition(":")[0] for name in chosen if ":" in name}
    install(session, extra=",".join(sorted({"pulsar", *extras})))
    for name in chosen:
        adapter = f"pulsar:{name}" if name in profiles else name
        kind, _, version = adapter.partition(":")
        out = f"reports/out/published-{kind}-{version or VERSION}"
        known, project = [], ["--project", PACKAGE]
        alone = version in OTHER_RELEASES
        if version:
            listed = "" if alone else f"/{kind}-{version}.yaml"
            known = ["--known-deviations", f"fixtures/deviations{listed}"]
            project = ["--project", "Apache Pulsar", "--url", "https://pulsar.apache.org/"]
        fewer = ["--examples", "5"] if kind == "cluster" else []
        judge = ["--adapter", adapter, "--judge-by", profiles.get(version, PROFILES[0])]
        words = [*judge, *fewer, "--out", out, *known]
        shutil.rmtree(Path(".conformance", "cases"), ignore_errors=True)
        session.run("pulsar-conformance", "run", *words, success_codes=[0, 1])
        about = [*project, "--mode", MODES[kind], "--contact", f"the maintainers of {PACKAGE}"]
        about += ["--to", f"reports/published{'/others' if alone else ''}"]
        stream = f"{out}/verdicts.jsonl"
        session.run("pulsar-conformance", "report", "make", stream, *about, *known)
    session.run("pulsar-conformance", "report", "verify", *published())
    session.run("python", "-m", "pulsar_conformance.reports.matrix")


def published() -> list[str]:
    """Return the files of all published reports."""
    folder = Path("reports", "published")
    return sorted(map(str, (*folder.glob("*.json"), *folder.glob("others/*.json"))))


@nox.session
def clusters(session: nox.Session) -> None:
    """Judge clusters on loopback: every version, or those after --; needs Java and Maven.

    A version may name a load manager, as in `4.0.7,manager=extensible`. With --saved after --,
    clusters only play the saved stories of their known deviations.
    """
    install(session, "tests", extra="cluster")
    chosen = [word for word in session.posargs if word != SAVED_OPTION]
    if SAVED_OPTION in session.posargs:
        named = ["-k", " or ".join(map(cluster_name, chosen))] if chosen else []
        usual = ("-m", "cluster and not thorough")
        session.run("pytest", "-q", *TEST_LIMITS, *usual, "-n", "3", STORIES_TEST, *named)
        return
    outs = []
    for name in chosen or CLUSTER_RELEASES:
        stem = cluster_name(name)
        outs.append(out := f"reports/out/{stem}")
        documents = RELEASES[name.partition(",")[0]]
        words = ["--adapter", f"cluster:{name}", "--judge-by", documents, "--out", out]
        known = Path(f"fixtures/deviations/{stem}.yaml")
        listed = ["--known-deviations", str(known)] if known.exists() else []
        session.run("pulsar-conformance", "run", *words, "--examples", "5", *listed)
    session.run("python", "-m", "pulsar_conformance.reports.releases", *outs)
    session.run("pytest", "-q", *TEST_LIMITS, "-m", "cluster")


def cluster_name(name: str) -> str:
    """Return the name of the files about a cluster, such as `cluster-extensible-4.0.7`."""
    version, _, manager = name.partition(",manager=")
    return "-".join(one for one in ("cluster", manager, version) if one)


@nox.session
def audit(session: nox.Session) -> None:
    """Judge recorded history; after --, options of `pulsar-conformance audit`."""
    install(session, extra="spark")
    session.run("pulsar-conformance", "audit", *session.posargs)


@nox.session
def fleet(session: nox.Session) -> None:
    """Generate a fleet's history with Java 17; after --, options of `pulsar-conformance fleet`."""
    install(session, extra="spark")
    session.run("pulsar-conformance", "fleet", *session.posargs)


@nox.session
def report(session: nox.Session) -> None:
    """Create an Allure report of the last run, as one HTML file."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.allure", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """Write the worked examples as Markdown, one page per area, to reports/examples."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.pages", *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """Build the site into reports/out/site; downloads the playground's Python from npm once."""
    install(session, "site", extra="site")
    session.run("python", "-m", "pulsar_conformance.reports.site", *session.posargs)
    session.run("zensical", "build", "--clean", "--strict", "-f", SITE)
    session.log("open reports/out/site/index.html")
    if shutil.which("chromium") and shutil.which("chromedriver"):
        session.run("pytest", "-q", "-m", "site or browser", *PAGE_TESTS)
    else:
        session.run("pytest", "-q", "-m", "site", *PAGE_TESTS)
        session.warn("no Chromium and chromedriver on the PATH: tests marked browser were not run")


@nox.session
def fixtures(session: nox.Session) -> None:
    """Write an archive of cases with their allowed answers, for tests in any language."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.archive", *session.posargs)


@nox.session(python=PYTHONS)
def package(session: nox.Session) -> None:
    """Install the wheel in an empty environment, without building any package, and use it."""
    shutil.rmtree(Path("build", "lib"), ignore_errors=True)
    folder = Path(session.create_tmp()).absolute()
    wheels, empty = folder / "wheels", folder / "empty"
    shutil.rmtree(wheels, ignore_errors=True)
    session.install("pip")
    session.run("python", "-m", "pip", "wheel", "--quiet", "--wheel-dir", str(wheels), ".")
    session.run("python", "-m", "venv", "--clear", str(empty))
    offline = ("--no-index", "--find-links", str(wheels))
    session.run(f"{empty}/bin/pip", "install", "--quiet", *offline, PACKAGE, external=True)
    tool = f"{empty}/bin/{PACKAGE}"
    with session.chdir(folder):  # Run outside the repository, so that its files are not imported.
        session.run(tool, "--version", external=True)
        session.run(tool, "check", "reference", external=True)
        session.run(tool, "run", "--adapter", "reference", "--examples", "5", external=True)


@nox.session
def release(session: nox.Session) -> None:
    """Build and check the files of a release, in dist/; nothing is signed or published."""
    changes = Path("CHANGELOG.md").read_text("utf-8")
    if f"## {VERSION}" not in changes:
        session.error(f"CHANGELOG.md has no entry for {VERSION}, the version in pyproject.toml")
    install(session, "release")
    session.run("pulsar-conformance", "report", "freeze", "--check")
    session.run("pulsar-conformance", "report", "verify", *published())
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", "dist")
    session.run("twine", "check", "--strict", *map(str, sorted(Path("dist").iterdir())))
    session.run("python", "-m", "pulsar_conformance.reports.archive", "--to", "dist")


@nox.session
def changes(session: nox.Session) -> None:
    """Write pages about decisions that change from release to release to reports/changes."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.between", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """List each sentence of the documents with its rules; requires -- --documents DIR."""
    install(session)
    session.run("python", "-m", "pulsar_conformance.reports.coverage", *session.posargs)
