"""Reads a broker's settings from Helm values, docker-compose, and Kubernetes resources."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pulsar_conformance.conformance.common.settings_properties import (
    PREFIX,
    properties,
    substituted,
    variable_without_default,
)
from pulsar_conformance.conformance.common.yaml_parts import (
    ANSIBLE,
    DERIVED,
    ENCODED,
    LEFT_OUT,
    MAP,
    MOUNTED,
    SECRET,
    SECTIONS,
    SERVICE,
    SET,
    STANDALONE,
    WORKLOAD,
    FoundInYAML,
    YAMLScope,
    applies_variables,
    children,
    components_run,
    containers_of_brokers,
    entries_of,
    env_from,
    helm_values,
    is_null,
    is_of_helm,
    items_of,
    names_other_component,
    origin_of,
    plain_key,
    rendered,
    runs_other_component,
    scalar,
    unknown_operator,
    why_not_applied,
)
from pulsar_conformance.specs.broker import broker_settings
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.setting_names import why_unknown

KINDS = {"ConfigMap": MAP, SECRET: MAP} | dict.fromkeys(
    ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod", "Job"), WORKLOAD
)
"""The kind of settings source for each kind of Kubernetes resource."""

NO_TEXT = "it has several values in YAML, but a setting of a broker has a single value"
NO_VALUE = "it is not read: a setting of a broker has a single value, not a mapping or a list"

SOURCE_RANKS = {MAP: -1, SET: 1}
"""Ranks of sources (0 if missing): a workload's settings override a ConfigMap's, for example."""


class BadYAML(UserError):
    """Raised for a YAML file whose settings cannot be determined; the message is one sentence."""


def read_yaml(file: Path, text: str) -> list[FoundInYAML]:
    """Return a YAML file's settings in the order in which they apply, and the parts not read.

    If the last value of a setting is unknown, its earlier values are left out. Errors: `BadYAML`,
    also if brokers in the file have different settings.
    """
    try:
        scope, found = YAMLScope(str(file)), list[FoundInYAML]()
        for document in yaml.compose_all(text, yaml.SafeLoader):
            own = list(_walk(document, replace(scope, of_helm=is_of_helm(document, text))))
            others = (*unknown_operator(document, scope), *_beside_settings(document, scope))
            found += (*own, *(others if own else ()))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadYAML(f"{file}:{line}: it isn't YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise BadYAML(f"{file}: it isn't YAML") from None
    except RecursionError:
        raise BadYAML(f"{file}: it is nested too deeply, or contains itself") from None
    found = _with_maps_of_images(_without_anchors(found))
    if DERIVED.search(text):
        found = [replace(one, of_image=False) for one in found]
    taken = {one.name for one in found if one.part and not one.off}
    off = {one.name: one.off for one in found if one.part and one.off and one.name not in taken}
    found = [replace(one, off=one.off or off.get(one.source[1], "")) for one in found]
    _check_single(file, [one for one in found if not one.off])
    maps = {one.source[1] for one in found if one.source[0] == MAP}
    kept: list[FoundInYAML] = []
    for one in _in_order(found):
        if one.part and (one.name in maps or one.off):
            continue
        if one.off:
            kept += [one] if one.matters else []
            continue
        if one.unread or any(other.unread and other.key == one.key for other in kept):
            kept = [other for other in kept if other.key != one.key or other.part]
        if one.part or one.matters or (one.name and not one.unread):
            kept.append(one)
    return kept


def _with_maps_of_images(entries: list[FoundInYAML]) -> list[FoundInYAML]:
    """Return the settings; `of_image` is set for settings that an image gets through `envFrom`."""
    maps = {one.name for one in entries if one.part and one.of_image}
    return [replace(one, of_image=one.of_image or one.source[1] in maps) for one in entries]


def _without_anchors(entries: list[FoundInYAML]) -> list[FoundInYAML]:
    """Return the settings, without misplaced ones whose line is also used in the right place."""
    read = {one.place for one in entries if not (one.part or one.misplaced)}
    return [one for one in entries if not (one.misplaced and one.place in read)]


def _in_order(entries: Iterable[FoundInYAML]) -> list[FoundInYAML]:
    """Return settings in the order in which they apply.

    Variables with the prefix `PREFIX` come after other settings, and misplaced settings come last.
    """

    def order(entry: FoundInYAML) -> tuple[bool, bool, int]:
        return entry.misplaced, entry.name.startswith(PREFIX), SOURCE_RANKS.get(entry.source[0], 0)

    return sorted(entries, key=order)


def _check_single(file: Path, entries: list[FoundInYAML]) -> None:
    """Raise `BadYAML` if several sources of one kind have different settings."""
    given = {one.name for one in entries if one.part}
    for kind in (SERVICE, SET, MAP, WORKLOAD):
        every = dict.fromkeys(one.source[1] for one in entries if one.source[0] == kind)
        common = [one for one in entries if one.source[0] != kind] if kind == SET else []
        own = {name: [one for one in entries if one.source == (kind, name)] for name in every}
        each = {
            name: _values_or_reasons([*common, *held])
            for name, held in own.items()
            if kind == SET or any(one.matters for one in held)
        }
        if kind == MAP and given.issuperset(each):
            continue  # All are parts of one broker's environment.
        if any(one != other for one in each.values() for other in each.values()):
            *most, last = each
            named = f"{', '.join(most)} and {last}"
            raise BadYAML(
                f"{file}: {kind} {named} have different settings; leave only one in the file"
            )


def _values_or_reasons(entries: list[FoundInYAML]) -> dict[str, str]:
    """Map load balancing settings to values, and unknown settings and unread parts to reasons."""
    counting = (one for one in _in_order(entries) if one.part or one.matters)
    return {one.key: one.unread or one.text for one in counting}


def _walk(node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings in a YAML node and its children, and the parts that are not read."""
    for item in items_of(node):
        yield from _item(item, scope)
    known = children(node)
    kind, name = scalar(known.get("kind")), scalar(children(known.get("metadata")).get("name"))
    if kind and "metadata" in known:
        if names_other_component(kind) or (kind in KINDS and names_other_component(name)):
            return
        named = f"{kind} {name}" if KINDS.get(kind) == MAP else name
        source = (KINDS[kind], named) if kind in KINDS else scope.source
        scope = replace(scope, source=source, resource=True)
    if scope.resource and "containers" in known:
        yield from _of_mounts(known, scope)
    chosen = containers_of_brokers(items_of(known.get("containers")))
    composed = not scope.path and not kind and isinstance(known.get("services"), yaml.MappingNode)
    for key, value in entries_of(node):
        name = key.value
        if composed and name == "services":
            for service, one in entries_of(value):
                yield from _service(service, one, scope)
        elif name == "sets" and scope.key == "broker":
            for one, below in entries_of(value):
                inner = replace(scope.under(name).under(one.value), source=(SET, one.value))
                yield FoundInYAML(scope.place(one), "", "", inner.source)
                yield from _walk(below, inner)
        elif name == "containers" and isinstance(value, yaml.SequenceNode):
            for container in chosen:
                yield from _container(container, scope.under(name))
        elif name == "helm":
            yield from _helm(value, scope)
        elif name == "envFrom":
            yield from env_from(value, scope)
        elif name == ENCODED and kind == SECRET:
            yield from _of_secret(value, scope)
        elif isinstance(value, yaml.ScalarNode) and name.endswith(".conf"):
            yield from _of_conf(key, value, scope)
        elif isinstance(value, yaml.ScalarNode) and _is_setting(name, scope):
            yield _variable(scope.place(key), name, value, scope)
            yield from _within_text(key, value, scope)
        elif isinstance(value, yaml.ScalarNode):
            yield from _misplaced(key, scope, len(known) - 1)
            yield from _within_text(key, value, scope)
        elif scope.key in SECTIONS and name.removeprefix(PREFIX) in broker_settings():
            yield FoundInYAML(scope.place(key), name, "", scope.source, NO_TEXT)
        elif scope.resource and name == "values" and scope.key == "spec":
            yield from _walk(value, replace(scope.under(name), resource=False, of_helm=True))
        elif plain_key(name) not in LEFT_OUT and not (composed and name.startswith("x-")):
            yield from _walk(value, scope.under(name))


