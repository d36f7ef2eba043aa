"""Every command reads a file of settings like the release that it is about: 4.0 and later accept
the former names of the bandwidth weights only with the prefix.
"""

import json
import pickle
from pathlib import Path

import pytest
from pulsar_conformance.conformance.cases.settings_files import read_in_force, read_settings
from pulsar_conformance.conformance.commands.main import main

OLD = "loadBalancerBandwithOutResourceWeight"
SAVED = Path("fixtures/reports/three-brokers/modular")
LOST = f"{OLD}: bin/apply-config-from-env.py takes names without the prefix"
SETTINGS = {f"loadBalancer{one}ResourceWeight": "0" for one in ("CPU", "Memory")} | {OLD: "0.1"}


@pytest.fixture(params=["broker.env", "values.yaml"])
def file(request, tmp_path):
    path = tmp_path / request.param
    if path.suffix == ".env":
        path.write_text("\n".join(f"{name}={value}" for name, value in SETTINGS.items()))
    else:
        path.write_text(f"broker: {{configData: {json.dumps(SETTINGS)}}}")
    return str(path)


@pytest.fixture
def ask(capsys):
    def run(*words, status=0):
        assert main([*map(str, words)]) == status
        said = capsys.readouterr()
        return said.out, " ".join(said.err.split())

    return run


@pytest.fixture
def reports(tmp_path):
    """Save reports of 3.0.7 in which 97.6 % of broker-1's outgoing bandwidth is used."""
    folder = tmp_path / "reports"
    folder.mkdir()
    for one in SAVED.iterdir():
        report = json.loads(one.read_text())
        report["bandwidthOut"]["limit"] = 500_000.0
        (folder / one.name).write_text(json.dumps(report))
    return folder


@pytest.fixture
def compared():
    """Return a function that reads the settings which an audit compares with recorded settings."""
    pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")
    from pulsar_conformance.audit.commands import audit

    def run(file, profile):
        return audit._settings_to_compare(file, audit._read_settings(file, None), profile)

    return run


def sheds(text):
    """True if an explanation's answer has unloads."""
    return "unload  shop" in text


# With the weight of 0.1, no broker sheds; by default, broker-1 does.
@pytest.mark.parametrize(
    ("words", "lost"),
    [
        ((), False),
        (("--release", "3.0.7"), False),
        (("--release", "4.2.4"), True),
        (("--profile", "released-4.2"), True),
        (("--profile", "released-3.0"), False),
        (("--release", "3.0.7", "--profile", "released-4.2"), True),
        (("--profile", "documented-4.2"), False),
    ],
)
def test_explain_reads_it_as_the_release_that_is_asked_about(ask, reports, file, words, lost):
    out, err = ask("explain", reports, "--conf", file, *words)
    assert (LOST in err, sheds(out)) == (lost, lost)


@pytest.mark.parametrize(
    ("words", "lost"),
    [
        ((), False),
        (("--release", "4.2.4"), True),
        (("--profile", "released-4.2"), True),
        (("--profile", "documented-4.2"), False),
    ],
)
def test_a_saved_case_is_changed_by_it_in_the_same_way(ask, reports, file, tmp_path, words, lost):
    case = tmp_path / "case.json"
    case.write_text(ask("case", reports)[0])
    out, err = ask("explain", case, "--conf", file, *words)
    assert (LOST in err, sheds(out)) == (lost, lost)


@pytest.mark.parametrize(
    ("words", "unloads"),
    [
        ((), [False]),
        (("--profile", "released-4.2"), [True]),
        (("--compare", "profile=released-4.2"), [False, True]),
        (("--profile", "released-4.2", "--compare", "profile=released-3.0"), [True, False]),
        (("--compare", f"profile=released-4.2 {OLD}=0.1"), [False, False]),
    ],
)
def test_each_simulated_release_reads_it_itself(ask, reports, file, words, unloads):
    out, err = ask(
        "simulate", "--reports", reports, "--conf", file, "--cycles", 3, "--json", *words
    )
    assert [one["unloads"] > 0 for one in json.loads(out)] == unloads
    assert (LOST in err) is any("released-4.2" in one for one in words)


def test_an_import_reads_it_as_the_release_of_the_reports(ask, reports, file, tmp_path):
    for number, (words, lost) in enumerate([((), False), (("--release", "4.2.4"), True)]):
        folder = tmp_path / str(number)
        _, err = ask("import", reports, "--conf", file, "--output", folder, *words)
        lines = [json.loads(line) for one in folder.iterdir() for line in one.open()]
        [settings] = [one["settings"] for one in lines if one["kind"] == "settings"]
        assert (LOST in err, OLD in settings) == (lost, not lost)


def test_a_release_without_settings_is_refused(ask, reports, tmp_path):
    _, err = ask("import", reports, "--output", tmp_path / "new", "--release", "3.0.7", status=2)
    assert "--release: it needs the settings that this version reads; give --conf or" in err


@pytest.mark.parametrize(
    ("profile", "kept"),
    [("released-3.0", True), ("released-4.2", False), ("documented-3.0", False)],
)
def test_an_audit_compares_it_as_the_release_that_judges_reads_it(compared, file, profile, kept):
    assert (OLD in compared(file, profile)) is kept


@pytest.fixture
def of_image(tmp_path):
    """Write Helm values that name the image of 3.0.7."""
    path = tmp_path / "image.yaml"
    image = "images: {broker: {repository: apachepulsar/pulsar, tag: 3.0.7}}"
    path.write_text(f"{image}\nbroker: {{configData: {json.dumps(SETTINGS)}}}\n")
    return str(path)


def test_an_image_names_the_release_if_the_documents_judge(compared, of_image):
    assert OLD in compared(of_image, "documented-3.0")


def test_an_image_names_the_release_of_a_case_of_no_release(ask, reports, of_image, tmp_path):
    case = tmp_path / "case.json"
    found = json.loads(ask("case", reports, "--profile", "documented-3.0")[0])
    case.write_text(json.dumps(found))
    assert LOST not in ask("explain", case, "--conf", of_image)[1]
    assert LOST in ask("explain", case, "--conf", of_image, "--release", "4.2.4")[1]


def test_a_release_that_nothing_names_is_said_to_be_assumed(file):
    [unused] = read_settings(Path(file)).unused
    assert "and that of 5.0.0-M1 (assumed) does not; write PULSAR_PREFIX_" in unused.why


def test_what_a_task_of_spark_gets_can_be_read_again_there(file, tmp_path):
    dynamic = tmp_path / "dynamic.json"
    dynamic.write_text('{"loadBalancerSheddingEnabled": "false"}')
    read = read_in_force(Path(file), dynamic, "3.0.7")
    found = pickle.loads(pickle.dumps(read)).read_by("4.2.4")
    assert (OLD in read.values, OLD in found.values) == (True, False)
    assert found.values["loadBalancerSheddingEnabled"] is False
