"""The English of docstrings and comments."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("api", "specs", "reference", "conformance", "adapters", "audit", "fixtures", "reports")
SOURCES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
BESIDE = sorted((ROOT / "tests").rglob("*.py"))

RIDDLE = re.compile(r"(What|So many|So long|So often|Those|That which|Of) ")
"""Beginnings of texts that describe neither a thing nor its effect, so that readers have to read
them twice.
"""


def texts(file):
    """Yield the docstrings and comments of a file, each with its line."""
    source = file.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()
    previous = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            if line != previous + 1:
                yield line, token.string.lstrip("# ")
            previous = line


@pytest.mark.parametrize("file", [*SOURCES, *BESIDE], ids=lambda file: str(file.relative_to(ROOT)))
def test_a_text_begins_with_what_it_describes(file):
    riddles = [f"{line}: {text[:60]}" for line, text in texts(file) if RIDDLE.match(text)]
    assert riddles == []
