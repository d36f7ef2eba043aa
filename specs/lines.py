"""Reads YAML files, with the line number of each value.

The content of the package's own files is kept next to its compiled modules, since parsing all
files takes longer than most commands.
"""

import hashlib
import marshal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import NamedTemporaryFile

import yaml
from pulsar_conformance.specs.errors import SpecError, why_unreadable
from pulsar_conformance.specs.model import JSON

Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PACKAGE = Path(__file__).absolute().parents[1]
READABLE = 0o644
"""Mode of a file that everybody may read, as compiled modules usually are."""
Place = tuple[str | int, ...]
"""The keys and indices that lead from the top of a file to a value."""


@dataclass(frozen=True)
class Sheet:
    """A YAML file: its name, its data and the line of every value."""

    file: str
    data: JSON
    lines: Mapping[Place, int]

    def line(self, place: Place) -> int:
        """Return the line of the value at a place or, if it has no line, of the closest value
        around it.
        """
        while place and place not in self.lines:
            place = place[:-1]
        return self.lines.get(place, 1)

    def error(self, place: Place, problem: str) -> SpecError:
        """Return an error whose message gives the file and the line of a place."""
        return SpecError(self.file, self.line(place), problem)


def read_sheet(directory: Path, file: str) -> Sheet:
    """Read the YAML file `file` in `directory`. Errors: `SpecError` for invalid YAML or a repeated
    key.
    """
    try:
        text = (directory / file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = why_unreadable(problem, directory / file)
        raise SpecError(file, 1, f"cannot be read: {reason}") from problem
    path = (directory / file).absolute()
    if not path.is_relative_to(PACKAGE):
        return Sheet(file, *_parsed(file, text))
    compiled = _compiled_file(path)
    key = hashlib.sha256(text.encode()).digest()
    known = _compiled(compiled, key)
    if known is None:
        known = _parsed(file, text)
        _keep_compiled(compiled, key, known)
    return Sheet(file, *known)


def _parsed(file: str, text: str) -> tuple[JSON, dict[Place, int]]:
    """Return the data of a file and the line of every value. Errors: `SpecError`."""
    try:
        loader = Loader(text)
        node = loader.get_single_node()
        lines: dict[Place, int] = {}
        return (None if node is None else _read_value(loader, file, node, (), lines)), lines
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line = mark.line + 1 if mark else 1
        raise SpecError(file, line, f"not YAML: {problem.problem or problem.context}") from problem
    except yaml.YAMLError as problem:
        raise SpecError(file, 1, f"not YAML: {problem}") from problem
    except RecursionError:
        raise SpecError(file, 1, "is nested too deeply, or contains itself") from None


def _compiled_file(path: Path) -> Path:
    """Return the file that keeps the parsed content of a YAML file."""
    return Path(cache_from_source(f"{path}.py")).with_suffix(".sheet")


def _compiled(file: Path, key: bytes) -> tuple[JSON, dict[Place, int]] | None:
    """Return the kept content of a text with this hash, or None."""
    with suppress(OSError, EOFError, ValueError, TypeError):
        found, data, lines = marshal.loads(file.read_bytes())
        if found == key:
            return data, lines
    return None


def _keep_compiled(file: Path, key: bytes, known: tuple[JSON, dict[Place, int]]) -> None:
    """Keep the content of a text with this hash, if Python may keep compiled modules there, too."""
    if sys.dont_write_bytecode:
        return
    with suppress(OSError, ValueError):  # The folder may be read-only; a date is no plain value.
        content = marshal.dumps((key, *known))
        file.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(content)
        Path(new.name).chmod(READABLE)
        Path(new.name).replace(file)


def _read_value(
    loader: yaml.SafeLoader, file: str, node: yaml.Node, place: Place, lines: dict[Place, int]
) -> JSON:
    # The key has already recorded its line, which is correct even if the value is an alias.
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _read_mapping(loader, file, node, place, lines)
    if isinstance(node, yaml.SequenceNode):
        return [
            _read_value(loader, file, child, (*place, index), lines)
            for index, child in enumerate(node.value)
        ]
    return loader.construct_object(node)


def _read_mapping(
    loader: yaml.SafeLoader,
    file: str,
    node: yaml.MappingNode,
    place: Place,
    lines: dict[Place, int],
) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for key_node, child in node.value:
        key, line = key_node.value, key_node.start_mark.line + 1
        if not isinstance(key, str):
            raise SpecError(file, line, "a key must be a word, not a list or a mapping")
        if key in found:
            first = lines[(*place, key)]
            raise SpecError(file, line, f"{key} is given twice, first on line {first}; keep one")
        lines[(*place, key)] = line
        found[key] = _read_value(loader, file, child, (*place, key), lines)
    return found
