"""Finds the version of Pulsar to which a settings file belongs, for example by image tags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pulsar_conformance.conformance.common.settings_properties import (
    is_yaml,
    substituted,
    variable_without_default,
)
from pulsar_conformance.conformance.common.yaml_parts import (
    LEFT_OUT,
    children,
    containers_of_brokers,
    entries_of,
    helm_values,
    is_of_pulsar,
    items_of,
    names_other_component,
    plain_key,
    runs_broker,
    runs_other_component,
    scalar,
)
from pulsar_conformance.specs.broker import release_line
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import version_of_released

TAG = re.compile(r"v?(\d+\.\d+\.\d+(?:-[\w.]+)?)")
MILESTONE_TAG = re.compile(r"v?(\d+\.\d+\.\d+)-[mM](\d+)([._-].*)?")
OWN_TAG = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)[._-]\d[\w.-]*")
"""Matches a distribution's tag: Pulsar's version, then the distribution's, such as `2.10_5.0`."""

NAMED_BY_VARIABLE = re.compile(r"\$\{?\w*pulsar\w*(:?[?+].*)?\}?", re.IGNORECASE)
"""Matches a variable used as an image; it has no default, and its name contains "pulsar"."""

TAG_OF_ALL = "defaultPulsarImageTag"
"""Key in the values of Pulsar's Helm chart: the tag of all images without a tag of their own."""

GIVE_RELEASE = "give it with --release VERSION"

BROKER, ANY, OTHER = 0, 1, 2
"""Ranks of images, by the component that uses them; only a file's lowest rank is used."""


class ImageTag(NamedTuple):
    """The version of Pulsar in an image's tag, and the line of the file that names the image."""

    version: str
    """The version; empty if it cannot be known from the image."""
    place: str
    variable: str = ""
    """The variable that holds the version or has it as its default; empty if there is none."""
    image: str = ""
    """The image; empty if its tag is the version."""


def image_tags(file: Path | None) -> tuple[ImageTag, ...]:
    """Return the versions of Pulsar's images in a YAML file, each version once.

    Images of brokers are included even if their version is not known. If the file says which images
    are the broker's, all others are left out. The result is empty if the file is not YAML or cannot
    be read.
    """
    found: list[tuple[int, ImageTag]] = []
    if file is None:
        return ()
    try:
        text = file.read_text("utf-8-sig")
        if not is_yaml(file, text):
            return ()
        for document in yaml.compose_all(text, yaml.SafeLoader):
            found += _image_tags_in(document, ANY, f"{file}:")
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return ()
    best = min((rank for rank, _ in found), default=ANY)
    each = {
        (one.version, not one.version and one.image): one
        for rank, one in found[::-1]
        if rank == best
    }
    return tuple(list(each.values())[::-1])


def _image_tags_in(
    node: Any, rank: int, file: str, of_operator: bool = False
) -> Iterator[tuple[int, ImageTag]]:
    """Yield each image in a YAML node and its children, with the rank of its component.

    `of_operator` is true inside a resource of an operator for Pulsar.
    """
    for item in items_of(node):
        yield from _image_tags_in(item, rank, file, of_operator)
    known = children(node)
    kind, name = scalar(known.get("kind")), scalar(children(known.get("metadata")).get("name"))
    if (
        kind
        and "metadata" in known
        and (names_other_component(kind) or names_other_component(name))
    ):
        rank = OTHER
    of_operator = of_operator or ("metadata" in known and kind.startswith("Pulsar"))
    yield from ((rank, one) for one in _own_tags(known, rank == BROKER or of_operator, file))
    for key, child in entries_of(node):
        name = plain_key(key.value)
        if name == "services":
            for service, one in entries_of(child):
                yield from _image_tags_in(one, _rank_of_service(service.value, children(one)), file)
        elif name == "containers":
            for one in containers_of_brokers(items_of(child)):
                yield from _image_tags_in(one, BROKER if _is_named_broker(one) else rank, file)
        elif name == "helm":
            for one in helm_values(child):
                yield from _image_tags_in(one, rank, file)
        elif name in LEFT_OUT:
            yield from _image_tags_in(child, OTHER, file)
        else:
            yield from _image_tags_in(
                child, BROKER if name in ("broker", "brokers") else rank, file, of_operator
            )


def _is_named_broker(container: Any) -> bool:
    known = children(container)
    return runs_broker(scalar(known.get("name")), known)


def _rank_of_service(name: str, known: dict[str, Any]) -> int:
    """Return the rank of a compose service's image, by the component that the service runs.

    The rank is `BROKER`, `ANY` or, for another component, `OTHER`.
    """
    if runs_other_component(name, known.get("entrypoint"), known.get("command")):
        return OTHER
    return BROKER if runs_broker(name, known) else ANY


