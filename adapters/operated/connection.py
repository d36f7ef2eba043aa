"""Connection to `cluster:URL`, a user's own cluster, through its admin API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import AdminApi, BadUrl
from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.operated import stories
from pulsar_conformance.adapters.operated.address import DEFAULT_TIMEOUT_SECONDS, Address
from pulsar_conformance.adapters.operated.asked import AnswerableQuestions
from pulsar_conformance.adapters.operated.cluster_state import Reader
from pulsar_conformance.adapters.operated.looking import ClusterObserver, NoCluster
from pulsar_conformance.adapters.operated.remarks import remark_lines
from pulsar_conformance.adapters.operated.tenant import (
    ChangesLeftBehind,
    NotTheMainThread,
    changes_left_behind,
)
from pulsar_conformance.adapters.protocol import JSON, PROTOCOL, Hello
from pulsar_conformance.specs import load

BATCH = 20
"""Number of cases in a batch; they are answered one after another."""


class OperatedConnection(Connection):
    """Connection that reads a cluster's state when created, and answers questions from it."""

    def __init__(self, address: Address, name: str, profile: str) -> None:
        self.adapter = name
        self._api = AdminApi(address.access)
        self._looker: ClusterObserver | None = None
        try:
            self._looker = ClusterObserver.of(self._api, address.cluster)
            reader = Reader(self._api, self._looker)
            state = reader.read()
        except (NoAnswer, NoCluster) as error:
            self.close()
            raise AdapterError("start", str(error), "", "", name) from None
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.close()
            problem = f"the reply is not in Pulsar's format ({error!r})"
            raise AdapterError("start", problem, "", "", name) from None
        self._asked = AnswerableQuestions(state, reader)
        self._state = state
        rows = self._asked.questions_by_rule()
        if address.changes:
            for rule, row in stories.playable_stories(state):
                rows[rule] = (*rows.get(rule, ()), row)
        costly = (stories.REPLAY_OPERATION,) if address.changes else ()
        managers = {*state.managers().values(), *map(state.configured, state.classes)}
        self.hello = Hello(
            protocol=PROTOCOL,
            name=state.cluster,
            version=state.version,
            batch=BATCH,
            operations=(*self._asked.operations, *costly),
            costly=costly,
            manager=next(filter(None, sorted(filter(None, managers))), "modular"),
            own=rows,
        )
        defaults = load().defaults(profile)
        self._lines = [
            *remark_lines(state, defaults, changes=address.changes),
            *(f"{state.cluster}: {line}" for line in changes_left_behind(self._api, state)),
        ]

    @property
    def in_process(self) -> bool:
        """True, because cases are not serialized."""
        return True

    def remarks(self) -> list[str]:
        """Return remarks about the cluster, and the reasons why some questions are not asked."""
        return self._lines

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case, in order."""
        if operation not in self.hello.operations:
            problem = f"this cluster cannot answer {operation}"
            raise AdapterError("ask", problem, "", "", self.adapter, "unknown-operation")
        try:
            return [self._answer(operation, case) for case in batch]
        except (NoAnswer, ChangesLeftBehind, NotTheMainThread) as error:
            raise AdapterError("ask", str(error), "", "", self.adapter) from None

    def _answer(self, operation: str, case: Mapping[str, Any]) -> JSON:
        if operation == stories.REPLAY_OPERATION:
            return stories.play_story(self._api, self._state, case)
        return self._asked.answer(operation, case)

    def bye(self) -> None:
        """Close all connections; there is no process to stop."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._looker is not None:
            self._looker.close()
        self._api.close()


def connect_operated(rest: str, name: str, profile: str, limits: Limits) -> Connection:
    """Connect to a user's cluster by its admin URL. Errors: `AdapterError`."""
    seconds = DEFAULT_TIMEOUT_SECONDS if limits == Limits() else limits.base
    try:
        address = Address.parse(rest, seconds)
    except BadUrl as wrong:
        raise AdapterError("start", str(wrong), "", "", name) from None
    return OperatedConnection(address, name, profile)
