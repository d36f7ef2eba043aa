"""The admin API of a cluster of somebody's own: read, and changed where that is asked for.

A token comes from the environment or a file, goes to no host over plain HTTP that was reached by
TLS first, and stands in no message.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

from pulsar_conformance.specs.errors import UserError

TOKEN = "PULSAR_CONFORMANCE_TOKEN"
"""The environment variable that holds a token."""

LARGEST = 64 * 1024 * 1024
"""Bytes of an answer; a load report of 10,000 bundles has some 3 MB."""

CHUNK = 1 << 16
MOST_REDIRECTS = 5
READING = "GET"
CHANGING = 30.0
"""Seconds that a change may take at least: an unload waits for its bundle to be closed."""
FORBIDDEN = (401, 403)
REDIRECTS = (301, 302, 303, 307, 308)


class BadUrl(UserError):
    """A URL, or what belongs to it, that cannot be used: what, and what to write instead."""


class NoAnswer(UserError):
    """A request that was not answered as it should: which, and how.

    Attributes:
        status: of the answer, 0 where there was none.
    """

    def __init__(self, problem: str, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True)
class Access:
    """How a cluster is reached: its admin URL, and by what right.

    Attributes:
        base: scheme and host with port, such as `https://pulsar.example.com:8443`.
        token: sent as a bearer token, or none.
        trust: a file of certificates to trust instead of the system's, or none.
        seconds: how long one request may take, from its beginning to the end of its answer.
    """

    base: str
    token: str | None = field(default=None, repr=False)
    trust: Path | None = None
    seconds: float = 10.0

    @classmethod
    def of(
        cls, url: str, token_file: Path | None, trust: Path | None, seconds: float = 10.0
    ) -> Access:
        """From what a user gives. Errors: `BadUrl`."""
        parts = _split(url)
        if parts.username is not None or parts.password is not None:
            raise BadUrl(f"a URL holds no secret: give a token in ${TOKEN} or a file")
        if parts.path.rstrip("/") or parts.query or parts.fragment:
            raise BadUrl(f"{url}: write scheme, host and port alone, as in http://localhost:8080")
        token = os.environ.get(TOKEN)
        if token_file is not None:
            try:
                token = token_file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise BadUrl(f"the token file {token_file}: it cannot be read, {error}") from None
        token = token.strip() if token else None
        if token and not (token.isascii() and token.isprintable()):
            raise BadUrl("the token holds what no HTTP header can; it is one line of ASCII")
        if trust is not None and not trust.is_file():
            raise BadUrl(f"the certificates {trust}: there is no such file")
        return cls(f"{parts.scheme}://{parts.netloc}", token or None, trust, seconds)


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadUrl(f"{url} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadUrl(f"{url} is no admin URL; write it as in http://localhost:8080")
    return parts


class AdminApi:
    """Asks brokers, each over a connection that is kept."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._lines: dict[str, _Line] = {}
        self._lock = threading.Lock()

    def of(self, broker: str) -> str:
        """The admin URL of a broker, by its registered name `host:port`."""
        return f"{urlsplit(self.access.base).scheme}://{broker}"

    def get(self, path: str, base: str | None = None, *, text: bool = False) -> Any:
        """What a broker answers, as JSON; as it is where `text` may stand as well.

        Errors: `NoAnswer`.
        """
        return _read(*self._followed(READING, path, None, base), text=text)

    def change(self, method: str, path: str, body: Any = None) -> None:
        """Have something changed; a text is sent as it is, any other body as JSON.

        It is asked for once, whatever becomes of the connection. Errors: `NoAnswer`.
        """
        content = body if body is None or isinstance(body, str) else json.dumps(body)
        _read(*self._followed(method, path, content, None), text=True)

    def _followed(
        self, method: str, path: str, body: str | None, base: str | None
    ) -> tuple[str, int, bytes]:
        """URL, status and body of the answer at the end of all redirects. Errors: `NoAnswer`."""
        begun, patience = base or self.access.base, self.access.seconds
        patience = patience if method == READING else max(patience, CHANGING)
        url, end = f"{begun}{path}", time.monotonic() + patience
        for _ in range(MOST_REDIRECTS + 1):
            status, said, location = self._once(method, url, body, end)
            if status in REDIRECTS and location:
                to = urljoin(url, location)
                self._check(url, to)
                url = to
                continue
            return url, status, said
        raise NoAnswer(f"{begun}{path} is redirected more than {MOST_REDIRECTS} times")

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for line in self._lines.values():
                line.close()
            self._lines.clear()

    @staticmethod
    def _check(url: str, to: str) -> None:
        try:
            parts = _split(to)
        except BadUrl as wrong:
            raise NoAnswer(f"{url} redirects to what is no URL: {wrong}") from None
        if urlsplit(url).scheme == "https" and parts.scheme != "https":
            raise NoAnswer(f"{url} redirects to plain HTTP, at {parts.netloc}; not followed")

    def _once(
        self, method: str, url: str, body: str | None, end: float
    ) -> tuple[int, bytes, str | None]:
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}"
        with self._lock:
            line = self._lines.setdefault(base, _Line(base, self.access))
        path = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        return line.ask(method, path, body, end)


