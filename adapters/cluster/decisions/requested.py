"""Recording the leader's requests to brokers; they are reported as successful, but not executed."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pulsar_conformance.adapters.admin_api.requests import ADMIN
from pulsar_conformance.adapters.cluster.loopback import LOOPBACK
from pulsar_conformance.adapters.pulsar.jvm import Java, field, java_class

NAMESPACES = f"{ADMIN}/namespaces/"


@dataclass(frozen=True)
class RecordedRequest:
    """A request to unload or to split a bundle.

    `what` is `unload` or `split`. `unload` is true if the request asks to unload the parts after
    the split.
    """

    what: str
    bundle: str
    unload: bool


class RequestRecorder:
    """A web server that receives the leader's requests in place of the brokers."""

    def __init__(self) -> None:
        self.recorded: list[RecordedRequest] = []
        """The recorded requests, in the order of arrival."""
        recorded = self.recorded

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                """Record an unload or a split."""
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                recorded.append(_parse_request(self.path))
                self.send_response(HTTPStatus.NO_CONTENT)
                self.end_headers()

            def log_message(self, *_given: Any) -> None:
                """Do not log requests."""

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def receive_requests_of(self, service: Java) -> None:
        """Redirect a broker's admin client to this server."""
        client = field(service, "adminClient")
        former = client.get(service)
        url = f"http://{LOOPBACK}:{self.port}"
        builder = java_class("org.apache.pulsar.client.admin.PulsarAdmin").builder()
        client.set(service, builder.serviceHttpUrl(url).build())
        if former is not None:
            former.close()
        self.recorded.clear()


def _parse_request(path: str) -> RecordedRequest:
    parts = urlsplit(path)
    bundle, _, what = parts.path.removeprefix(NAMESPACES).rpartition("/")
    return RecordedRequest(what, bundle, parse_qs(parts.query).get("unload") == ["true"])
