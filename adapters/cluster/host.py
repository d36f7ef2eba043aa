"""The child process of a cluster: a JVM with one release, which answers in the adapter protocol.

The command is `python -m pulsar_conformance.adapters.cluster.host JSON`; the protocol uses standard
input and output.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jpype
from pulsar_conformance.adapters import python_host
from pulsar_conformance.adapters.cluster import folders
from pulsar_conformance.adapters.errors import AdapterFailure, CannotLoad
from pulsar_conformance.adapters.pulsar import jvm, versions
from pulsar_conformance.specs import load

OBJECT = "pulsar_conformance.adapters.cluster.host:ClusterHost"
UNPACKED_FOLDER = "unpacked"
"""Name of the folder for the JVM's temporary files, inside the cluster's folder."""

REPLAY = "cluster.replay"
BATCH = 1
"""Number of cases in a batch; it is small, since a story takes seconds."""

OPENED_PACKAGES = ("java.util.concurrent", "java.io", "java.util.zip", "sun.net")
OPTIONS = (
    # This process handles signals itself.
    "-Xrs",
    *(one for one in jvm.OPTIONS if not one.startswith(("-Xmx", "-XX:+ErrorFile"))),
    "-Xmx1500m",
    # A crash report must go to standard error, to show where the JVM crashed.
    "-XX:ErrorFile=/dev/null",
    "-XX:MaxDirectMemorySize=512m",
    "-Dio.netty.tryReflectionSetAccessible=true",
    # Otherwise attaching to a JVM leaves a socket in /tmp, whatever the temporary folder.
    "-XX:+DisableAttachMechanism",
    # The description of the admin API is unused and slow to build.
    "-Djersey.config.allowSystemPropertiesProvider=true",
    "-Djersey.config.server.wadl.disableWadl=true",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED_PACKAGES),
)
"""Options of a JVM for ZooKeeper, a bookie and a dozen brokers."""


class ClusterHost:
    """Answers in the adapter protocol for a cluster of the release that the arguments name."""

    def __init__(
        self,
        profile: str,
        readings: Mapping[str, str],  # noqa: ARG002  every host is given them; a cluster has its own
    ) -> None:
        self._options = json.loads(sys.argv[1])
        jars = [jar for folder in self._options["folders"] for jar in jvm.jars_in(Path(folder))]
        folder = Path(self._options["folder"])
        # RocksDB, Snappy and LZ4 unpack libraries there, which would remain if the JVM were killed.
        unpacked = folder / UNPACKED_FOLDER
        unpacked.mkdir()
        jvm.start_jvm(jars, (*OPTIONS, f"-Djava.io.tmpdir={unpacked}"))
        jpype.java.util.logging.LogManager.getLogManager().reset()
        # Imported late, since their decorators name Java types.
        from pulsar_conformance.adapters.cluster import webapps
        from pulsar_conformance.adapters.cluster.cluster import LiveCluster
        from pulsar_conformance.adapters.cluster.decisions import decision_functions
        from pulsar_conformance.adapters.cluster.decisions.leader import AskedLeader
        from pulsar_conformance.adapters.cluster.extensible import check_version
        from pulsar_conformance.adapters.pulsar.configuration import Configurations

        if self._options["manager"] == "extensible":
            check_version(self._options["version"])
        plain, documented = Configurations({}), load().defaults(profile)
        for name in self._options["settings"]:
            if not plain.knows(name):
                raise CannotLoad(f"Pulsar {self._options['version']} has no setting {name}")
        self._neutral = {
            one.name: (one.value, one.reason)
            for one in versions.neutral_settings(documented)
            if plain.knows(one.name) and one.name not in self._options["settings"]
        }
        neutral = {name: value for name, (value, _) in self._neutral.items()}
        self._defaults = {**versions.unconditional_defaults(documented), **neutral}
        webapps.reuse_webapps()
        killed = self._options["folders"] if self._options["crash"] == "kill" else None
        self._cluster = LiveCluster(
            folder, self._options["manager"], self._options["brokers"], killed
        )
        self._decisions = decision_functions(self._options["manager"])
        self._leader = AskedLeader(
            self._cluster, self._options["version"], self._defaults, self._options["settings"]
        )

    def hello(
        self,
        profile: str,  # noqa: ARG002  known since the start
        readings: Mapping[str, str],  # noqa: ARG002  a cluster has its own
    ) -> dict[str, Any]:
        """Return the reply to `hello`, including operations, stubs and neutralized settings."""
        from pulsar_conformance.adapters.cluster.decisions import NOT_ASKABLE, QUICK_DECISIONS
        from pulsar_conformance.adapters.cluster.standins import NEUTRAL, STANDINS
        from pulsar_conformance.adapters.pulsar.operations import shedding, splitting

        manager, release = self._options["manager"], self._leader.release
        operations = [REPLAY, *self._decisions]
        modular = {"strategies": shedding.strategies(release)} if manager == "modular" else {}
        return {
            "name": "cluster" if manager == "modular" else f"cluster-{manager}",
            "version": self._options["version"],
            "batch": BATCH,
            "manager": manager,
            "operations": operations,
            "absent": dict(NOT_ASKABLE),
            "costly": [name for name in operations if name not in QUICK_DECISIONS],
            "algorithms": splitting.algorithms(release),
            **modular,
            "standIns": dict(STANDINS),
            "neutral": {
                name: f"{value}: {reason}"
                for name, (value, reason) in {**self._neutral, **NEUTRAL}.items()
            },
        }

    def answer(self, operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
        """Return the cluster's answer, or the reason why it gives none.

        After a failure, the cluster is discarded. A failed story is retried once on a new cluster.
        """
        found = self._outcome(operation, case)
        if "failed" in found:
            self._cluster.recreate_metadata()
            if operation == REPLAY:
                found = self._outcome(operation, case)
        return found

    def _outcome(self, operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
        from pulsar_conformance.adapters.admin_api.http import NoAnswer
        from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
        from pulsar_conformance.adapters.cluster.decisions.leader import FailedRequest
        from pulsar_conformance.adapters.pulsar.configuration import Inexpressible
        from pulsar_conformance.adapters.pulsar.release import RejectedRequest, Unsupported

        try:
            return self._answer(operation, case)
        except (Inexpressible, Unsupported) as error:
            return {"unsupported": str(error)}
        except RejectedRequest as error:
            return {"refused": str(error)}
        except (FailedRequest, ConditionTimeout, NoAnswer) as error:
            return {"failed": str(error)}
        except jpype.JException as error:
            missing = jvm.missing_classes(error)
            if missing is not None:
                raise missing from None
            return {"failed": str(error.toString())}
        except CannotLoad:
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            problem = f"the adapter failed, not Pulsar, at {operation}: {why}"
            raise AdapterFailure(problem) from error

    def _answer(self, operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
        from pulsar_conformance.adapters.cluster.extensible import check_story_strategy
        from pulsar_conformance.adapters.cluster.story import replay

        if operation != REPLAY:
            return self._decisions[operation](self._leader, case)
        check_story_strategy(case, self._options["manager"])
        steps = replay(self._cluster, case, self._defaults, self._options["settings"])
        return {"steps": list(steps)}


def end_with(suite: int, signals: int, folder: Path) -> None:
    """Wait until the suite exits or a signal arrives; remove the folder and end this process."""
    poll = select.poll()
    poll.register(suite, 0)  # The end of a pipe is always reported.
    poll.register(signals, select.POLLIN)
    poll.poll()
    folders.remove_folder(folder)
    os._exit(1)


def signal_pipe() -> int:
    """Return a pipe that becomes readable when a signal arrives.

    A handler in Python would be delayed while the main thread is in Java.
    """
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, lambda _number, _frame: None)
    return readable


def main() -> int:
    """Answer questions until the suite says bye or exits."""
    options = json.loads(sys.argv[1])
    folders.remove_abandoned()
    folder, lock = folders.create_locked_folder()
    sys.argv[1] = json.dumps({**options, "folder": str(folder)})
    ends = (os.dup(0), signal_pipe(), folder)
    threading.Thread(target=end_with, args=ends, daemon=True).start()
    try:
        status = python_host.main(OBJECT)
    finally:
        folders.remove_folder(folder)
        lock.close()
    # Threads of brokers and ZooKeeper would survive an orderly exit.
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
