"""Reads settings files: broker.conf, JSON, environment files, Helm values, Kubernetes YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pulsar_conformance.adapters.protocol import NotJSON, parse_line
from pulsar_conformance.conformance.cases.settings import (
    BadSetting,
    Entry,
    SettingsRead,
    read_entries,
)
from pulsar_conformance.specs.setting_names import why_unknown

OPTIONAL = re.compile(r"Optional\[(.*)\]")
ABSENT = ("None", "null", "Optional.empty")

COMMENT = re.compile(r"\s*[#!]")
PROPERTY = re.compile(r"([^\s=:]+)\s*[=:]?(.*)")

LOGGED = re.compile(r"\bloadBalancer\w+=[^,\n]*, \w+=")
PAIR = re.compile(r"(\w+)=(.*?)(?=, \w+=|\)?$)")
"""Matches one setting in the log line in which a broker prints its whole configuration."""

PREFIX = "PULSAR_PREFIX_"
"""Prefix of environment variables that Pulsar's images copy into broker.conf."""

SECTIONS = frozenset({"configData", "config", "custom", "environment", "env", "data"})
"""Keys of YAML files whose values are settings or environment variables."""

OTHER_COMPONENTS = frozenset(
    {"proxy", "zookeeper", "bookkeeper", "bookie", "autorecovery", "toolset", "bastion"}
    | {"functions", "functionsworker", "pulsar_manager", "oxia", "prometheus", "grafana"}
)
"""Keys, in lower case, of YAML sections for components other than the broker; they are ignored."""

FORMS = (
    "give a broker.conf, the JSON of admin/v2/brokers/configuration/runtime, an environment file, "
    "or the YAML of Helm values, docker-compose or an operator"
)


def read_settings(
    file: Path, release: str | None = None, *, as_broker: bool = False
) -> SettingsRead:
    """Read a file's settings as the given release does.

    A setting with an empty value counts as not set, as in a broker. `as_broker` is that of
    `read_entries`. Errors: `BadSetting`, also if no setting is about load balancing, because it is
    then probably the wrong file.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise BadSetting(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadSetting(f"{file}: it isn't UTF-8") from None
    found = read_entries(_entries(file, text), release, as_broker=as_broker)
    if not (found.values or found.unused or found.unreadable):
        raise BadSetting(f"{file}: it has no load balancing settings; {FORMS}")
    return found


def read_in_force(
    conf: Path | None, dynamic: Path | None, release: str | None = None
) -> SettingsRead | None:
    """Read a settings file and the dynamic configuration that overrides it; None without either.

    Errors: as `read_settings`.
    """
    read = read_settings(conf, release) if conf else None
    if dynamic is None:
        return read
    found = read_dynamic(dynamic, release)
    return (read or replace(found, values={}, places={}, unused=(), others=0)).with_dynamic(found)


def read_dynamic(
    file: Path, release: str | None = None, *, as_broker: bool = False
) -> SettingsRead:
    """Read the settings of a dynamic configuration. Errors: as `read_settings`."""
    found = read_settings(file, release, as_broker=as_broker)
    places = {name: f"{place}, dynamic" for name, place in found.places.items()}
    return replace(found, places=places)


def read_written_settings(
    place: str, written: Mapping[str, Any], release: str | None, *, as_broker: bool = False
) -> SettingsRead:
    """Read settings from the JSON of a running broker's configuration. Errors: `BadSetting`."""
    return read_entries(_of_object(place, written), release, as_broker=as_broker)


def _entries(file: Path, text: str) -> Iterator[Entry]:
    """Yield a file's settings; the format is detected from its name or content."""
    if text.lstrip().startswith("{"):  # Properties of a broker never begin with a brace.
        return _of_json(file, text)
    if LOGGED.search(text):
        return (
            one
            for number, line in enumerate(text.splitlines(), 1)
            for one in _of_line(f"{file}:{number}", line)
        )
    if file.suffix in (".yaml", ".yml"):
        return _of_yaml(file, text)
    if file.suffix == ".env" or re.search(rf"^\s*(export\s+)?{PREFIX}", text, re.MULTILINE):
        return _of_environment(file, text)
    return (Entry(f"{file}:{number}", name, value) for number, name, value in _properties(text))


def read_logged_line(place: str, line: str) -> Mapping[str, Any]:
    """Return the settings in a log line; empty if it does not print a whole configuration."""
    return read_entries(_of_line(place, line)).values if LOGGED.search(line) else {}


