"""The program of a process with a single broker, which can therefore be killed.

A `SeparateBroker` starts it as `python -m pulsar_conformance.adapters.cluster.separate_host JSON`.
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jpype
from pulsar_conformance.adapters import python_host
from pulsar_conformance.adapters.cluster.host import OPTIONS
from pulsar_conformance.adapters.pulsar import jvm


class BrokerHost:
    """Hosts one broker and answers requests for its attributes and methods."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        from pulsar_conformance.adapters.admin_api.waiting import ConditionWaiter
        from pulsar_conformance.adapters.cluster.broker import LiveBroker
        from pulsar_conformance.adapters.cluster.loopback import Ports
        from pulsar_conformance.adapters.cluster.settings import broker_conf

        ports = Ports(options["web"], options["binary"])
        configuration = broker_conf(
            options["defaults"],
            options["file"],
            options["overrides"],
            manager=options["manager"],
            metadata=options["metadata"],
            ports=ports,
        )
        self._broker = LiveBroker(
            options["name"],
            ports,
            options["capacity"],
            configuration,
            options["manager"],
            ConditionWaiter(),
        )
        self._parts = {
            "broker": self._broker,
            "manager": self._broker.manager,
            "timers": self._broker.timers,
            "notified": self._broker.notified,
        }
        self._timers: list[Any] = []

    def answer(self, part: str, name: str, given: list[Any]) -> Any:
        """Return an attribute of a part as JSON or, if it is a method, its result as JSON."""
        special: Callable[..., Any] | None = JSON_CONVERTERS.get((part, name))
        if special is not None:
            return special(self, *given)
        found = getattr(self._parts[part], name)
        return found(*given) if callable(found) else found

    def due(self, minute: float) -> list[list[Any]]:
        """Return the tasks due by `minute` of the story, each with the number to pass to `run`."""
        self._timers = list(self._broker.timers.due(minute))
        return [[place, one.kind, one.due] for place, one in enumerate(self._timers)]

    def run(self, number: int) -> None:
        """Run one of the tasks that `due` returned."""
        self._broker.timers.run(self._timers[number])

    def locks(self) -> dict[str, list[int]] | None:
        """Return the bundles and their owners."""
        found = self._broker.manager.locks()
        if found is None:
            return None
        return {name: [one.port, one.since] for name, one in found.items()}


JSON_CONVERTERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    ("timers", "due"): BrokerHost.due,
    ("timers", "run"): BrokerHost.run,
    ("manager", "locks"): BrokerHost.locks,
}
"""Functions that convert the values of some attributes and methods to JSON."""


def java_as_json(value: Any) -> Any:
    """Convert a Python or Java value to JSON."""
    if isinstance(value, set):
        return sorted(value)
    boxes = jpype.java.lang
    for kind, read in ((boxes.Boolean, bool), (boxes.Integer, int), (boxes.Double, float)):
        if isinstance(value, kind):
            return read(value)
    return value if isinstance(value, bool | int | float | dict | list | None) else str(value)


def end_with(suite: int) -> None:
    """Exit when the process that started this one exits."""
    poll = select.poll()
    poll.register(suite, 0)
    poll.poll()
    os._exit(1)


def main() -> None:
    """Answer requests until the pipe is closed."""
    options = json.loads(sys.argv[1])
    threading.Thread(target=end_with, args=(os.dup(0),), daemon=True).start()
    questions, answers = python_host.take_over_pipes()
    jars = [jar for folder in options["folders"] for jar in jvm.jars_in(Path(folder))]
    unpacked = Path(options["unpacked"])
    unpacked.mkdir(exist_ok=True)
    jvm.start_jvm(jars, (*OPTIONS, f"-Djava.io.tmpdir={unpacked}"))
    jpype.java.util.logging.LogManager.getLogManager().reset()
    from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout

    def reply(find: Callable[[], Any]) -> Any:
        try:
            answer = {"found": java_as_json(find())}
        except (ConditionTimeout, jpype.JException) as error:
            answer = {"failed": str(error)}
        python_host.write_whole(answers, json.dumps(answer).encode() + b"\n")

    made: list[BrokerHost] = []
    reply(lambda: made.append(BrokerHost(options)))
    for line in questions:
        part, name, given = json.loads(line)
        reply(partial(made[0].answer, part, name, given))
    os._exit(0)


if __name__ == "__main__":
    main()
