"""Choice of the load manager in a release (`BrokerService` and `LoadManager.create`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml
from pulsar_conformance import specs
from pulsar_conformance.reference.answers import managers
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.released.configuration import Version, version_of
from pulsar_conformance.reference.released.release import ReleasedWays

PACKAGE = "org.apache.pulsar.broker.loadbalance."
FILE = Path(specs.__file__).parent / "classes.yaml"
NOOP = f"{PACKAGE}NoopLoadManager"
"""A load manager that exists only in Pulsar's tests and decides nothing."""

MANAGERS: Mapping[str, str] = {
    managers.SIMPLE: "simple",
    managers.MODULAR: "modular",
    f"{PACKAGE}extensions.ExtensibleLoadManagerImpl": "extensible",
}


def choose(conf: str | None, dynamic: str | None, release: ReleasedWays) -> Derivation:
    """Return the load manager of a broker, or why a setting is refused or no broker starts."""
    known = classes(release.version)
    checked = release.ways["bad-dynamic-manager"] == "refused"
    if checked and dynamic is not None and dynamic not in known:
        place = release.place("bad-dynamic-manager")
        return _declined_answer("refused", f"there is no class '{dynamic}' ({place})")
    written = conf or ""
    trimmed = written.lstrip() if release.ways["class-blanks"] == "kept" else written.strip()
    name = trimmed if dynamic is None else dynamic
    if not name.strip():
        return _manager_answer(
            release.ways["no-manager"], conf, dynamic, f"{release.place('no-manager')}"
        )
    if name == NOOP:
        return _declined_answer("unsupported", f"no answer names {NOOP}, which decides nothing")
    if name in MANAGERS and name in known:
        return _manager_answer(MANAGERS[name], conf, dynamic)
    place = release.place("bad-manager")
    if release.ways["bad-manager"] == "refused":
        if known.get(name, True):
            return _declined_answer("refused", f"no broker starts with '{name}' ({place})")
        return _declined_answer("failed", f"'{name}' cannot be instantiated ({place})")
    return _manager_answer("simple", conf, dynamic, f"'{name}' is not a load manager")


@cache
def classes(version: Version) -> Mapping[str, bool]:
    """Map each class of a release to whether it has a constructor without arguments."""
    found = {}
    for entry in yaml.safe_load(FILE.read_text("utf-8")):
        if version_of(entry["since"]) <= version <= version_of(entry["until"]):
            for name in entry["names"]:
                full = name if name.startswith("java.") else PACKAGE + name
                found[full] = bool(entry["made"])
    return found


def _manager_answer(
    manager: str, conf: str | None, dynamic: str | None, why: str = ""
) -> Derivation:
    def explain() -> Iterator[Step]:
        yield Step("dynamic", dynamic or "names none")
        yield Step("broker.conf", conf or "names none")
        yield Step("manager", f"{manager} ({why})" if why else manager)

    return Derivation({"manager": manager}, explain)


def _declined_answer(field: str, why: str) -> Derivation:
    return Derivation({field: why}, lambda: (Step(field, why),))
