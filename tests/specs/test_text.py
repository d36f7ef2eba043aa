"""Paragraphs, columns and tables of the terminal."""

import ast
from pathlib import Path

from pulsar_conformance.specs.text import WIDTH, columns, paragraph, table

ROOT = Path(__file__).parents[2]
FOLDERS = ("specs", "reference", "conformance", "adapters", "fixtures", "reports", "audit")


def test_a_paragraph_breaks_at_blanks_and_keeps_units():
    text = f"{'word ' * 15}12 MB/s and broker-a/with-a-long-name"
    assert paragraph(text, 2, "") == [
        ("word " * 15).rstrip(),
        "  12 MB/s and broker-a/with-a-long-name",
    ]


def test_the_last_column_takes_several_lines():
    lines = list(columns([("a", "word " * 20), ("long", "x")]))
    assert lines[0].startswith("a     word")
    assert lines[1].startswith("      word")
    assert lines[-1] == "long  x"
    assert max(map(len, lines)) <= WIDTH


def test_numbers_of_a_table_are_aligned_to_the_right():
    assert [line.strip() for line in table(("rule", "pass"), [("A-01", "7")], numbers=True)][0::2]
    assert table(("rule", "pass"), [("A-01", "7")], numbers=True)[-1].endswith("   7")


def test_only_one_module_lays_out_text():
    """Only `specs.text` wraps text and makes tables; reports with colors may use Rich directly."""
    wrong = [
        file.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if (isinstance(node, ast.ImportFrom) and node.module in ("textwrap", "rich.table"))
        or (isinstance(node, ast.Import) and node.names[0].name == "textwrap")
    ]
    assert sorted(set(wrong)) == ["reports/coverage.py", "specs/text.py"]
