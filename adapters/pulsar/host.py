"""The part of the adapter in the child process: one release, its JVM and its operations."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jpype
from pulsar_conformance.adapters.errors import AdapterFailure, CannotLoad
from pulsar_conformance.adapters.pulsar import jvm, versions
from pulsar_conformance.adapters.pulsar.configuration import Inexpressible
from pulsar_conformance.adapters.pulsar.jvm import Java
from pulsar_conformance.adapters.pulsar.plugged import check_settings, roles_of_strategy
from pulsar_conformance.adapters.pulsar.release import (
    RejectedRequest,
    Release,
    Unanswered,
    Unsupported,
)
from pulsar_conformance.specs import load

PULSAR = "org.apache.pulsar."
ADAPTER_FAILED = "the adapter failed, not Pulsar, at "
BATCH = 200
"""Number of cases in a batch.

A batch takes some seconds, so even slow machines stay within the time limit.
"""


class ReleasedHost:
    """Answers of one release, which the options in the command line describe."""

    def __init__(
        self,
        profile: str,
        readings: Mapping[str, str],  # noqa: ARG002  every host is given them; a release has its own
    ) -> None:
        options = json.loads(sys.argv[2])
        self._start(options)
        try:
            self._set_up(options, profile)
        except jpype.JException as error:
            raise _missing_classes(error) or error from None

    def _start(self, options: Mapping[str, Any]) -> None:
        folders = [jar for folder in options["folders"] for jar in jvm.jars_in(Path(folder))]
        plugin = [Path(path) for path in options["plugin"]]
        self._plugged_classes = classes_in(plugin)
        jvm.start_jvm([*plugin, *folders])

    def _set_up(self, options: Mapping[str, Any], profile: str) -> None:
        """Prepare the release for questions. Errors: `CannotLoad`."""
        # Imported late, since their decorators name Java types.
        from pulsar_conformance.adapters.pulsar import operations

        settings = options["settings"]
        plain = Release(options["version"], load().defaults(profile))
        check_settings(settings, plain, plugged=options["strategy"] is not None)
        self._neutral = [
            one
            for one in versions.neutral_settings(plain.defaults)
            if plain.configurations.knows(one.name) and one.name not in settings
        ]
        neutral = {one.name: one.value for one in self._neutral}
        undocumented = {**neutral, **settings}
        plugged = _roles_of_class(options["strategy"], plain)
        shedder, placer = plugged.get("shedder"), plugged.get("placer")
        played = options.get("played")
        if played and shedder is None:
            raise CannotLoad(f"as={played}: {options['strategy']} is not a shedding strategy")
        self._release = Release(
            plain.version, plain.defaults, undocumented, shedder, placer, played
        )
        operations.check_strategies(self._release)
        self._operations = operations.offered_operations(self._release)
        self._strategies = operations.strategies(self._release)
        self._algorithms = operations.algorithms(self._release)

    # Every host is given a profile and readings, but a release needs neither.
    def hello(self, profile: str, readings: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG002  see above
        """Return the reply to `hello`, including operations and neutralized settings.

        The reply declares no readings, since a run's options choose the readings to judge by.
        """
        release = self._release
        plugin = release.shedder or release.placer
        placing = {"placement": release.placer} if release.placer else {}
        return {
            "name": f"pulsar+{plugin.rpartition('.')[2]}" if plugin else "pulsar",
            "version": release.version,
            "batch": BATCH,
            "manager": "modular",
            "operations": list(self._operations),
            "strategies": self._strategies,
            "algorithms": self._algorithms,
            "neutral": {one.name: f"{one.value}: {one.reason}" for one in self._neutral},
            **placing,
        }

    def answer(self, operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return the release's answer; if the release throws an exception, the case has failed."""
        from pulsar_conformance.adapters.pulsar import shells

        try:
            return self._operations[operation](self._release, case)
        except (Unsupported, Inexpressible) as error:
            return {"unsupported": str(error)}
        except RejectedRequest as error:
            return {"refused": str(error)}
        except Unanswered as error:
            return {"failed": str(error)}
        except jpype.JException as error:
            described = describe_exception(error, self._plugged_classes)
            missing = jvm.missing_classes(error, described)
            if missing is not None:
                raise missing from None
            if why := shells.stub_error(error):
                raise AdapterFailure(f"{ADAPTER_FAILED}{operation}: {why}") from error
            return {"failed": described}
        except CannotLoad:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise AdapterFailure(f"{ADAPTER_FAILED}{operation}: {why}") from error
        finally:
            shells.release_stubs()


def _missing_classes(error: jpype.JException) -> CannotLoad | None:
    """Return the error to raise if the exception is due to a class that cannot be loaded, else
    None.
    """
    while error is not None:
        missing = jvm.missing_classes(error)
        if missing is not None:
            return missing
        error = error.getCause()
    return None


def _roles_of_class(strategy: str | None, release: Release) -> dict[str, str]:
    """Return the roles of a user's own strategy class; empty without such a class. Errors:
    `CannotLoad`.
    """
    return roles_of_strategy(strategy, release.configurations, release.version) if strategy else {}


def describe_exception(error: jpype.JException, plugged: frozenset[str]) -> str:
    """Return text on a Java exception, with the innermost stack frames of the plug-in and of
    Pulsar.
    """
    frames = error.getStackTrace()
    own = next(
        (str(one) for one in frames if _outermost_class(one.getClassName()) in plugged), None
    )
    pulsars = (str(one) for one in frames if str(one.getClassName()).startswith(PULSAR))
    places = " called by ".join(filter(None, (own, next(pulsars, None))))
    return f"{error.toString()} at {places}" if places else str(error.toString())


def _outermost_class(name: Java) -> str:
    return str(name).partition("$")[0]


def classes_in(paths: Iterable[Path]) -> frozenset[str]:
    """Return the top-level classes in jars and folders."""
    files: list[str] = []
    for path in paths:
        if path.is_dir():
            files += [one.relative_to(path).as_posix() for one in path.rglob("*.class")]
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as jar:
                files += [one for one in jar.namelist() if one.endswith(".class")]
    return frozenset(
        _outermost_class(one.removesuffix(".class").replace("/", ".")) for one in files
    )
