"""The project file: stored options for `run` and `report make`."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pulsar_conformance.specs.errors import UserError, print_note, suggest_names

OptionValues = Callable[[Any], Iterator[str]]
"""Function that turns the value of a key into option values. Errors: `ValueError`; its message is
the kind of value that the key takes.
"""


def _text_option(value: Any) -> Iterator[str]:
    if not isinstance(value, str) or not value:
        raise ValueError("a string")
    yield value


def _text_options(value: Any) -> Iterator[str]:
    values = value if isinstance(value, list) and value else [value]
    if not all(isinstance(one, str) and one for one in values):
        raise ValueError("a string, or a list of strings")
    yield from values


def _integer_option(value: Any) -> Iterator[str]:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("a whole number")
    yield str(value)


def _number_option(value: Any) -> Iterator[str]:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("a number")
    yield str(value)


def _table_options(value: Any) -> Iterator[str]:
    plain = (str, int, float)
    if not isinstance(value, dict) or not all(isinstance(one, plain) for one in value.values()):
        raise ValueError("a table of names and values")
    for name, one in value.items():
        yield f"{name}={str(one).lower() if isinstance(one, bool) else one}"


RUN, REPORT = ("run",), ("report", "make")
KEYS: Mapping[str, tuple[OptionValues, Mapping[Sequence[str], str]]] = {
    "adapter": (_text_options, {RUN: "--adapter"}),
    "judge-by": (_text_options, {RUN: "--judge-by"}),
    "rules": (_text_options, {RUN: "--rules"}),
    "settings": (_table_options, {RUN: "--setting"}),
    "readings": (_table_options, {RUN: "--reading"}),
    "known-deviations": (_text_option, {RUN: "--known-deviations", REPORT: "--known-deviations"}),
    "examples": (_integer_option, {RUN: "--examples"}),
    "seed": (_integer_option, {RUN: "--seed"}),
    "time-limit": (_number_option, {RUN: "--time-limit"}),
    "out": (_text_option, {RUN: "--out", REPORT: "--out"}),
    "project": (_text_option, {REPORT: "--project"}),
    "contact": (_text_option, {REPORT: "--contact"}),
    "url": (_text_option, {REPORT: "--url"}),
}
"""For each key: the function that parses its value and, by command, the option that it sets."""

ALIASES = {"--judge-by": ("--profile",)}
TAKES_SETTINGS = "pulsar:"
"""Prefix of the names of adapters that take settings."""


def with_project_options(files: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return the command line `words`, completed with options from the project file.

    Options that the command line overrides are not added. Errors: `UserError` for several project
    files, an unknown key or an invalid value.
    """
    if len(files) > 1:
        raise UserError(f"{' and '.join(files)} both contain options; keep them in one file")
    [file] = files
    command = RUN if words[0] == "run" else REPORT
    given = words[: words.index("--")] if "--" in words else words
    added = [one for one in _options(file, command) if not _is_superseded(one, given)]
    if not added:
        return list(words)
    print_note(f"options from {file}: {shlex.join(added)}")
    return [*command, *added, *words[len(command) :]]


def _options(file: str, command: Sequence[str]) -> Iterator[str]:
    """Yield the options that a file sets for a command, as `--option=value`."""
    table = _table_of(file)
    for key, value in table.items():
        if key not in KEYS:
            suggestion = suggest_names(key, KEYS)
            raise UserError(f"{file}: {key} is not a key of a project file; {suggestion}")
        option_values, options = KEYS[key]
        try:
            values = list(option_values(value))
        except ValueError as error:
            raise UserError(f"{file}: {key} takes {error}, not {value!r}") from None
        yield from (f"{options[command]}={one}" for one in values if command in options)


def _table_of(file: str) -> Mapping[str, Any]:
    try:
        found = tomllib.loads(Path(file).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: it is not TOML: {error}") from None
    table = found["tool"]["pulsar-conformance"] if file == "pyproject.toml" else found
    if not isinstance(table, dict):
        raise UserError(f"{file}: tool.pulsar-conformance takes a table of options")
    return table


def _is_superseded(option: str, words: Sequence[str]) -> bool:
    """True if the command line makes a project file's option superfluous.

    It does so if it sets the same option, or if the option is a setting and the command line names
    only adapters that take no settings.
    """
    flag = option.partition("=")[0]
    if _contain_option(flag, words):
        return True
    adapters = any(word.partition("=")[2].startswith(TAKES_SETTINGS) for word in words)
    adapters = adapters or any(word.startswith(TAKES_SETTINGS) for word in words)
    return flag == "--setting" and _contain_option("--adapter", words) and not adapters


def _contain_option(flag: str, words: Sequence[str]) -> bool:
    """True if command-line words contain an option or an abbreviation of it."""
    flags = [word.partition("=")[0] for word in words if len(word) > len("--")]
    return any(name.startswith(one) for name in (flag, *ALIASES.get(flag, ())) for one in flags)