def _beside_settings(document: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """If the top level of a file has a broker's settings, yield its other entries.

    These are settings of other parts of the broker, and keys whose values have no settings.
    """
    parts = children(document)
    scalars = {name for name, one in parts.items() if isinstance(one, yaml.ScalarNode)}
    if scalars.isdisjoint(broker_settings()) or "kind" in parts:
        return
    for key, value in entries_of(document):
        name = key.value
        if name in scalars:
            if not _is_setting(name, scope):
                yield FoundInYAML(scope.place(key), name, rendered(value), scope.source)
        elif plain_key(name) not in LEFT_OUT and not any(_walk(value, scope.under(name))):
            below = (why_unknown(f"{name}.{one}") for one in children(value))
            why = next(filter(None, (*below, why_unknown(name))), NO_VALUE)
            yield FoundInYAML(scope.place(key), name, "", scope.source, why, True)


def _helm(node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings in the Helm values of an Argo CD application."""
    for one in helm_values(node):
        yield from _walk(one, replace(scope, path=(), resource=False, of_helm=True))
    for one in items_of(children(node).get("valueFiles")):
        why = "it is not read; give that file instead"
        yield FoundInYAML(scope.place(one), scalar(one), "", scope.source, why, True)


def _of_secret(node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings of a Secret, whose values are in base64."""
    for key, value in entries_of(node):
        try:
            text = b64decode(scalar(value), validate=True).decode()
        except ValueError:
            why = "its value is not base64, as a Secret's data have to be"
            yield FoundInYAML(scope.place(key), key.value, "", scope.source, why)
        else:
            named, whole = [(key.value, text.strip())], key.value.endswith(".conf")
            if whole:
                named = [(name, one) for _, name, one in properties(text)]
            for name, one in () if names_other_component(key.value) else named:
                yield FoundInYAML(scope.place(key), name, one, scope.source, of_file=whole)


def _of_mounts(pod: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield each volume that a pod mounts over the broker's settings, as a part not read."""
    volumes = {
        scalar(children(one).get("name")): children(one) for one in items_of(pod.get("volumes"))
    }
    for container in items_of(pod.get("containers")):
        for mount in items_of(children(container).get("volumeMounts")):
            name, path = (scalar(children(mount).get(key)) for key in ("name", "mountPath"))
            if MOUNTED.fullmatch(path):
                volume = volumes.get(name, {})
                config = scalar(children(volume.get("configMap")).get("name"))
                secret = scalar(children(volume.get("secret")).get("secretName"))
                named = f"{SECRET} {secret}" if secret else f"volume {name}"
                named = f"ConfigMap {config}" if config else named
                why = f"it is mounted at {path} and not read; give that file instead"
                yield FoundInYAML(scope.place(mount), named, "", scope.source, why, True)


def _of_conf(key: Any, value: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings of a file in a ConfigMap, unless the file is another component's."""
    if not names_other_component(key.value):
        for _, name, text in properties(value.value):
            yield FoundInYAML(scope.place(key), name, text, scope.source, of_file=True)


def _within_text(key: Any, value: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield, as a part not read, a multi-line text with settings, since no chart applies it."""
    lines = properties(value.value) if value.style in ("|", ">") else ()
    named = next((name for _, name, _ in lines if why_unknown(name) is None), "")
    if named:
        why = f"its text has settings, such as {named}, and is not read; write them as keys"
        yield FoundInYAML(scope.place(key), key.value, "", scope.source, why, True)


def _misplaced(key: Any, scope: YAMLScope, beside: int) -> Iterator[FoundInYAML]:
    """Yield a known setting as misplaced, unless the path to it names another component."""
    known = why_unknown(key.value.removeprefix(PREFIX)) is None
    if known and not any(map(names_other_component, scope.path)):
        yield scope.misplaced(key, beside)


def _is_setting(name: str, scope: YAMLScope) -> bool:
    """True if a scalar is a setting, by its section or, at the top level of a file, by its name."""
    if scope.path:
        return scope.key in SECTIONS
    return why_unknown(name.removeprefix(PREFIX)) != ""


def _service(key: Any, node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings of a compose service; none if it runs another component."""
    known = children(node)
    if runs_other_component(key.value, known.get("entrypoint"), known.get("command")):
        return
    scope = replace(scope.under("services").under(key.value), source=(SERVICE, key.value))
    if "extends" in known:
        base = known["extends"]
        named = scalar(base) or scalar(children(base).get("service"))
        why = "it is not read; write its settings into the service"
        yield FoundInYAML(scope.place(base), f"extends {named}", "", scope.source, why, True)
    if "env_file" in known:
        files = known["env_file"]
        for one in items_of(files) or [files]:
            named = scalar(one) or scalar(children(one).get("path"))
            why = "it is not read; give that file instead"
            yield FoundInYAML(scope.place(one), f"env_file {named}", "", scope.source, why, True)
    for one in items_of(known.get("volumes")):
        path = scalar(one) or scalar(children(one).get("target"))
        if MOUNTED.fullmatch(path):
            why = "it is mounted and not read; give that file instead"
            yield FoundInYAML(scope.place(one), path, "", scope.source, why, True)
    yield from _started(node, _walk(node, scope), scope)


def _container(node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the settings of a pod's container; none if it is another component's."""
    known = children(node)
    if not runs_other_component(scalar(known.get("name")), known.get("command"), known.get("args")):
        yield from _started(node, _walk(node, scope), scope)


def _started(node: Any, entries: Iterable[FoundInYAML], scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield a container's settings, with the reason if its command does not apply them.

    If the command reads a file other than broker.conf, that file is yielded as a part not read.
    """
    known = children(node)
    commands = [known.get(key) for key in ("entrypoint", "command", "args")]
    image = scalar(known.get("image"))
    off, own = why_not_applied(image, *commands), applies_variables(image, *commands)
    yield from (replace(one, off=one.off or off, of_image=own) for one in entries)
    if "standalone" in components_run(*commands):
        place = scope.place(next(filter(None, commands)))
        yield FoundInYAML(place, "bin/pulsar standalone", "", scope.source, STANDALONE, True)


def _variable(place: str, name: str, value: Any, scope: YAMLScope) -> FoundInYAML:
    """Return a setting with a scalar value; null in a compose file stands for the shell's value."""
    if scope.key == ANSIBLE and "{{" in scalar(value):
        return _unknown(place, name, "a template", scope)
    if not scope.composed:
        of_chart = scope.of_chart
        return FoundInYAML(place, name, rendered(value), scope.source, of_image=of_chart)
    if is_null(value):
        return _unknown(place, name, "the shell", scope)
    return _of_compose(place, name, rendered(value, booleans=False), scope)


def _of_compose(place: str, name: str, text: str, scope: YAMLScope) -> FoundInYAML:
    """Return a setting of a compose file, with variables replaced by their defaults."""
    variable = variable_without_default(text)
    if variable:
        return _unknown(place, name, f"the variable {variable}", scope)
    return FoundInYAML(place, name, substituted(text)[0], scope.source)


def _unknown(place: str, name: str, origin: str, scope: YAMLScope) -> FoundInYAML:
    why = f"its value comes from {origin} and is not known"
    return FoundInYAML(place, name, "", scope.source, why)


def _item(item: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield the environment variable in a list item: `NAME=VALUE`, or an object with both parts.

    Any other object is searched for settings.
    """
    place, parts = scope.place(item), children(item)
    if isinstance(item, yaml.ScalarNode) and scope.key in SECTIONS:
        name, equals, value = item.value.partition("=")
        if equals and scope.composed:
            yield _of_compose(place, name, value, scope)
        elif equals:
            yield FoundInYAML(place, name, value, scope.source)
        elif scope.composed:
            yield _unknown(place, name, "the shell", scope)
    elif parts.keys() == {"name", "valueFrom"}:
        yield _unknown(place, scalar(parts["name"]), origin_of(parts["valueFrom"]), scope)
    elif parts.keys() == {"name", "value"} or (parts.keys() == {"name"} and scope.key == "env"):
        yield FoundInYAML(place, scalar(parts["name"]), rendered(parts.get("value")), scope.source)
    else:
        yield from _walk(item, scope)
