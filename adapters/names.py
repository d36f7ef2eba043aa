"""Names of implementations, such as `reference`, `spark` or `exec:COMMAND ARG ...`.

Each kind of adapter is an entry point of `ENTRY_POINT_GROUP`, which is loaded when a name needs it.
Other packages can declare entry points to add kinds. The module of an entry point may define
`check(rest)`: it raises `UserError` for an invalid name before anything is started.
"""

import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pulsar_conformance.adapters.connection import Connect, Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.text import NO_BREAK, WIDTH, paragraph, printable

ENTRY_POINT_GROUP = "pulsar_conformance.adapters"

PULSAR_FORM = (
    "pulsar:VERSION|PATH[,strategy=CLASS][,as=STRATEGY][,classpath=JAR[:JAR...]][,set=NAME=VALUE]"
)
CLUSTER_FORM = "cluster:VERSION|PATH[,manager=MANAGER][,brokers=N][,crash=CRASH][,set=NAME=VALUE]"
CLUSTER_URL_FORM = "cluster:URL[,cluster=NAME][,token-file=FILE][,tls-trust=FILE][,changes=allowed]"
NAME_FORMS: Mapping[str, str] = {
    "reference": "reference",
    "python": "python:MODULE:NAME",
    "exec": "exec:COMMAND ARG ...",
    "sample": "sample:java|javascript|go",
    "pulsar": PULSAR_FORM,
    "cluster": f"{CLUSTER_FORM} or {CLUSTER_URL_FORM}",
    "spark": "spark or spark:local[N] or spark:sc://HOST:PORT",
}
"""The format of the names of each built-in kind of adapter; " or " separates several formats."""
LINE_BREAK = "\n"
"""Marks a place at which the format of a name may be broken into lines when it is printed."""


def name_format_lines(width: int = WIDTH) -> Iterator[str]:
    """Yield the formats of all names; lines are broken only before options."""
    for forms in NAME_FORMS.values():
        for form in forms.split(" or "):
            apart = (
                form.replace("[,", f"{LINE_BREAK}[,")
                .replace(" ", NO_BREAK)
                .replace(LINE_BREAK, " ")
            )
            for line in paragraph(apart, 10, "  ", width):
                yield line.replace(" [,", "[,").replace(NO_BREAK, " ")


def connect(
    name: str, profile: str, readings: Mapping[str, str], limits: Limits | None = None
) -> Connection:
    """Connect to the implementation with this name, and exchange `hello` messages.

    The suite's `hello` gives the implementation the profile and readings that judge it. Errors:
    `AdapterError` if the implementation cannot be used, and `UnknownName` if the reference model
    has no such profile or reading.
    """
    check_name(name)
    kind, _, rest = name.partition(":")
    return _load_kind(kind, name)(rest, name, profile, readings, limits or Limits())


def check_name(name: str) -> None:
    """Raise `AdapterError` if a name contains a secret, has no known kind, or is rejected by its
    kind.
    """
    kind = name.partition(":")[0]
    if kind not in _entry_points():
        raise AdapterError("start", _unknown_name_text(name, kind))
    if printable(name, lines=False) != name:
        problem = f"{name!r} contains an unprintable character"
        raise AdapterError("start", problem, "write the adapter's name without it")
    check_no_secret(name)
    _check_target(kind, name)


def _check_target(kind: str, name: str) -> None:
    """Check the rest of the name by the `check` function of the kind's module, if it has one."""
    check = getattr(sys.modules[_load_kind(kind, name).__module__], "check", None)
    if check is not None:
        try:
            check(name.partition(":")[2])
        except UserError as wrong:
            raise AdapterError("start", str(wrong), "", "", name) from None


def check_no_secret(name: str) -> None:
    """Raise `AdapterError` if a name contains a URL with a password, which reports would show."""
    if name.startswith(("cluster:http:", "cluster:https:")) and "@" in name.partition(",")[0]:
        problem = (
            "a URL must not contain a secret: use $PULSAR_CONFORMANCE_TOKEN or token-file=FILE"
        )
        raise AdapterError("start", problem)


@cache
def _entry_points() -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of each kind; several if packages define the same kind."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for one in entry_points(group=ENTRY_POINT_GROUP):
        found.setdefault(one.name, {})[one.value] = one
    return {kind: tuple(by_value.values()) for kind, by_value in found.items()}


def _load_kind(kind: str, name: str) -> Connect:
    """Return the function that connects to a kind of implementation."""
    first, *others = _entry_points()[kind]
    if others:
        packages = " and ".join(map(_package, (first, *others)))
        problem = f"several packages define adapters of the kind {kind!r}: {packages}"
        raise AdapterError("start", problem, "uninstall one of them", "", name)
    try:
        found: Connect = first.load()
    except (ImportError, AttributeError) as error:
        problem = (
            f"the adapter {first.value} of the package {_package(first)} can't be loaded: {error}"
        )
        raise AdapterError("start", problem, "reinstall that package", "", name) from None
    return found


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"


def _unknown_name_text(name: str, kind: str) -> str:
    if kind in NAME_FORMS:
        return f"{name!r} can't be found: install pulsar-conformance, for example by pip install ."
    written = {
        **NAME_FORMS,
        **{one: f"{one}:..." for one in _entry_points() if one not in NAME_FORMS},
    }
    near = get_close_matches(kind, written, n=1)
    meant = f"; did you mean {written[near[0]]}?" if near else ""
    return f"{name!r} is not an adapter; choose from {', '.join(written.values())}{meant}"
