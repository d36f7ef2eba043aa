"""HTTP requests to brokers, with redirects that the caller's `Guard` permits.

One time limit covers a request and all its redirects.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import urllib3
from urllib3 import exceptions as failures

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""Maximum size of an answer in bytes; a load report of 10,000 bundles is about 3 MB."""

CHUNK = 1 << 16
MAX_HOSTS = 1000
MAX_REDIRECTS = 8
READ_METHOD = "GET"
REDIRECT_STATUSES = (301, 302, 303, 307, 308)
FORBIDDEN_STATUSES = (401, 403)


class NoAnswer(Exception):
    """Raised if a request gets no usable answer; the message gives the URL and the reason.

    Attributes:
        status: HTTP status of the answer; 0 if there was none.
    """

    def __init__(self, problem: str, status: int = 0) -> None:
        super().__init__(problem)
        self.status = status


@dataclass(frozen=True)
class FollowedRedirect:
    """A redirect from one URL to another."""

    url: str
    to: str

    @property
    def port(self) -> int:
        """The port of the redirecting broker."""
        return urlsplit(self.url).port or 0

    @property
    def authoritative(self) -> bool:
        """True if the redirect requires the next broker to answer the request itself."""
        return parse_qs(urlsplit(self.to).query).get("authoritative", ["false"])[-1] == "true"


@dataclass(frozen=True)
class Reply:
    """An answer, the URL of the broker that sent it, and the redirects before it."""

    url: str
    status: int
    body: bytes
    hops: tuple[FollowedRedirect, ...] = ()

    @property
    def port(self) -> int:
        """The port of the answering broker."""
        return urlsplit(self.url).port or 0

    @property
    def is_success(self) -> bool:
        """True if the request succeeded."""
        return 200 <= self.status < 300

    @property
    def read(self) -> Any:
        """The body, parsed as JSON. Errors: `ValueError`."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text, without surrounding quotes."""
        return self.body.decode().strip().strip('"')

    @property
    def rejection(self) -> str:
        """The HTTP status and the reason that the broker gives, as one line."""
        try:
            said = self.read
        except ValueError:
            said = None
        reason = said.get("reason") if isinstance(said, dict) else None
        text = reason or self.body.decode("utf-8", "replace")
        line = " ".join(str(text).split()).partition(" Stacktrace:")[0]
        return f"HTTP {self.status}: {line[:300] or 'no reason given'}"


Guard = Callable[[str, str], None]
"""Function that checks a redirect from the first URL to the second; it raises `NoAnswer` to stop
it.
"""


class Client:
    """Sends HTTP requests, at most one at a time to each host. Threads may share a client.

    With `keep`, connections for read requests are reused. A request that changes something always
    uses a new connection: if the broker had already closed a reused connection, the caller could
    not know whether the change was made.
    """

    def __init__(
        self, guard: Guard, *, token: str | None = None, trust: Path | None = None, keep: bool
    ) -> None:
        self._guard = guard
        self._headers = {"Accept": "application/json, text/plain"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._trust = None if trust is None else str(trust)
        self._kept = self._pools() if keep else None

    def _pools(self, **headers: str) -> urllib3.PoolManager:
        return urllib3.PoolManager(
            MAX_HOSTS,
            {**self._headers, **headers},
            maxsize=1,
            block=True,
            retries=False,
            ca_certs=self._trust,
        )

    def ask(self, method: str, url: str, body: bytes | None, seconds: float) -> Reply:
        """Return the answer after all redirects, whatever its status.

        A request that changes something is sent only once, even if the connection fails. Errors:
        `NoAnswer`.
        """
        end, begun = time.monotonic() + seconds, url
        hops: list[FollowedRedirect] = []
        while len(hops) <= MAX_REDIRECTS:
            status, content, location = self._send(method, url, body, end, seconds)
            if status not in REDIRECT_STATUSES or not location:
                return Reply(url, status, content, tuple(hops))
            hops.append(FollowedRedirect(url, urljoin(url, location)))
            self._guard(url, hops[-1].to)
            url = hops[-1].to
        raise NoAnswer(f"{begun} is redirected more than {MAX_REDIRECTS} times")

    def close(self) -> None:
        """Close all connections."""
        if self._kept is not None:
            self._kept.clear()

    def _send(
        self, method: str, url: str, body: bytes | None, end: float, seconds: float
    ) -> tuple[int, bytes, str | None]:
        """Return status, body, and the URL to which the answer redirects. Errors: `NoAnswer`."""
        try:
            if self._kept is not None and method == READ_METHOD:
                # If the broker had closed the reused connection, a new one is opened below.
                with suppress(failures.ProtocolError):
                    return self._exchange(self._kept, method, url, body, end, seconds)
            once = {} if method == READ_METHOD else {"Content-Type": "application/json"}
            with self._pools(Connection="close", **once) as pools:
                return self._exchange(pools, method, url, body, end, seconds)
        except (failures.HTTPError, OSError, ValueError) as error:
            raise NoAnswer(f"{url}: {_failure_text(error)}") from None

    def _exchange(
        self,
        pools: urllib3.PoolManager,
        method: str,
        url: str,
        body: bytes | None,
        end: float,
        seconds: float,
    ) -> tuple[int, bytes, str | None]:
        left = max(0.1, end - time.monotonic())
        timeout = urllib3.Timeout(total=left)
        response = pools.request(
            method, url, body=body, timeout=timeout, redirect=False, preload_content=False
        )
        try:
            content = b""
            # read1 returns what has arrived; read would wait for the rest, however slow it is.
            while chunk := response.read1(CHUNK):
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise NoAnswer(f"{url}: the answer is longer than {MAX_ANSWER_BYTES} bytes")
                if time.monotonic() > end:
                    raise NoAnswer(f"{url}: the answer was not complete within {seconds:g} s")
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response.status, content, response.headers.get("Location")


def _failure_text(error: BaseException) -> str:
    """Return a short text on why there is no answer."""
    causes = [error, error.__cause__, error.__context__, *error.args]
    for kind, words in FAILURE_REASONS.items():
        if any(type(one) is kind for one in causes):
            return words
    if isinstance(error, failures.NewConnectionError):
        return str(error.__cause__ or error)
    if isinstance(error, failures.TimeoutError):
        return "no answer in time"
    if isinstance(error, failures.SSLError):
        return f"TLS failed: {getattr(error.args[0], 'reason', None) or error}"
    return str(error) or type(error).__name__


FAILURE_REASONS: Mapping[type[BaseException], str] = {
    ConnectionRefusedError: "nothing listens there",
    http.client.BadStatusLine: "the server does not speak HTTP",
    failures.NameResolutionError: "there is no such host",
}
