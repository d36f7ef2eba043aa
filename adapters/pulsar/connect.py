"""Connection to `pulsar:VERSION` or `pulsar:PATH`: a release's own classes in a child process."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.process import HostedConnection
from pulsar_conformance.adapters.programs import PULSAR_EXTRA, java_problem
from pulsar_conformance.adapters.protocol import JSON
from pulsar_conformance.adapters.pulsar import maven, nearest, versions
from pulsar_conformance.adapters.pulsar.shelf import CachedJars, Damaged
from pulsar_conformance.adapters.pulsar.target import BadTarget, Target

HOST = "pulsar_conformance.adapters.python_host"
OBJECT = "pulsar_conformance.adapters.pulsar.host:ReleasedHost"
STUB_ARTIFACT = "org.mockito:mockito-core:3.12.4"
"""Maven artifact of the library that builds stubs.

Later versions look for the Java method that called them, but the suite calls from Python.
"""

UNHURRIED_LIMITS = Limits(start=180.0, base=120.0, per_case=0.5)
"""Default time limits in seconds, sufficient for a busy machine and slow first cases.

Usually, a release starts in two or three seconds and answers a case in milliseconds.
"""


@contextmanager
def raising_start_errors(name: str) -> Iterator[None]:
    """Raise an `AdapterError` for missing jars and failed downloads in the block."""
    try:
        yield
    except BadTarget as wrong:
        raise AdapterError("start", str(wrong), "", "", name) from None
    except maven.CannotFetch as error:
        raise AdapterError("start", error.problem, error.hint, error.tail, name) from None
    except OSError as error:
        problem = f"the cache of jars can't be used: {error}"
        hint = "set PULSAR_CONFORMANCE_CACHE to a writable folder"
        raise AdapterError("start", problem, hint, "", name) from None


def connect_pulsar(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Find or download a release's jars, and start the child process.

    Errors before the start concern the release, so their messages omit the settings in the name.
    """
    with raising_start_errors(name.partition(",")[0]):
        target = Target.parse(rest)
        version, jars = released_jars(target)
        shells = downloaded_stub_jars()
        _check_class_path(shells, jars, *target.class_path)
    options: dict[str, Any] = {
        "version": version,
        "folders": [str(shells), str(jars)],
        "plugin": [str(path) for path in target.class_path],
        "strategy": target.strategy,
        "played": target.played,
        "settings": dict(target.settings),
    }
    words = [sys.executable, "-m", HOST, OBJECT, json.dumps(options)]
    unhurried = UNHURRIED_LIMITS if limits == Limits() else limits
    examined = target.release in versions.releases()
    others = [] if examined else maven.replaced_parts(version, jars)
    return ReleasedConnection(words, name, profile, readings, unhurried, examined, others)


class ReleasedConnection(HostedConnection):
    """A child process with one release.

    A release that was not examined is compared with the examined ones. `others` are the names of
    parts that come from other releases.
    """

    def __init__(
        self,
        argv: Sequence[str],
        name: str,
        profile: str,
        readings: Mapping[str, str],
        limits: Limits,
        examined: bool,
        others: Sequence[str],
    ) -> None:
        super().__init__(argv, name, profile, readings, limits, restarts=False)
        whole = "settings.defaults" in self.hello.operations
        self._remarks: list[str] = []
        if whole and not examined:
            try:
                self._remarks = nearest.nearest_remarks(self.hello.version, self._answer)
            except BaseException:
                self.close()
                raise
        if others:
            parts = f"{', '.join(others)} replace parts of this release that cannot be fetched"
            about = "load balancing does not depend on these parts"
            line = f"pulsar {self.hello.version}: {parts}; {about}"
            self._remarks.append(line)

    def _answer(self, operation: str, case: JSON) -> JSON:
        try:
            [answer] = self.exchange(operation, [case])
        except AdapterError as error:
            if not error.code:
                raise
            return {"failed": error.problem}
        return answer

    def remarks(self) -> list[str]:
        """Return remarks about a release that was not examined, and about parts from other
        releases.
        """
        return self._remarks


