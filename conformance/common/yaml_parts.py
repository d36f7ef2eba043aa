"""Parts of a YAML file with settings: its keys, its components and its variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import yaml
from pulsar_conformance.conformance.common.settings_properties import PREFIX
from pulsar_conformance.specs.setting_names import why_unknown
from pulsar_conformance.specs.text import counted
from yaml.constructor import SafeConstructor

OTHER_COMPONENTS = frozenset(
    {"proxy", "zookeeper", "bookkeeper", "bookie", "autorecovery", "toolset", "bastion"}
    | {"functions", "functionsworker", "pulsarmanager", "oxia", "prometheus", "grafana"}
)
"""Keys, as `plain_key` returns them, of other components; their values are not read."""

BROKERS = frozenset({"broker", "brokers", "standalone"})
"""Words in the name of a broker's container, and subcommands of bin/pulsar that run a broker."""

OTHER_COMMANDS = (
    "proxy|zookeeper|global-zookeeper|configuration-store|bookie|autorecovery|functions-worker"
    "|websocket|initialize-[a-z-]+"
)
RUN = re.compile(rf"\bpulsar(?:-daemon\s+start)?\s+({OTHER_COMMANDS}|broker|standalone)\b")
"""Matches a command that runs a component of Pulsar; the group is the component."""

BROKER_COMMAND = re.compile(
    r"(?:\S*sh\s+-\w+\s+)?[\"']?\s*(?:exec\s+)?\S*pulsar\s+(broker|standalone)\b[^;&|]*"
)
"""Matches a command that runs a broker, with no command before it that could apply variables."""

APPLIED = re.compile(r"bin/apply-config-from-env\.py[^;&|]*\bconf/broker\.conf")
"""Matches the command that applies variables to broker.conf."""

DERIVED = re.compile(r"^[^#\n]*\b(lunastreaming|private-cloud|sn-platform)\b", re.MULTILINE)
"""Matches a line with an image derived from Pulsar's; its broker.conf may list more settings."""

DISTRIBUTION = re.compile(
    r"pulsar(-all|-standalone)?|lunastreaming(-\w+)?|private-cloud(-\w+)?|sn-platform(-\w+)?"
)
"""Matches the last part of an image's repository if it is Pulsar's or a distribution's."""

ANSIBLE = "misc_broker_config_dict"
"""The variable whose entries datastax/pulsar-ansible writes into broker.conf unchanged."""

SECTIONS = frozenset(
    {"configData", "config", "custom", "environment", "env", "data", "stringData", ANSIBLE}
)
"""Keys of YAML files whose values are settings or environment variables."""

JINJA = re.compile(r"\{\{-?\s*[a-z_]\w*\s*(\||\[|-?\}\})|\{%")
"""Matches an expression of Ansible, but not Helm's, which begins with a dot or a function."""

SERVICE, SET, MAP, WORKLOAD = "services", "broker sets", "resources", "workloads"
"""Kinds of sources of settings; brokers in one file may have settings from different sources."""

EXTRA_CONTAINERS = frozenset(
    {"initcontainers", "extrainitcontainers", "sidecars", "extracontainers", "sidecarcontainers"}
)
"""Keys, as `plain_key` returns them, of containers besides a component's own."""

LEFT_OUT = OTHER_COMPONENTS | EXTRA_CONTAINERS
"""Keys, as `plain_key` returns them, whose values are not read."""

MOUNTED = re.compile(r"(.*:)?/\S*pulsar/conf(/(broker|standalone)\.conf)?(:\w+)?")
"""Matches a mount in place of the broker's settings, such as `./conf:/pulsar/conf`."""

STANDALONE = (
    "it reads conf/standalone.conf, which turns load balancing off and is not read here; give that "
    "file with --conf"
)

UNKNOWN_FILE = (
    "it is not known what reads {} in this file; give the broker.conf that is made from it"
)

SECRET, ENCODED = "Secret", "data"
"""The kind of resource that has values in base64, and the key of these values."""

REFERENCES = {"configMapRef": "ConfigMap", "secretRef": SECRET}
"""The kind of resource for each key of an `envFrom` entry."""