class _Line:
    """A connection to one host, made anew where it has broken; one request at a time."""

    def __init__(self, base: str, access: Access) -> None:
        self._base = base
        self._access = access
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: str | None, end: float
    ) -> tuple[int, bytes, str | None]:
        """Status, body and the place that a redirect names. Errors: `NoAnswer`."""
        with self._lock:
            if method != READING:
                self.close()  # of one that was kept nobody knows whether it still hears
            for kept in (self._connection is not None, False):
                try:
                    return self._ask(method, path, body, end)
                except (http.client.HTTPException, OSError, ValueError) as error:
                    self.close()
                    # A connection that was kept may have been closed meanwhile: once more.
                    gone = isinstance(error, http.client.RemoteDisconnected | ConnectionError)
                    if not (kept and gone):
                        raise NoAnswer(f"{self._base}{path}: {_told(error)}") from None
                except NoAnswer:
                    self.close()
                    raise
        raise AssertionError("the second attempt returns or raises")

    def close(self) -> None:
        """Close it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(
        self, method: str, path: str, body: str | None, end: float
    ) -> tuple[int, bytes, str | None]:
        if self._connection is None:
            self._connection = self._open()
        left = max(0.1, end - time.monotonic())
        self._connection.timeout = left
        if self._connection.sock is not None:
            self._connection.sock.settimeout(left)
        headers = {"Accept": "application/json, text/plain"}
        if self._access.token:
            headers["Authorization"] = f"Bearer {self._access.token}"
        content = None if body is None else body.encode()
        if method != READING:
            headers["Content-Type"] = "application/json"
        self._connection.request(method, path, content, headers)
        response = self._connection.getresponse()
        chunks, size = [], 0
        # read1 gives what is there; read would wait for the rest, however slowly it comes.
        while chunk := response.read1(CHUNK):
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST:
                raise NoAnswer(f"{self._base}{path}: more than {LARGEST} bytes; not read on")
            if time.monotonic() > end:
                seconds = self._access.seconds
                raise NoAnswer(f"{self._base}{path}: the answer has no end within {seconds:g} s")
        response.close()
        if response.will_close:
            self.close()
        return response.status, b"".join(chunks), response.getheader("Location")

    def _open(self) -> http.client.HTTPConnection:
        parts = urlsplit(self._base)
        assert parts.hostname is not None, "checked when it was split"
        if parts.scheme == "http":
            return http.client.HTTPConnection(parts.hostname, parts.port)
        trust = self._access.trust
        context = ssl.create_default_context(cafile=None if trust is None else str(trust))
        return http.client.HTTPSConnection(parts.hostname, parts.port, context=context)


def _told(error: Exception) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(error, ssl.SSLError):
        return f"TLS fails, {error.reason or error}"
    if isinstance(error, http.client.BadStatusLine):
        return "what answers does not speak HTTP"
    return str(error) or type(error).__name__


def _read(url: str, status: int, body: bytes, *, text: bool) -> Any:
    if status in FORBIDDEN:
        raise NoAnswer(f"{url}: HTTP {status}, not allowed with this token, or without", status)
    if not 200 <= status < 300:
        said = " ".join(body[:200].decode("utf-8", "replace").split())
        raise NoAnswer(f"{url}: HTTP {status}, {said or 'without a reason'}", status)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        if text:
            return body.decode("utf-8", "replace").strip() or None
        begin = " ".join(body[:60].decode("utf-8", "replace").split())
        problem = f"{url}: no JSON, but {begin!r}; is this the admin URL of a broker?"
        raise NoAnswer(problem, status) from None
