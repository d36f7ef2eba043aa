"""HTTP to brokers on loopback, with every redirect that was followed."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = "127.0.0.1"
MOST_REDIRECTS = 8
SECONDS = 30.0
"""How long a broker may take for an answer: an unload waits for its bundle to be closed."""

REDIRECTS = (301, 302, 307, 308)


class Unreachable(Exception):
    """A broker did not answer; which, and how."""


@dataclass(frozen=True)
class Hop:
    """A broker that passed a request on, and whether it said that the next one may decide."""

    port: int
    authoritative: bool


@dataclass(frozen=True)
class Reply:
    """What came back, from the broker at a port, after these hops."""

    status: int
    body: bytes
    port: int
    hops: tuple[Hop, ...] = ()

    @property
    def fine(self) -> bool:
        """Whether the request was granted."""
        return 200 <= self.status < 300

    @property
    def read(self) -> Any:
        """The body, as JSON. Errors: ValueError."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body, as a text that may stand in quotes."""
        return self.body.decode().strip().strip('"')

    @property
    def why(self) -> str:
        """The broker's own words, in one line."""
        try:
            said = self.read
        except ValueError:
            said = None
        reason = said.get("reason") if isinstance(said, dict) else None
        text = reason or self.body.decode("utf-8", "replace")
        told = " ".join(str(text).split()).partition(" Stacktrace:")[0]
        return f"HTTP {self.status}: {told[:300]}"


def ask(
    method: str,
    port: int,
    path: str,
    body: Any = None,
    *,
    plain: bool = False,
    seconds: float = SECONDS,
) -> Reply:
    """Ask the broker at a port, and whomever it names. Errors: `Unreachable`.

    The body is JSON, or the text itself where it is plain.
    """
    content = None
    if body is not None:
        content = str(body).encode() if plain else json.dumps(body).encode()
    hops: list[Hop] = []
    for _ in range(MOST_REDIRECTS):
        status, said, location = _once(method, port, path, content, seconds)
        if status not in REDIRECTS or not location:
            return Reply(status, said, port, tuple(hops))
        to = urlsplit(location)
        if to.hostname != LOOPBACK or to.port is None:
            raise Unreachable(f"the broker at port {port} redirects to {location}, elsewhere")
        told = parse_qs(to.query).get("authoritative", ["false"])
        hops.append(Hop(port, told[-1] == "true"))
        port, path = to.port, f"{to.path}?{to.query}" if to.query else to.path
    raise Unreachable(f"{path} is redirected more than {MOST_REDIRECTS} times")


def _once(
    method: str, port: int, path: str, content: bytes | None, seconds: float
) -> tuple[int, bytes, str | None]:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=seconds)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read(), response.getheader("Location")
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"the broker at port {port} does not answer: {error!r}") from None
    finally:
        connection.close()
