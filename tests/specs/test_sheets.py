"""The content of the package's YAML files is kept with its compiled modules."""

import sys

import pytest
from pulsar_conformance.specs import lines
from pulsar_conformance.specs.lines import read_sheet

TEXT = "name: a\nlist:\n  - 1\n  - {two: 2.5}\n"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Let the test's folder be the package's, with its compiled modules below it; return where."""
    monkeypatch.setattr(lines, "PACKAGE", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    return tmp_path / "kept"


def write(folder, text):
    (folder / "one.yaml").write_text(text, "utf-8")


def files(kept):
    return [path for path in kept.rglob("*") if path.is_file()]


def test_a_file_is_parsed_once(tmp_path, kept, monkeypatch):
    write(tmp_path, TEXT)
    first = read_sheet(tmp_path, "one.yaml")
    assert first.line(("list", 1, "two")) == 4
    monkeypatch.setattr(lines, "Loader", None)
    assert read_sheet(tmp_path, "one.yaml") == first
    assert len(files(kept)) == 1


def test_a_changed_file_is_parsed_anew(tmp_path, kept):
    write(tmp_path, TEXT)
    read_sheet(tmp_path, "one.yaml")
    write(tmp_path, TEXT.replace("name: a", "name: b"))
    assert read_sheet(tmp_path, "one.yaml").data["name"] == "b"
    assert len(files(kept)) == 1


@pytest.mark.parametrize("content", [b"", b"no marshalled data", b"\xe9\x01\x00\x00\x00"])
def test_a_damaged_copy_is_replaced(tmp_path, kept, content):
    write(tmp_path, TEXT)
    first = read_sheet(tmp_path, "one.yaml")
    [file] = files(kept)
    right = file.read_bytes()
    file.write_bytes(content)
    assert read_sheet(tmp_path, "one.yaml") == first
    assert file.read_bytes() == right


def test_a_file_with_a_date_is_not_kept(tmp_path, kept):
    write(tmp_path, "day: 2024-05-01\n")
    assert read_sheet(tmp_path, "one.yaml") == read_sheet(tmp_path, "one.yaml")
    assert not files(kept)


def test_nothing_is_kept_if_python_keeps_no_modules(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write(tmp_path, TEXT)
    read_sheet(tmp_path, "one.yaml")
    assert not files(kept)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, kept):
    kept.write_text("a file", "utf-8")
    write(tmp_path, TEXT)
    assert read_sheet(tmp_path, "one.yaml").data["name"] == "a"


def test_nothing_is_kept_of_the_files_of_users(tmp_path, kept, monkeypatch):
    monkeypatch.setattr(lines, "PACKAGE", tmp_path / "package")
    write(tmp_path, TEXT)
    read_sheet(tmp_path, "one.yaml")
    assert not files(kept)
