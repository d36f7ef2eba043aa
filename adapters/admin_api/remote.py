"""The admin API of a user's cluster, for reading and, if requested, for changes.

A token comes from the environment or a file. It is never sent over plain HTTP after a redirect from
TLS, and never appears in a message.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pulsar_conformance.adapters.admin_api.http import (
    FORBIDDEN_STATUSES,
    READ_METHOD,
    Client,
    NoAnswer,
    Reply,
)
from pulsar_conformance.specs.errors import UserError

TOKEN_VARIABLE = "PULSAR_CONFORMANCE_TOKEN"
"""The environment variable that holds a token."""

MIN_CHANGE_SECONDS = 30.0
"""Least timeout in seconds of a request for a change; an unload waits for its bundle to close."""


class BadUrl(UserError):
    """Raised if the user gives an unusable URL or option; the message says what to write
    instead.
    """


@dataclass(frozen=True)
class Access:
    """The admin URL of a cluster, and credentials.

    Attributes:
        base: scheme, host and port, such as `https://pulsar.example.com:8443`.
        token: the bearer token, or None.
        trust: a certificate file to trust instead of the system's certificates, or None.
        seconds: time limit for a request and its complete answer.
    """

    base: str
    token: str | None = field(default=None, repr=False)
    trust: Path | None = None
    seconds: float = 10.0

    @classmethod
    def of(
        cls, url: str, token_file: Path | None, trust: Path | None, seconds: float = 10.0
    ) -> Access:
        """Parse the options given by a user. Errors: `BadUrl`."""
        parts = _parse_admin_url(url)
        if parts.username is not None or parts.password is not None:
            raise BadUrl(
                f"a URL must not contain a secret: give a token in ${TOKEN_VARIABLE} or a file"
            )
        if parts.path.rstrip("/") or parts.query or parts.fragment:
            raise BadUrl(f"{url}: give only scheme, host and port, as in http://localhost:8080")
        token = os.environ.get(TOKEN_VARIABLE)
        if token_file is not None:
            try:
                token = token_file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise BadUrl(f"the token file {token_file} cannot be read: {error}") from None
        token = token.strip() if token else None
        if token and not (token.isascii() and token.isprintable()):
            raise BadUrl("the token is not valid in an HTTP header; give one line of ASCII")
        if trust is not None and not trust.is_file():
            raise BadUrl(f"the certificate file {trust} does not exist")
        return cls(f"{parts.scheme}://{parts.netloc}", token or None, trust, seconds)


def _parse_admin_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadUrl(f"{url} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadUrl(f"{url} is not an admin URL; give a URL such as http://localhost:8080")
    return parts


class AdminApi:
    """Client that sends requests to brokers over connections that stay open."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._client = Client(
            _check_stays_secure, token=access.token, trust=access.trust, keep=True
        )

    def url_of(self, broker: str) -> str:
        """Return the admin URL of a broker, which is registered as `host:port`."""
        return f"{urlsplit(self.access.base).scheme}://{broker}"

    def get(self, path: str, base: str | None = None, *, text: bool = False) -> Any:
        """Return a broker's answer as JSON, or as text if `text` is true.

        Errors: `NoAnswer`.
        """
        return self._send(READ_METHOD, path, None, base, self.access.seconds, text=text)

    def change(self, method: str, path: str, body: Any = None) -> None:
        """Send a request that changes the cluster; a `body` that is not text is sent as JSON.

        Errors: `NoAnswer`.
        """
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        self._send(
            method, path, content, None, max(self.access.seconds, MIN_CHANGE_SECONDS), text=True
        )

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _send(
        self,
        method: str,
        path: str,
        body: str | None,
        base: str | None,
        seconds: float,
        *,
        text: bool,
    ) -> Any:
        encoded = None if body is None else body.encode()
        url = f"{base or self.access.base}{path}"
        return _read_reply(self._client.ask(method, url, encoded, seconds), text=text)


def _check_stays_secure(url: str, to: str) -> None:
    """Check that a redirect does not lead from TLS to plain HTTP, which would expose the token.

    Errors: `NoAnswer`.
    """
    try:
        parts = _parse_admin_url(to)
    except BadUrl as wrong:
        raise NoAnswer(f"{url} redirects to an invalid URL: {wrong}") from None
    if urlsplit(url).scheme == "https" and parts.scheme != "https":
        raise NoAnswer(
            f"{url} redirects to plain HTTP at {parts.netloc}; such redirects are not followed"
        )


def _read_reply(reply: Reply, *, text: bool) -> Any:
    url, status = reply.url, reply.status
    if status in FORBIDDEN_STATUSES:
        raise NoAnswer(f"{url}: HTTP {status}: the token is missing or does not allow this", status)
    if not reply.is_success:
        raise NoAnswer(f"{url}: {reply.rejection}", status)
    try:
        return reply.read
    except (ValueError, RecursionError):
        if text:
            return reply.body.decode("utf-8", "replace").strip() or None
        begin = " ".join(reply.body[:60].decode("utf-8", "replace").split())
        problem = f"{url}: the answer is not JSON but {begin!r}; is this the admin URL of a broker?"
        raise NoAnswer(problem, status) from None