def check_prerequisites() -> None:
    """Check that everything besides the jars is installed. Errors: `BadTarget`."""
    if importlib.util.find_spec("jpype") is None:
        raise BadTarget(f"released Pulsar needs JPype: {PULSAR_EXTRA}")
    if problem := java_problem():
        raise BadTarget(f"released Pulsar {problem}")


def released_jars(target: Target) -> tuple[str, Path]:
    """Return a release's version and jar folder. Errors: `BadTarget`, `maven.CannotFetch`."""
    release = versions.downloadable_release(target.release)
    if release and not Path(target.release).is_dir():
        check_prerequisites()
        near = versions.closest_examined(release.version)
        fill = partial(maven.fetch_release, release.version, release.pins, near)
        what = maven.release_title(release.version)
        return release.version, _jar_folder(release.version, what, fill)
    folder = Path(target.release)
    check_release(target.release)
    found = versions.brokers_in(folder)
    if not found:
        raise BadTarget(
            f"{folder} has no pulsar-broker-VERSION.jar; give the lib folder of a distribution"
        )
    if len(found) > 1:
        raise BadTarget(
            f"{folder} has several pulsar-broker jars, {' and '.join(found)}; keep only one"
        )
    for jar in sorted(folder.glob("*.jar")):
        if not zipfile.is_zipfile(jar):
            raise BadTarget(f"{jar} is incomplete: copy or build it again")
    check_prerequisites()
    return found[0], folder.resolve()


def check_release(text: str) -> None:
    """Check that a text is a folder or a version that can be downloaded. Errors: `BadTarget`."""
    if not Path(text).is_dir() and versions.downloadable_release(text) is None:
        raise BadTarget(
            f"{text!r} is neither a folder nor a version that can be downloaded; give "
            f"{_versions_text()}, or the lib folder of a distribution or build"
        )


def _versions_text() -> str:
    """Return text on which versions can be downloaded; old ones must have been examined."""
    known = list(versions.releases())
    older = [one for one in known if versions.version_key(one)[0] < versions.OLDEST]
    later = [one for one in known if one not in older]
    least = ".".join(map(str, versions.OLDEST))
    examples = f"a version, {least} or later, such as {', '.join(later)}"
    return f"{examples}, or {' or '.join(older)}" if older else examples


def check(rest: str) -> None:
    """Check the part of an adapter's name after `pulsar:`, but not whether jars are installed.

    Errors: `BadTarget`.
    """
    check_release(Target.parse(rest).release)


def _check_class_path(*paths: Path) -> None:
    """Check that no path contains the separator of Java's class path. Errors: `BadTarget`."""
    for path in paths:
        if os.pathsep in str(path):
            raise BadTarget(
                f"Java cannot use a path with {os.pathsep!r}: move {path}, or link to it"
            )


def downloaded_stub_jars() -> Path:
    """Return the folder with the jars that build stubs; download them if necessary.

    Errors: `maven.CannotFetch`.
    """
    pom = maven.plain_pom([STUB_ARTIFACT])
    what = "Mockito, for stubs around Pulsar"
    fill = partial(maven.fetch_artifacts, what, pom)
    return _jar_folder(f"shells-{STUB_ARTIFACT.rpartition(':')[2]}", what, fill)


def _jar_folder(shelf_name: str, title: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder of jars in the cache; `fill` downloads them if some are missing.

    `title` names the jars in messages.
    """
    shelf = CachedJars(shelf_name)
    damage = ""
    try:
        if shelf.check():
            return shelf.library
    except Damaged as error:
        damage = str(error)
    with shelf.locked(title):
        try:
            if shelf.check():
                return shelf.library
        except Damaged as error:
            damage = str(error)
        try:
            shelf.fill(fill)
        except maven.CannotFetch as error:
            if damage:
                error.problem = f"{damage}; it must be downloaded again, but {error.problem}"
            raise
    return shelf.library
