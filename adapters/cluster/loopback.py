"""Requests to brokers on loopback; a redirect to another host is an error."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from pulsar_conformance.adapters.admin_api.http import Client, NoAnswer, Reply

LOOPBACK = "127.0.0.1"
SECONDS = 30.0
"""Time limit of a request in seconds: an unload waits until its bundle is closed."""


@dataclass(frozen=True)
class Ports:
    """A broker's two ports, which stay the same when it restarts.

    They are reserved while this object lives: its sockets are bound but do not listen. Servers that
    set SO_REUSEADDR, as brokers do, can still bind the ports.
    """

    web: int
    binary: int
    reserved: tuple[socket.socket, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def reserve(cls) -> Ports:
        """Return two ports that no other process uses or can get."""
        sockets = socket.socket(), socket.socket()
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((LOOPBACK, 0))
        web, binary = (one.getsockname()[1] for one in sockets)
        return cls(web, binary, sockets)

    @property
    def broker(self) -> str:
        """The broker's registered name, such as `127.0.0.1:8080`."""
        return f"{LOOPBACK}:{self.web}"


def _guard(url: str, to: str) -> None:
    parts = urlsplit(to)
    if parts.hostname != LOOPBACK or parts.port is None:
        raise NoAnswer(f"{url} redirects to {to}, which is not on loopback")


# Brokers crash and return at the same ports, so connections are not reused.
_CLIENT = Client(_guard, keep=False)


def ask(method: str, port: int, path: str, body: Any = None, seconds: float = SECONDS) -> Reply:
    """Send a request to a port and follow redirects. Errors: `NoAnswer`.

    A body that is text is sent unchanged, any other as JSON.
    """
    content = body if body is None or isinstance(body, str) else json.dumps(body)
    encoded = None if content is None else content.encode()
    return _CLIENT.ask(method, f"http://{LOOPBACK}:{port}{path}", encoded, seconds)