def _own_tags(known: dict[str, Any], of_broker: bool, file: str) -> Iterator[ImageTag]:
    """Yield the images that a mapping names: Pulsar's and, if `of_broker`, all other images."""
    scalars = {key: one for key, one in known.items() if isinstance(one, yaml.ScalarNode)}
    places = {key: f"{file}{one.start_mark.line + 1}" for key, one in scalars.items()}
    if "image" in scalars:
        text, variable = substituted(scalar(scalars["image"]))
        tag = text.partition("@")[0].rpartition("/")[2].partition(":")[2]
        if is_of_pulsar(text) or NAMED_BY_VARIABLE.fullmatch(text) or (of_broker and text):
            yield _tag_of(text, tag if is_of_pulsar(text) else "", places["image"], variable)
    if TAG_OF_ALL in scalars and scalar(scalars[TAG_OF_ALL]):
        tag, variable = substituted(scalar(scalars[TAG_OF_ALL]))
        yield _tag_of(tag, tag, places[TAG_OF_ALL], variable)
    repository, tag = (scalar(scalars.get(key)) for key in ("repository", "tag"))
    alone = of_broker and not repository and (TAG.fullmatch(tag) or MILESTONE_TAG.fullmatch(tag))
    own = alone or is_of_pulsar(repository)  # A tag alone is that of the chart's own image.
    if tag and (own or (of_broker and repository)):
        text, variable = substituted(tag)
        image = f"{repository}:{tag}" if repository else tag
        yield _tag_of(image, text if own else "", places["tag"], variable)


def _tag_of(image: str, tag: str, place: str, variable: str) -> ImageTag:
    """Return the version in a tag; if it is unknown, the image and the variable that holds its
    tag.
    """
    if milestone := MILESTONE_TAG.fullmatch(tag):
        return ImageTag(f"{milestone[1]}-M{milestone[2]}", place, variable)
    if own := TAG.fullmatch(tag):
        return ImageTag(own[1], place, variable)
    if other := OWN_TAG.fullmatch(tag):
        return ImageTag(other[1], place, variable, image)
    return ImageTag("", place, variable_without_default(image), image)


def version_for_settings(
    file: Path | None,
    *,
    profile: str | None = None,
    release: str | None = None,
    reported: Iterable[str] = (),
) -> str:
    """Return the version of Pulsar to which a settings file belongs; empty if it is not known.

    It is the version of a released `profile`, else `release`, else the first version that brokers
    `reported`, else the version of the file's images if there is only one.
    """
    of_profile = version_of_released(profile) if profile else ""
    if named := of_profile or release or next(filter(None, reported), ""):
        return named
    tags = image_tags(file)
    return tags[0].version if len(tags) == 1 else ""


def release_by_image(file: Path) -> tuple[str | None, list[str]]:
    """Return the version of the Pulsar image that a file names (None if unknown), and notes.

    Errors: `UserError` if there are several versions, or if the version is in a variable.
    """
    tags, notes = image_tags(file), []
    for one in tags:
        if not one.version and one.variable:
            told = f"{one.place}: the tag of Pulsar's image comes from {one.variable}"
            raise UserError(f"{told} and is not known; {GIVE_RELEASE}")
        if not one.version:
            notes.append(f"{one.place}: the release of {one.image} is not known; {GIVE_RELEASE}")
    known = [one for one in tags if one.version]
    if len(known) > 1:
        named = " and ".join(f"{one.version} ({one.place})" for one in known)
        raise UserError(
            f"{file}: it names images of Pulsar {named}; choose one with --release VERSION"
        )
    if not known:
        return None, notes
    [one] = known
    default = f", the default of {one.variable}" if one.variable else ""
    image = f" {one.image}" if one.image else ""
    but = ", whose builder may have changed it" if one.image else ""
    named = f"Pulsar {one.version}, according to its image{image} ({one.place}{default}){but}"
    return one.version, [named, *notes]


def other_image_notes(tags: Iterable[ImageTag], versions: Sequence[str]) -> Iterator[str]:
    """Yield a note for each image whose release line differs from the brokers' release line.

    If the version of the brokers is unknown, yield a note for each image whose version is unknown.
    """
    for version, place, _, image in tags:
        if not version and not versions:
            yield f"{place}: the release of {image} is not known; {GIVE_RELEASE}"
        if version and versions and release_line(version) != release_line(versions[0]):
            told = f"{place} names the image of Pulsar {version}, but the brokers run {versions[0]}"
            yield f"{told}, which is used here; for the image's version, add --release {version}"
