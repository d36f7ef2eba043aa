"""Access to a broker that runs in its own JVM, so that it can be killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
from pulsar_conformance.adapters.cluster.broker import LOAD_MANAGERS
from pulsar_conformance.adapters.cluster.loopback import Ports
from pulsar_conformance.adapters.cluster.metadata import Lock
from pulsar_conformance.adapters.cluster.timers import Timer

HOST = "pulsar_conformance.adapters.cluster.separate_host"
SECONDS = 10
"""Seconds that a broker may take to stop before it is killed."""

Options = Mapping[str, Any]


class SeparateBroker:
    """A proxy for a `LiveBroker` in another process."""

    def __init__(
        self, name: str, ports: Ports, capacity: float, manager: str, options: Options
    ) -> None:
        self.name = name
        self.ports = ports
        self.capacity = capacity
        words = {
            **options,
            "name": name,
            "web": ports.web,
            "binary": ports.binary,
            "capacity": capacity,
            "manager": manager,
        }
        self._child = ChildProcess(words)
        self.manager = SeparateManager(self._child, manager)
        self.timers = SeparateTimers(self._child)
        self.notified = SeparateNotifications(self._child)

    @property
    def leads(self) -> bool:
        """True if the broker considers itself the leader."""
        return bool(self._child.ask("broker", "leads"))

    @property
    def known_leader(self) -> str | None:
        """The registered name of the broker that this broker considers the leader."""
        found: str | None = self._child.ask("broker", "known_leader")
        return found

    def setting(self, name: str) -> Any:
        """Return a setting's effective value: as JSON, or as text if JSON cannot express it."""
        return self._child.ask("broker", "setting", name)

    def set_load(self, throughput: float, table: Mapping[str, Mapping[str, float]]) -> None:
        """Set the load that the broker's sensors report from now on."""
        self._child.ask("broker", "set_load", throughput, table)

    def stop(self) -> None:
        """Shut the broker down gracefully."""
        self._child.ask("broker", "stop")
        self._child.end()

    def leave(self) -> None:
        """Stop the broker without handing its bundles over, since all other brokers stop, too."""
        self._child.ask("broker", "leave")
        self._child.end()

    def crash(self) -> None:
        """Kill the broker's process."""
        self._child.kill()

    def release_resources(self) -> None:
        """Kill the broker's process; nothing else remains to be released."""
        self._child.kill()


class SeparateManager:
    """The load manager of a broker in another process."""

    def __init__(self, child: ChildProcess, manager: str) -> None:
        self._child = child
        kind = LOAD_MANAGERS[manager]
        self.leader, self.release_seconds = kind.leader, kind.release_seconds

    def report(self) -> None:
        """Write the measured load."""
        self._child.ask("manager", "report")

    def finish_pending_work(self) -> None:
        """Wait until pending tasks are complete."""
        self._child.ask("manager", "finish_pending_work")

    def receive(self) -> None:
        """Process the messages that other brokers have sent."""
        self._child.ask("manager", "receive")

    def make_memory_older(self, minutes: float) -> None:
        """Make everything that the manager remembers older by some minutes."""
        self._child.ask("manager", "make_memory_older", minutes)

    def locks(self) -> Mapping[str, Lock] | None:
        """Return the bundles and owners that the manager knows."""
        found = self._child.ask("manager", "locks")
        return None if found is None else {name: Lock(*one) for name, one in found.items()}

    @property
    def is_idle(self) -> bool:
        """True if no message to other brokers is pending."""
        return bool(self._child.ask("manager", "is_idle"))

    def known_brokers(self) -> set[str]:
        """Return the brokers whose reports the manager has."""
        return set(self._child.ask("manager", "known_brokers"))

    def recently_shed(self) -> set[str]:
        """Return the bundles that the manager remembers having shed."""
        return set(self._child.ask("manager", "recently_shed"))


class SeparateTimers:
    """The timers of a broker in another process."""

    def __init__(self, child: ChildProcess) -> None:
        self._child = child

    def set_aside(self, clock: float) -> None:
        """Intercept all tasks scheduled since the last call."""
        self._child.ask("timers", "set_aside", clock)

    def due(self, minute: float) -> Iterator[Timer]:
        """Yield the tasks that are due by `minute` of the story."""
        for one in self._child.ask("timers", "due", minute):
            yield Timer(*one)

    def run(self, timer: Timer) -> None:
        """Run a task and wait until it is complete."""
        self._child.ask("timers", "run", timer.task)


class SeparateNotifications:
    """The notifications that a broker in another process has received from its metadata store."""

    def __init__(self, child: ChildProcess) -> None:
        self._child = child

    @property
    def count(self) -> Mapping[str, int]:
        """The number of notifications about each metadata node."""
        found: dict[str, int] = self._child.ask("notified", "count")
        return found


class ChildProcess:
    """A child process and its pipes; each request and each answer is one line of JSON."""

    def __init__(self, options: Options) -> None:
        words = [sys.executable, "-m", HOST, json.dumps(options)]
        self._child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._read()

    def ask(self, part: str, name: str, *given: Any) -> Any:
        """Return an attribute of a part such as the manager or, if it is a method, its result.

        Errors: `ConditionTimeout`.
        """
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps([part, name, given]).encode() + b"\n")
            self._child.stdin.flush()
        except OSError:
            raise ConditionTimeout("a broker in a separate process has exited") from None
        return self._read()

    def _read(self) -> Any:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise ConditionTimeout("a broker in a separate process has exited")
        reply = json.loads(line)
        if "failed" in reply:
            raise ConditionTimeout(f"a broker in a separate process failed: {reply['failed']}")
        return reply["found"]

    def end(self) -> None:
        """End the process."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the process without letting it clean up."""
        self._child.kill()
        self._child.wait()