def _of_line(place: str, line: str) -> Iterator[Entry]:
    for found in PAIR.finditer(line):
        yield Entry(place, found[1], plain_java_value(found[2].strip()))


def _of_json(file: Path, text: str) -> Iterator[Entry]:
    """Yield the settings in the JSON that a running broker returns."""
    try:
        written = parse_line(text.encode())
    except NotJSON as error:
        raise BadSetting(f"{file}: it {error}") from None
    return _of_object(str(file), written)


def _of_object(place: str, written: Mapping[str, Any]) -> Iterator[Entry]:
    for name, value in written.items():
        if isinstance(value, str | int | float | None):
            yield Entry(place, name, plain_java_value(conf_text(value)))
        elif why_unknown(name) is None:
            raise BadSetting(f"{place}: {name} is {type(value).__name__}, not a single value")


def conf_text(value: str | float | None) -> str:
    """Return a single value of JSON or YAML as text, with booleans as in a broker.conf."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_java_value(text: str) -> str:
    """Convert a value printed by Java to broker.conf's format: `Optional[1.0]` becomes 1.0."""
    within = OPTIONAL.fullmatch(text)
    text = within[1] if within else text
    if text in ABSENT:
        return ""
    return text[1:-1].replace(", ", ",") if text.startswith("[") else text


def _of_environment(file: Path, text: str) -> Iterator[Entry]:
    """Yield the settings of an environment file, prefixed variables last."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals and not COMMENT.match(line):
            found.append((f"{file}:{number}", name.strip(), _strip_quotes(value.strip())))
    return _variables(found)


def _variables(found: list[tuple[str, str, str]]) -> Iterator[Entry]:
    """Yield variables as settings, prefixed ones last, as Pulsar's images apply them."""
    for place, name, value in sorted(found, key=lambda one: one[1].startswith(PREFIX)):
        yield Entry(place, name.removeprefix(PREFIX), value)


def _strip_quotes(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if quoted else text


def _of_yaml(file: Path, text: str) -> Iterator[Entry]:
    """Yield the broker settings in Helm values, compose files and Kubernetes resources."""
    found: list[tuple[str, str, str]] = []
    try:
        for document in yaml.compose_all(text, yaml.SafeLoader):
            found += _walk(document, (), str(file))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadSetting(f"{file}:{line}: it isn't YAML: {error.problem}") from None
    return _variables(found)


def _walk(node: Any, path: tuple[str, ...], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield the place, name and value of each setting in a YAML node and its children.

    `path` has the keys that lead to the node.
    """
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _item(item, path, file)
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        place = f"{file}:{key.start_mark.line + 1}"
        if isinstance(value, yaml.ScalarNode) and key.value.endswith(".conf"):
            yield from ((place, name, text) for _, name, text in _properties(value.value))
        elif isinstance(value, yaml.ScalarNode) and _is_setting(key.value, path):
            yield place, key.value, "" if value.tag.endswith(":null") else value.value.strip()
        elif key.value.lower() not in OTHER_COMPONENTS:
            yield from _walk(value, (*path, key.value), file)


def _is_setting(name: str, path: tuple[str, ...]) -> bool:
    """True if a YAML scalar is a setting, by its section or, at the top level, by its name."""
    if path:
        return path[-1] in SECTIONS
    return why_unknown(name.removeprefix(PREFIX)) != ""


def _item(item: Any, path: tuple[str, ...], file: str) -> Iterator[tuple[str, str, str]]:
    """Yield the environment variable in a list item: `NAME=VALUE`, or an object with both.

    Any other object is searched for settings.
    """
    place = f"{file}:{item.start_mark.line + 1}"
    if isinstance(item, yaml.ScalarNode) and path and path[-1] in SECTIONS:
        name, equals, value = item.value.partition("=")
        if equals:
            yield place, name, value
    elif isinstance(item, yaml.MappingNode):
        parts = {key.value: value.value for key, value in item.value}
        if parts.keys() == {"name", "value"}:
            yield place, parts["name"], parts["value"]
        else:
            yield from _walk(item, path, file)


def _properties(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, name and value of each property, in Java's properties format."""
    whole, first = "", 0
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if whole or not COMMENT.match(line):
            first = first if whole else number
            whole += line.lstrip()
        if whole.endswith("\\"):
            whole = whole[:-1]
        elif property_ := PROPERTY.fullmatch(whole):
            yield first, property_[1], property_[2].strip()
            whole = ""
