"""What is told of tables while they are made, in their order, whichever is there first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pulsar_conformance.conformance.history.audit.marks import Mark

Tell = Callable[[str, Mark | None], None]
"""Is told the name of each table: before it is made, and with its mark when it is there."""


class Progress:
    """Tables, of which those that are `stale` have to be made; their marks are as they come."""

    def __init__(
        self, tables: Sequence[str], stale: Sequence[str], marks: Mapping[str, Mark], tell: Tell
    ) -> None:
        self._ahead, self._open = list(tables), set(stale)
        self._unsaid = set(stale)
        self._marks, self._tell = marks, tell
        self._go_on()

    def done(self, table: str) -> None:
        """It is there."""
        self._open.remove(table)
        self._go_on()

    def _go_on(self) -> None:
        while self._ahead:
            table = self._ahead[0]
            if table in self._unsaid:
                self._unsaid.remove(table)
                self._tell(table, None)
            if table in self._open:
                return
            self._tell(table, self._marks[table])
            del self._ahead[0]
