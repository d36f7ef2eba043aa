"""The sessions of the noxfile, as nox reads them."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pulsar_conformance.specs
import pytest
from pulsar_conformance.adapters.pulsar.versions import documents_of, releases
from standins.streams import PUBLISHED

nox = pytest.importorskip("nox")
ROOT = Path(__file__).parent.parent
FOLDERS = ("specs", "reference", "conformance", "adapters", "fixtures", "reports", "audit")


def unregistered(function=None, **_):
    """Replace nox's decorator, which would add every session to nox's registry."""
    return function or unregistered


@pytest.fixture(scope="module")
def noxfile():
    spec = importlib.util.spec_from_file_location("project_noxfile", ROOT / "noxfile.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(nox, "session", unregistered)
        spec.loader.exec_module(module)
    return module


def test_the_sessions_are_listed_with_what_they_do():
    words = [sys.executable, "-m", "nox", "--list", "-f", str(ROOT / "noxfile.py")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    listed = re.findall(r"^([*-]) (\w+) -> \S", done.stdout, re.MULTILINE)
    asked = {name for star, name in listed if star == "-"}
    assert [name for star, name in listed if star == "*"] == ["lint", "tests", "conformance"]
    assert asked == {
        "audit", "bench", "changes", "clusters", "coverage", "examples", "fixtures", "fleet",
        "lock", "mutants", "publish", "pulsar", "release", "report", "site", "spark",
        "thorough",
    }  # fmt: skip


DEFAULT = ["--judge-by", "documented-3.0", "--judge-by", "unwritten-3.0"]


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ([], DEFAULT),
        (["--adapter", "reference"], [*DEFAULT, "--adapter", "reference"]),
        (["--examples", "20", "--", "-n", "4"], [*DEFAULT, "--examples", "20", "--", "-n", "4"]),
        (["--judge-by", "documented-2.10"], ["--judge-by", "documented-2.10"]),
        (["--judge-by=documented-2.10"], ["--judge-by=documented-2.10"]),
        (["--profile", "documented-2.10"], ["--profile", "documented-2.10"]),
        (["--replay", "case.json"], ["--replay", "case.json"]),
        (["--characterize"], ["--characterize"]),
        (["--adapter", "pulsar:4.2.4"], ["--adapter", "pulsar:4.2.4"]),
        (["--", "--judge-by"], [*DEFAULT, "--", "--judge-by"]),
    ],
)
def test_a_run_that_names_no_profile_is_judged_by_both(noxfile, given, run):
    assert noxfile.with_default_profiles(given) == run


LOCKED = (".", "--constraint", "constraints.txt")


class Session:
    """A session that records installations and commands."""

    def __init__(self, backend, *posargs):
        self.venv_backend, self.posargs, self.did = backend, list(posargs), []

    def install(self, *words):
        self.did.append(("install", *words))

    def run(self, *words, **_options):
        self.did.append(words)


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        ("uv", (*LOCKED, "--reinstall-package", "pulsar-conformance", "--compile-bytecode")),
        ("virtualenv", LOCKED),
    ],
)
def test_changed_code_is_installed_whatever_the_tool(
    noxfile, backend, words, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    gone = tmp_path / "build" / "lib" / "pulsar_conformance" / "gone.py"
    gone.parent.mkdir(parents=True)
    gone.touch()
    session = Session(backend, "--adapter", "reference")
    noxfile.conformance(session)
    run = ("pulsar-conformance", "run", *DEFAULT, "--adapter", "reference")
    assert session.did == [("install", *words), run]
    assert not gone.exists()


@pytest.mark.parametrize(
    ("words", "java", "extra"),
    [
        ([], 17, "spark"),
        ([], 11, ""),
        ([], 0, ""),
        (["--examples", "20"], 25, "spark"),
        (["--adapter", "reference"], 17, ""),
        (["--adapter=sample:java"], 17, ""),
        (["--adapter", "reference", "--adapter", "spark:local[4]"], 0, "spark"),
        (["--adapter=spark:sc://host:15002"], 0, "spark"),
        (["--adapter=pulsar:3.0.7", "--adapter", "spark"], 0, "pulsar,spark"),
    ],
)
def test_half_a_gigabyte_is_fetched_only_where_it_is_needed(
    noxfile, monkeypatch, words, java, extra
):
    monkeypatch.setattr(noxfile, "java_version", lambda: java)
    assert noxfile.extras_for(words) == extra


def test_the_java_that_spark_would_take_is_looked_at(noxfile, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert noxfile.java_version() == 0
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\" 2026-01-01' >&2\n")
    java.chmod(0o755)
    assert noxfile.java_version() == 21


def test_the_tests_of_spark_are_run_where_spark_is(noxfile, monkeypatch):
    monkeypatch.chdir(ROOT)
    session = Session("uv", "-k", "edges")
    noxfile.spark(session)
    installed, checked, tested = session.did
    assert installed[1] == ".[spark]"
    assert checked == ("pulsar-conformance", "check", "spark:local[2]")
    assert tested[0] == "pytest"
    assert tested[-4:] == ("-m", "spark and not thorough", "-k", "edges")


def test_what_follows_the_dashes_goes_through(noxfile, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    session = Session("uv", "-k", "overload")
    noxfile.tests(session)
    chosen = ("-m", noxfile.PLAIN_TESTS)
    expected = (
        "pytest",
        *noxfile.TWO_WORKERS,
        "-q",
        *noxfile.TEST_LIMITS,
        *chosen,
        "-k",
        "overload",
    )
    assert session.did[-1] == expected


def test_each_release_is_judged_by_the_documents_that_its_file_names(noxfile):
    found = {version: one.documents for version, one in releases().items()}
    assert found == noxfile.RELEASES
    assert {one: documents_of(one) for one in noxfile.OTHER_RELEASES} == noxfile.OTHER_RELEASES


def test_another_release_is_published_apart_with_the_deviations_of_all(noxfile):
    session = Session("uv", "3.2.3")
    noxfile.publish(session)
    _, run, make, verify, _ = session.did
    listed = ("--known-deviations", "fixtures/deviations")
    assert run[2:6] == ("--adapter", "pulsar:3.2.3", "--judge-by", "documented-3.0")
    assert run[-2:] == make[-2:] == listed
    assert make[make.index("--to") + 1] == "reports/published/others"
    assert {ROOT / name for name in verify[3:]} == {*PUBLISHED}
    others = {file.name for file in PUBLISHED if file.parent.name == "others"}
    assert others == {f"pulsar-{one}-{of}.json" for one, of in noxfile.OTHER_RELEASES.items()}


def test_every_folder_with_code_is_a_package_that_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {
        file.parent.relative_to(ROOT)
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("__init__.py")
    }
    packages = {".".join(("pulsar_conformance", *folder.parts)) for folder in folders}
    assert set(listed["packages"]) == {"pulsar_conformance", *packages}
    assert set(listed["package-dir"].values()) == {"api", *FOLDERS}


GENERATED = ("published", "changes", "examples", "mutants", "strategies", "loops")
"""Folders of reports/ that are generated; users read them on the site or in the repository."""


def test_every_file_of_the_packages_is_installed():
    installed = Path(pulsar_conformance.specs.__file__).parent.parent
    made = {"out", "__pycache__", *GENERATED}
    files = [
        file.relative_to(ROOT)
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*")
        if file.is_file() and not made & set(file.relative_to(ROOT).parts)
    ]
    assert [file for file in files if not (installed / file).exists()] == []


def test_a_bench_has_what_its_adapters_need(noxfile, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(noxfile, "java_version", lambda: 17)
    session = Session("uv", "engines", "--adapter", "reference", "--adapter=pulsar:3.0.7")
    noxfile.bench(session)
    assert session.did[0][1] == ".[pulsar,spark]"
    monkeypatch.setattr(noxfile, "java_version", lambda: 0)
    session = Session("uv", "engines", "--adapter", "reference")
    noxfile.bench(session)
    assert session.did[0][1] == "."


def test_ci_plays_the_saved_stories_of_clusters_that_have_some(noxfile):
    script = (ROOT / ".ci" / "run").read_text("utf-8").replace("\\\n", "")
    names = re.search(r"clusters -- --saved (.+)", script)[1].split()
    stems = {noxfile.cluster_name(name) for name in names}
    files = {file.stem for file in (ROOT / "fixtures" / "deviations").glob("cluster-*.yaml")}
    assert stems == {"cluster-3.0.7", "cluster-simple-3.0.7", "cluster-extensible-4.2.4"}
    assert stems <= files
