"""Finds the version of Pulsar in the image tags of a YAML file with settings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

VERSION = r"v?(\d+\.\d+\.\d+(?:-[\w.]+)?)"
IMAGE = re.compile(rf"(?:.*/)?pulsar(?:-all)?:{VERSION}")
"""An image of Pulsar's own, such as `apachepulsar/pulsar-all:4.0.8`."""

REPOSITORY = re.compile(r"(?:.*/)?pulsar(?:-all)?")
TAG = re.compile(VERSION)
TAG_OF_ALL = "defaultPulsarImageTag"
"""Value of the Helm chart for images without a tag of their own."""


class ImageTag(NamedTuple):
    """A version of Pulsar, with the line of the file that names it."""

    version: str
    place: str


def image_tags(file: Path) -> tuple[ImageTag, ...]:
    """Return the versions of Pulsar's images in a YAML file, each once.

    None are found in other files, and in those that cannot be read.
    """
    if file.suffix not in (".yaml", ".yml"):
        return ()
    found: dict[str, ImageTag] = {}
    try:
        for document in yaml.compose_all(file.read_text("utf-8-sig"), yaml.SafeLoader):
            for version, line in _tags(document):
                found.setdefault(version, ImageTag(version, f"{file}:{line}"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return ()
    return tuple(found.values())


def _tags(node: Any) -> Iterator[tuple[str, int]]:
    """Yield each version in a YAML node and its children, with its line."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _tags(item)
    if not isinstance(node, yaml.MappingNode):
        return
    scalars = {key.value: one for key, one in node.value if isinstance(one, yaml.ScalarNode)}
    tagged = [(IMAGE, "image"), (TAG, TAG_OF_ALL)]
    if "repository" in scalars and REPOSITORY.fullmatch(scalars["repository"].value):
        tagged.append((TAG, "tag"))
    for pattern, name in tagged:
        if name in scalars and (tag := pattern.fullmatch(scalars[name].value.strip())):
            yield tag[1], scalars[name].start_mark.line + 1
    for _, child in node.value:
        yield from _tags(child)
