"""The client of an admin API: TLS, tokens, redirects, kept connections and time limits."""

import shutil
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest
from pulsar_conformance.adapters.admin_api.http import Client, NoAnswer
from pulsar_conformance.adapters.admin_api.remote import Access, AdminApi
from pulsar_conformance.adapters.cluster import loopback
from standins.admin import Server


@contextmanager
def server(answer, certificate=None):
    """Start a server; provide its port and the requests: method, path, token and connection."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            token = self.headers.get("Authorization")
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append((self.command, self.path, token, self.client_address[1]))
            answer(self)

        def do_PUT(self):
            self.do_GET()

        def log_message(self, *words):
            pass

    with Server(("127.0.0.1", 0), Handler) as running:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            running.socket = context.wrap_socket(running.socket, server_side=True)
        running.daemon_threads = True
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running.server_address[1], asked
        running.shutdown()


def says(status, body=b"{}", **headers):
    def answer(handler):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Create a self-signed certificate for 127.0.0.1, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext"
    words = [*words.split(), "subjectAltName=IP:127.0.0.1"]
    files = [folder / "certificate.pem", folder / "key.pem"]
    made = ["-out", files[0], "-keyout", files[1]]
    subprocess.run(["openssl", *words, *made], check=True, capture_output=True)
    return files


def test_a_certificate_has_to_be_trusted_and_then_the_token_is_sent(certificate):
    with server(says(200), certificate) as (port, asked):
        url = f"https://127.0.0.1:{port}"
        with pytest.raises(NoAnswer, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
            AdminApi(Access(url, "secret")).get("/one")
        assert asked == []
        assert AdminApi(Access(url, "secret", trust=certificate[0])).get("/one") == {}
        assert [token for _, _, token, _ in asked] == ["Bearer secret"]


def test_no_token_goes_from_tls_to_plain_http(certificate):
    with server(says(200)) as (plain, seen):
        away = says(307, Location=f"http://127.0.0.1:{plain}/two")
        with server(away, certificate) as (port, _):
            access = Access(f"https://127.0.0.1:{port}", "secret", trust=certificate[0])
            with pytest.raises(NoAnswer, match="redirects to plain HTTP"):
                AdminApi(access).get("/one")
        assert seen == []


def test_a_redirect_to_another_broker_is_followed_with_the_token():
    with server(says(200, b'"here"')) as (other, seen):
        away = says(307, Location=f"http://127.0.0.1:{other}/two?authoritative=true")
        with server(away) as (port, _):
            assert AdminApi(Access(f"http://127.0.0.1:{port}", "secret")).get("/one") == "here"
            assert seen[0][:3] == ("GET", "/two?authoritative=true", "Bearer secret")
            reply = loopback.ask("PUT", port, "/one", {})
    assert (reply.port, reply.text) == (other, "here")
    assert [(hop.port, hop.authoritative) for hop in reply.hops] == [(port, True)]


def test_a_cluster_on_loopback_redirects_nowhere_else():
    with (
        server(says(307, Location="http://example.com:80/")) as (port, _),
        pytest.raises(NoAnswer, match="not on loopback"),
    ):
        loopback.ask("GET", port, "/")


def test_reading_keeps_its_connection_and_a_change_gets_its_own():
    with server(says(200)) as (port, asked):
        api = AdminApi(Access(f"http://127.0.0.1:{port}"))
        api.get("/one")
        api.get("/two")
        api.change("PUT", "/three", {})
        api.get("/four")
        api.close()
    connections = {path: connection for _, path, _, connection in asked}
    assert connections["/one"] == connections["/two"] == connections["/four"]
    assert connections["/three"] != connections["/one"]


def test_a_kept_connection_that_was_closed_is_made_again_and_no_change_is_sent_twice():
    def ends(handler):
        connections = [connection for *_, connection in asked]
        if handler.command == "GET" and connections.count(connections[-1]) == 1:
            says(200)(handler)
        else:
            handler.close_connection = True

    with server(ends) as (port, asked):
        api = AdminApi(Access(f"http://127.0.0.1:{port}"))
        assert api.get("/one") == {}
        assert api.get("/two") == {}
        assert [path for _, path, *_ in asked] == ["/one", "/two", "/two"]
        with pytest.raises(NoAnswer):
            api.change("PUT", "/three")
        assert [path for _, path, *_ in asked].count("/three") == 1


def test_the_time_limit_holds_for_all_redirects_together():
    def slowly(handler):
        time.sleep(0.2)
        says(307, Location=handler.path)(handler)

    with server(slowly) as (port, asked):
        client = Client(lambda url, to: None, keep=True)
        began = time.monotonic()
        with pytest.raises(NoAnswer, match="no answer in time"):
            client.ask("GET", f"http://127.0.0.1:{port}/", None, 0.5)
        assert time.monotonic() - began < 1.0
    assert len(asked) < 5
