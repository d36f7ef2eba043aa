"""Finds the version of Pulsar in the image tags of a YAML file with settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pulsar_conformance.conformance.common.yaml_parts import (
    children,
    entries_of,
    substituted,
    without_default,
)

VERSION = r"v?(\d+\.\d+\.\d+(?:-[\w.]+)?)"
IMAGE = re.compile(rf"(?:.*/)?pulsar(?:-all)?:{VERSION}")
"""An image of Pulsar's own, such as `apachepulsar/pulsar-all:4.0.8`."""

NAMED_BY_VARIABLE = re.compile(
    r"(?:.*/)?pulsar(?:-all)?:.*\$.*|\$\{?\w*pulsar\w*(:?[?+].*)?\}?", re.IGNORECASE
)
"""An image of Pulsar's own whose tag is a variable without a default."""

REPOSITORY = re.compile(r"(?:.*/)?pulsar(?:-all)?")
TAG = re.compile(VERSION)
TAG_OF_ALL = "defaultPulsarImageTag"
"""Value of the Helm chart for images without a tag of their own."""


class ImageTag(NamedTuple):
    """A version of Pulsar, with the line of the file that names it."""

    version: str
    """The version; empty if a variable without a default is to name it."""
    place: str
    variable: str = ""
    """The variable that names the version or has it as its default; empty if none does."""


def image_tags(file: Path) -> tuple[ImageTag, ...]:
    """Return the versions of Pulsar's images in a YAML file, each once.

    None are found in other files, and in those that cannot be read.
    """
    if file.suffix not in (".yaml", ".yml"):
        return ()
    found: dict[str, ImageTag] = {}
    try:
        for document in yaml.compose_all(file.read_text("utf-8-sig"), yaml.SafeLoader):
            for version, line, variable in _tags(document):
                found.setdefault(version, ImageTag(version, f"{file}:{line}", variable))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return ()
    return tuple(found.values())


def _tags(node: Any) -> Iterator[tuple[str, int, str]]:
    """Yield each version in a YAML node and its children, with its line and its variable."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _tags(item)
    scalars = {key: one for key, one in children(node).items() if isinstance(one, yaml.ScalarNode)}
    tagged = [(IMAGE, "image"), (TAG, TAG_OF_ALL)]
    if "repository" in scalars and REPOSITORY.fullmatch(scalars["repository"].value):
        tagged.append((TAG, "tag"))
    for pattern, name in tagged:
        if name not in scalars:
            continue
        text, variable = substituted(scalars[name].value.strip())
        line = scalars[name].start_mark.line + 1
        if tag := pattern.fullmatch(text):
            yield tag[1], line, variable
        elif name == "image" and NAMED_BY_VARIABLE.fullmatch(text):
            yield "", line, without_default(text)
    for _, child in entries_of(node):
        yield from _tags(child)
