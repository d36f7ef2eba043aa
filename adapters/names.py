"""Names of implementations, such as `reference`, `spark` or `exec:COMMAND ARG ...`."""

import shlex
from collections.abc import Mapping
from difflib import get_close_matches

from pulsar_conformance.adapters.admin_api.remote import BadUrl
from pulsar_conformance.adapters.bundled import BUNDLED, NotBuilt
from pulsar_conformance.adapters.cluster.connect import connect_cluster
from pulsar_conformance.adapters.cluster.target import FORM as CLUSTER_FORM
from pulsar_conformance.adapters.connection import Connect, Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.operated.address import FORM as URL_FORM
from pulsar_conformance.adapters.operated.address import check_no_secret
from pulsar_conformance.adapters.process import connect_exec, connect_python
from pulsar_conformance.adapters.pulsar.connect import connect_pulsar
from pulsar_conformance.adapters.pulsar.target import FORM
from pulsar_conformance.adapters.reference import connect_reference
from pulsar_conformance.adapters.spark.connection import connect_spark
from pulsar_conformance.specs.words import printable


def connect_sample(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """One of the sample implementations that come with the suite."""
    if rest not in BUNDLED:
        problem = f"{rest!r} is no sample; there are {', '.join(BUNDLED)}"
        raise AdapterError("start", problem, "", "", name)
    lacking = BUNDLED[rest].lacking()
    if lacking:
        raise AdapterError("start", lacking, "install it, or leave this one out", "", name)
    try:
        words = BUNDLED[rest].command()
    except NotBuilt as problem:
        hint = "set GOCACHE to a folder that can be written, or leave this one out"
        raise AdapterError("start", str(problem), hint, "", name) from None
    return connect_exec(shlex.join(words), name, profile, readings, limits)


KINDS: Mapping[str, tuple[str, Connect]] = {
    "reference": ("reference", connect_reference),
    "python": ("python:MODULE:NAME", connect_python),
    "exec": ("exec:COMMAND ARG ...", connect_exec),
    "sample": (f"sample:{'|'.join(BUNDLED)}", connect_sample),
    "pulsar": (FORM, connect_pulsar),
    "cluster": (f"{CLUSTER_FORM} or {URL_FORM}", connect_cluster),
    "spark": ("spark or spark:local[N] or spark:sc://HOST:PORT", connect_spark),
}
"""Kind of adapter: how its names are written, and what opens it."""


def connect(
    name: str, profile: str, readings: Mapping[str, str], limits: Limits | None = None
) -> Connection:
    """Connect to an implementation by its name, and say hello.

    It will be judged by `profile` and `readings`. Raises AdapterError if it cannot be used, and
    `UnknownName` if the reference has no such profile or reading.
    """
    kind, _, rest = name.partition(":")
    check_name(name)
    return KINDS[kind][1](rest, name, profile, readings, limits or Limits())


def check_name(name: str) -> None:
    """Raise AdapterError if the name is of no known kind."""
    kind = name.partition(":")[0]
    if kind not in KINDS:
        raise AdapterError("start", _unknown(name, kind))
    if printable(name, lines=False) != name:
        problem = f"{name!r} has a character that cannot be shown"
        raise AdapterError("start", problem, "write its name in plain text")
    try:
        check_no_secret(name)
    except BadUrl as wrong:
        raise AdapterError("start", str(wrong)) from None


def _unknown(name: str, kind: str) -> str:
    written = [how for how, _ in KINDS.values()]
    near = get_close_matches(kind, KINDS, n=1)
    meant = f"; did you mean {KINDS[near[0]][0]}?" if near else ""
    return f"{name!r} names no adapter; there are {', '.join(written)}{meant}"
