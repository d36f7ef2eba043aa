"""Mistakes in the options of an audit are reported before Spark starts."""

from pathlib import Path

import pytest
from pulsar_conformance.audit.input.paths import check_paths, escape_existing_path, storage_problem
from pulsar_conformance.conformance.commands.main import main

MISTAKES = {
    "no such strategy": (
        ["--strategy", "LoudShedder"],
        "LoudShedder is not a strategy; choose from OverloadShedder, ",
    ),
    "no such time": (["--from", "0001-01-01T00:00:00+05:00"], "is not a time in ISO 8601"),
    "no time": (["--from", "yesterday"], "yesterday is not a time in ISO 8601; write it as 2026-"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported(mistake, capfd):
    words, told = MISTAKES[mistake]
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--input", "in", "--output", "out", *words])
    assert ended.value.code == 2
    assert told in capfd.readouterr().err


PATHS = {
    "no input": (["--input", ""], "--input: the path is empty"),
    "output within the input": (["--output", "in/new"], "--output in/new: it is inside --input"),
    "output is the input": (["--output", "in"], "--output in: it is inside --input"),
    "output below a file": (["--output", "file/new"], "file is not a folder; give another path"),
    "no folder for the summary": (["--json", "no/a.json"], "--json no/a.json: there is no folder"),
    "summary is a folder": (["--json", "in"], "--json in: it is a folder; give a file"),
    "no time between": (
        ["--from", "2026-11-21", "--to", "2026-11-20"],
        "it is not before --to 2026-11-20",
    ),
}


@pytest.mark.parametrize("mistake", PATHS)
def test_what_cannot_be_read_or_written_is_reported(mistake, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "file").touch()
    words, told = PATHS[mistake]
    assert main(["audit", "--input", "in", "--output", "out", *words]) == 2
    shown = capfd.readouterr().err
    assert told in shown
    assert shown.count("\n") == 1


def test_a_hidden_folder_within_the_input_is_apart(tmp_path):
    check_paths(str(tmp_path), str(tmp_path / ".audit" / "new"), None)


def test_a_name_is_written_whole_where_spark_would_take_it_for_an_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("history", "log-10:00", "h[1]"):
        Path(name).mkdir()
    assert escape_existing_path("history") == "history"
    assert escape_existing_path("log-10:00") == str(tmp_path / "log-10:00")
    assert escape_existing_path("h[1]") == r"h\[1\]"
    assert escape_existing_path("h*") == "h*"


@pytest.mark.parametrize(
    ("path", "cause", "problem"),
    [
        (
            "s3a://bucket/history",
            "ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "--packages org.apache.hadoop:hadoop-aws:VERSION",
        ),
        (
            "gs://bucket/a",
            'No FileSystem for scheme "gs"',
            "Spark lacks com.google.cloud.bigdataoss",
        ),
        (
            "abfss://a@b/c",
            "Class org.x.SecureAbfs not found",
            "Spark lacks org.apache.hadoop:hadoop-az",
        ),
        ("s3://bucket/history", 'No FileSystem for scheme "s3"', "write s3a://"),
        (
            "ftp9://host/a",
            'No FileSystem for scheme "ftp9"',
            "choose from s3a, abfs, abfss, gs, hdfs",
        ),
        ("hdfs://nn:9/a", "java.net.UnknownHostException: nn", "the host in hdfs://nn"),
        ("s3a://bucket/history", "403 Forbidden", None),
        ("history", "Class x not found", None),
    ],
)
def test_a_path_that_spark_cannot_open_names_the_package(path, cause, problem):
    found = storage_problem(path, cause)
    assert found is None if problem is None else problem in found
