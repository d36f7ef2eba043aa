"""Files that a command cannot use: the message says what they seem to be and what to do."""

import gzip
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main

REPORTS = Path(__file__).parents[3] / "fixtures/reports/three-brokers"
RECORD = '{"kind": "cycle", "cluster": "eu", "at": "2026-11-20T10:00:00Z"}\n'
REFUSED = '{"reason": "HTTP 401 Unauthorized"}'
FILES = {
    "empty": (b"", "it is empty; save it again"),
    "page": (b"\n<html><body>401</body></html>", "it is a web page; check the URL and the token"),
    "reply": (b'HTTP/1.1 200 OK\r\n\r\n{"cpu": {}}', "save only the body of the response (curl"),
    "archive": (b"PK\x03\x04\x14\x00", "it is an archive; unpack it"),
    "compressed": (gzip.compress(b"{}"), "it is compressed; decompress it first"),
    "history": (RECORD.encode() * 2, "use pulsar-conformance audit --input"),
    "settings": (b"# limits\n\nloadBalancerEnabled=true\n", "use pulsar-conformance settings"),
    "text": (b"hello", "give a case, a log of the load balancer or a folder of load reports"),
    "refusal": (REFUSED.encode(), "it is a broker's error response; check the URL and the token"),
    "log": (
        b"2026-11-20T10:00:00,123+0000 [main] INFO  x.y - Unloading\n",
        "it is a log; use pulsar-conformance explain --log",
    ),
    "messages": (b"----- got message -----\nkey:[b1]", "it contains messages of a topic"),
    "list": (b"[1, 2]", "give a case, a log of the load balancer or a folder of load reports"),
}
SAVED = "save each broker's admin/v2/broker-stats/load-report as BROKER.json"


def message(capsys, *words):
    assert main([str(word) for word in words]) == 2
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return " ".join(said.err.split())


@pytest.mark.parametrize("name", FILES)
def test_explain_says_what_a_file_seems_to_be(name, tmp_path, capsys):
    content, told = FILES[name]
    (tmp_path / name).write_bytes(content)
    assert told in message(capsys, "explain", tmp_path / name)


@pytest.mark.parametrize("name", ["empty", "page", "archive", "compressed", "history"])
@pytest.mark.parametrize("command", ["explain", "case"])
def test_a_folder_is_read_up_to_such_a_file(command, name, tmp_path, capsys):
    content, told = FILES[name]
    (tmp_path / "broker-1.json").write_bytes(content)
    assert told in message(capsys, command, tmp_path)


@pytest.mark.parametrize("name", ["empty", "page", "settings"])
def test_import_says_what_a_file_seems_to_be(name, tmp_path, capsys):
    content, told = FILES[name]
    (tmp_path / name).write_bytes(content)
    assert told in message(capsys, "import", tmp_path / name, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_says_what_a_file_seems_to_be(tmp_path, capsys):
    (tmp_path / "broker.conf").write_bytes(FILES["compressed"][0])
    assert FILES["compressed"][1] in message(capsys, "settings", tmp_path / "broker.conf")
    assert "it is a folder; give a file in it" in message(capsys, "settings", f"{tmp_path}/")


@pytest.mark.parametrize("command", ["explain", "case"])
def test_a_folder_without_reports_says_how_to_save_them(command, tmp_path, capsys):
    (tmp_path / "broker.conf").write_bytes(FILES["settings"][0])
    assert SAVED in message(capsys, command, tmp_path)


def test_a_folder_above_reports_names_those_that_have_some(capsys):
    told = message(capsys, "explain", REPORTS)
    assert f"the reports may be in {REPORTS}/modular or {REPORTS}/simple" in told
    assert "bundle-data" not in told


def test_case_says_what_a_file_in_place_of_a_folder_seems_to_be(tmp_path, capsys):
    file = tmp_path / "broker.conf"
    file.write_bytes(FILES["settings"][0])
    assert "it is not a folder; it contains settings; use" in message(capsys, "case", file)


def test_case_asks_for_the_folder_of_a_file(capsys):
    file = REPORTS / "modular" / "broker-1.json"
    assert f"it is not a folder; give the folder, {file.parent}" in message(capsys, "case", file)
