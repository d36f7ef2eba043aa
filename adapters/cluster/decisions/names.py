"""The names under which the brokers of a case are registered."""

from __future__ import annotations

from itertools import count

PORT = 8080


class BrokerNames:
    """Loopback addresses of a case's brokers, one each; only one of the brokers really runs.

    Different ports would not be enough, since isolation policies identify a broker by its host.
    """

    def __init__(self, running: str, registered: str) -> None:
        self._ids = {running: registered}
        self._hosts = count(2)

    def identify(self, name: str) -> str:
        """Return the name under which a broker is registered."""
        if name not in self._ids:
            number = next(self._hosts)
            self._ids[name] = f"127.0.{number // 256}.{number % 256}:{PORT}"
        return self._ids[name]

    def host(self, name: str) -> str:
        """Return a broker's address without the port."""
        return self.identify(name).partition(":")[0]

    def name(self, registered: object) -> str:
        """Return the name that a registered broker has in the case."""
        return next(name for name, one in self._ids.items() if one == str(registered))