KNOWN_GROUPS = re.compile(
    r"([\w.-]+\.)?(k8s\.io|argoproj\.io|fluxcd\.io|cattle\.io|streamnative\.io|datastax\.com)"
)
"""Matches the API groups of resources whose operators neither add settings nor leave any out."""

SETTINGS_KEY = re.compile("conf|propert|setting", re.IGNORECASE)
"""Matches part of the name of a key under which every key is a setting."""

WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

Source = tuple[str, str]
"""The kind and the name of a source of settings; both empty for settings without a source."""


@dataclass(frozen=True)
class FoundInYAML:
    """A setting in a YAML file, or a part of the file that is not read."""

    place: str
    name: str
    text: str
    source: Source
    unread: str = ""
    """Why the value is unknown, or why the part is not read; empty for a known value."""
    part: bool = False
    """True for a part of the file that is not a setting, such as an env_file."""
    off: str = ""
    """Why a variable does not reach the broker's settings; empty if it reaches them."""
    of_image: bool = False
    """True for an environment variable of Pulsar's own image."""
    of_file: bool = False
    """True for a setting from a complete broker.conf within the YAML."""
    misplaced: bool = False
    """True for a setting under a key that is not read; `off` or `unread` names the key."""

    @property
    def key(self) -> str:
        """The name without `PREFIX`."""
        return self.name.removeprefix(PREFIX)

    @property
    def bare(self) -> bool:
        """True for an environment variable of Pulsar's own image without `PREFIX`."""
        return self.of_image and not self.of_file and not self.name.startswith(PREFIX)

    @property
    def matters(self) -> bool:
        """True if this is a setting of the load balancer."""
        return not self.part and why_unknown(self.key) != ""


@dataclass(frozen=True)
class YAMLScope:
    """The place of a YAML node: its file, the keys that lead to it, and the source of settings."""

    file: str
    path: tuple[str, ...] = ()
    source: Source = ("", "")
    resource: bool = False
    """True if the node is in a Kubernetes resource, except in Helm values in the resource."""
    of_helm: bool = False
    """True if the node is in Helm values."""

    def under(self, key: str) -> YAMLScope:
        """Return the scope of a key's value."""
        return replace(self, path=(*self.path, key))

    def place(self, node: Any) -> str:
        """Return the file and the line of a node."""
        return f"{self.file}:{node.start_mark.line + 1}"

    @property
    def key(self) -> str:
        """Return the last key that leads to the node; empty at the top of a file."""
        return self.path[-1] if self.path else ""

    def misplaced(self, key: Any, beside: int) -> FoundInYAML:
        """Return a setting that Pulsar does not read where it is written, with the right place.

        `beside` is the number of other keys here. `unread` is set instead of `off` if it may still
        have an effect: as a variable, for an operator, or because the file is not Helm values.
        """
        own = self.resource and self.source[0] in ("", SET)
        keys = {SERVICE: "environment", MAP: "data", WORKLOAD: "env"}
        right = "config or custom" if own else keys.get(self.source[0], "broker.configData")
        whole = beside and SETTINGS_KEY.search(self.key)
        others = f", like {counted(beside, 'other setting')} beside it" if whole else ""
        why = f"{'.'.join(self.path)} is not read; write it under {right}{others}"
        found = FoundInYAML(self.place(key), key.value, "", self.source, misplaced=True)
        if not (self.resource or self.of_helm or self.source[0]):
            return replace(found, unread=UNKNOWN_FILE.format(".".join(self.path)))
        if own or key.value.startswith(PREFIX):
            return replace(found, unread=why, part=True)
        return replace(found, off=why)

    @property
    def of_chart(self) -> bool:
        """True if the node has a broker's Helm values that charts pass to the image."""
        outside = self.resource or self.composed or self.key != "configData"
        return not outside and any(plain_key(key).startswith("broker") for key in self.path)

    @property
    def composed(self) -> bool:
        """True if this part of the YAML is inside a service of a compose file."""
        return self.source[0] == SERVICE


def is_of_helm(document: Any, text: str) -> bool:
    """True if a file has keys of components, as Helm values do, but no Ansible expressions."""
    own = children(document)
    each = [own, *map(children, own.values())]
    keys = (plain_key(key) for one in each for key in one if isinstance(one[key], yaml.MappingNode))
    return not JINJA.search(text) and not (OTHER_COMPONENTS | BROKERS).isdisjoint(keys)


def plain_key(key: str) -> str:
    """Return a key in lower case, without `_` and `-`."""
    return re.sub("[_-]", "", key.lower())


def unknown_operator(document: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield a resource of an unknown operator as not read, since the operator may add settings."""
    known = children(document)
    version = known.get("apiVersion")
    group, slash, _ = scalar(version).partition("/")
    if slash and "." in group and not KNOWN_GROUPS.fullmatch(group):
        why = "its operator is not known; it may add settings, or leave some out"
        named = f"{scalar(known.get('kind'))} of {group}"
        yield FoundInYAML(scope.place(version), named, "", ("", ""), why, True)


def names_other_component(name: str) -> bool:
    """True if a name, such as `pulsar-bookie-0`, contains another component but no broker."""
    words = [word.lower() for word in WORD.findall(name)]
    if BROKERS.intersection(words):
        return False
    joined = map("".join, pairwise(words))
    return not OTHER_COMPONENTS.isdisjoint((*words, *joined))


def runs_other_component(name: str, *commands: Any) -> bool:
    """True if a container runs no broker, by its commands or, if they run nothing, its name."""
    runs = components_run(*commands)
    return BROKERS.isdisjoint(runs) if runs else names_other_component(name)


def is_of_pulsar(image: str) -> bool:
    """True if an image's repository is that of Pulsar or of one of its distributions."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return DISTRIBUTION.fullmatch(name) is not None


def containers_of_brokers(containers: list[Any]) -> list[Any]:
    """Return the containers of a pod that may run a broker.

    These are the containers whose name or command is a broker's. If there are none, these are the
    containers without an image or with Pulsar's; and if none has Pulsar's, all containers.
    """
    each = [(one, children(one)) for one in containers]
    brokers = [one for one, parts in each if runs_broker(scalar(parts.get("name")), parts)]
    if brokers:
        return brokers
    if not any(is_of_pulsar(scalar(parts.get("image"))) for _, parts in each):
        return containers
    return [
        one for one, parts in each if "image" not in parts or is_of_pulsar(scalar(parts["image"]))
    ]


def runs_broker(name: str, parts: dict[str, Any]) -> bool:
    """True if a container runs a broker, by its commands or, if they run nothing, its name."""
    runs = components_run(*(parts.get(key) for key in ("entrypoint", "command", "args")))
    words = {word.lower() for word in WORD.findall(name)}
    return not BROKERS.isdisjoint(runs or words)


def components_run(*commands: Any) -> set[str]:
    """Return the components of Pulsar that a container's commands run."""
    return set(RUN.findall(" ".join(filter(None, map(_command_text, commands)))))


def why_not_applied(image: str, *commands: Any) -> str:
    """Return why a container's variables do not reach its broker's settings; empty if they do.

    Also empty if the image is not Pulsar's own, because such an image may apply them itself.
    """
    alone = BROKER_COMMAND.fullmatch(" ".join(filter(None, map(_command_text, commands))).strip())
    if not alone or not _is_own_image(image):
        return ""
    return (
        f"the command runs bin/pulsar {alone[1]} without bin/apply-config-from-env.py, so the "
        f"variable does not reach {alone[1]}.conf"
    )


def applies_variables(image: str, *commands: Any) -> bool:
    """True if a container certainly applies its variables to broker.conf.

    A user's script or an image other than Pulsar's may apply them or not.
    """
    said = " ".join(filter(None, map(_command_text, commands)))
    if "standalone" in components_run(*commands):
        return False
    script = APPLIED.search(said) is not None
    return (_is_own_image(image) and not said) or ((_is_own_image(image) or not image) and script)


def _is_own_image(image: str) -> bool:
    """True if an image has the name of one of Apache Pulsar's images."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name in ("pulsar", "pulsar-all")


def _command_text(node: Any) -> str:
    """Return a command as one string, given text or a list; empty for anything else."""
    if isinstance(node, yaml.SequenceNode):
        return " ".join(map(_command_text, node.value))
    return node.value if isinstance(node, yaml.ScalarNode) else ""


def helm_values(node: Any) -> list[Any]:
    """Return the nodes of an Argo CD application's Helm values: text, mapping, then parameters."""
    known = children(node)
    found = []
    if text := scalar(known.get("values")):
        above = "\n" * (known["values"].start_mark.line + (known["values"].style in ("|", ">")))
        found.append(yaml.compose(above + text, yaml.SafeLoader))
    found += [known["valuesObject"]] if "valuesObject" in known else []
    for one in items_of(known.get("parameters")):
        parts = children(one)
        value = parts.get("value")
        for key in reversed(re.split(r"(?<!\\)\.", scalar(parts.get("name")))):
            mark = {"start_mark": one.start_mark, "end_mark": one.end_mark}
            key_node = yaml.ScalarNode("tag:yaml.org,2002:str", key.replace("\\.", "."), **mark)
            value = yaml.MappingNode("tag:yaml.org,2002:map", [(key_node, value)], **mark)
        found.append(value)
    return [one for one in found if one is not None]


def items_of(node: Any) -> list[Any]:
    """Return the items of a list; empty for other nodes."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def entries_of(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a mapping with merges (`<<`) resolved; nothing for other nodes.

    A mapping's own keys override merged keys, and earlier merged mappings override later ones.
    """
    if not isinstance(node, yaml.MappingNode):
        return
    own = [(key, one) for key, one in node.value if isinstance(key, yaml.ScalarNode)]
    explicit = [(key, one) for key, one in own if not key.tag.endswith(":merge")]
    seen = {key.value for key, _ in explicit}
    for key, merged in own:
        if key.tag.endswith(":merge"):
            each = merged.value if isinstance(merged, yaml.SequenceNode) else [merged]
            for one in each:
                new = [pair for pair in entries_of(one) if pair[0].value not in seen]
                seen |= {key.value for key, _ in new}
                yield from new
    yield from explicit


def children(node: Any) -> dict[str, Any]:
    """Return the values of a mapping by key; empty for other nodes."""
    return {key.value: one for key, one in entries_of(node)}


def scalar(node: Any) -> str:
    """Return the text of a scalar; empty for null and for other nodes."""
    given = isinstance(node, yaml.ScalarNode) and not is_null(node)
    return str(node.value).strip() if given else ""


def rendered(node: Any, *, booleans: bool = True) -> str:
    """Return the text that a chart or an operator writes for a scalar.

    Unquoted integers and, if `booleans`, YAML 1.1 booleans are normalized: `yes` becomes `true`.
    """
    text = scalar(node)
    if not text or node.style is not None:
        return text
    if node.tag.endswith(":int") and ":" not in text:
        return str(SafeConstructor().construct_yaml_int(node))
    if node.tag.endswith(":bool") and booleans:
        return str(SafeConstructor().construct_yaml_bool(node)).lower()
    return text


def is_null(node: Any) -> bool:
    """True if a node is YAML's null."""
    return bool(node.tag.endswith(":null"))


def origin_of(node: Any) -> str:
    """Return the object or field from which a variable's value comes, as text."""
    for key, reference in entries_of(node):
        kind = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}.get(key.value)
        return f"{kind} {scalar(children(reference).get('name'))}" if kind else str(key.value)
    return "valueFrom"


def env_from(node: Any, scope: YAMLScope) -> Iterator[FoundInYAML]:
    """Yield, as parts not read, ConfigMaps and Secrets that set a container's environment."""
    for item in items_of(node) or [node]:
        for key, reference in entries_of(item):
            kind = REFERENCES.get(key.value)
            if kind:
                named = f"{kind} {scalar(children(reference).get('name'))}"
                why = "envFrom names it, and it is not read; give that resource with --conf"
                yield FoundInYAML(scope.place(reference), named, "", scope.source, why, True)
