"""`pulsar-conformance collect` gives one clear error if nothing can be recorded."""

import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.admin import FakeCluster


@pytest.fixture
def cluster():
    fake = FakeCluster()
    yield fake
    fake.close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:8080", "is not an admin URL"),
        ("ftp://localhost", "is not an admin URL"),
        ("http://", "is not an admin URL"),
        ("http://localhost:port", "is not a URL"),
        ("http://me:secret@localhost:8080", "a URL must not contain a secret"),
        ("http://localhost:8080/admin", "give only scheme, host and port"),
    ],
)
def test_a_url_that_is_none(url, said, tmp_path, capsys):
    assert main(["collect", url, "--output", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert "me:secret" not in err


def test_nobody_listens(tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert main(["collect", url, "--output", str(tmp_path)]) == 2
    assert "nothing listens there" in capsys.readouterr().err


def endless(handler):
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.is_set():
        handler.wfile.write(b" " * 100)
        time.sleep(0.01)


def html(handler):
    body = b"<html><body>Welcome</body></html>"
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def silent(handler):
    handler.server.over.wait(30)


def around(handler):
    handler.send_response(307)
    handler.send_header("Location", handler.path)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def nonsense(handler):
    handler.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (endless, "the answer was not complete within"),
        (html, "is this the admin URL of a broker?"),
        (silent, "no answer in time"),
        (around, "is redirected more than"),
        (nonsense, "does not speak HTTP"),
    ],
)
def test_whatever_answers_there_is_one_clear_error(answer, said, tmp_path, capsys):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            try:
                answer(self)
            except OSError:
                self.close_connection = True

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        server.over = threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        words = ["collect", url, "--output", str(tmp_path), "--time-limit", "0.5"]
        try:
            assert main(words) == 2
        finally:
            server.over.set()
            server.shutdown()
            thread.join()
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_tls_is_not_left_for_plain_http():
    from pulsar_conformance.adapters.admin_api.http import NoAnswer
    from pulsar_conformance.adapters.admin_api.remote import _check_stays_secure

    with pytest.raises(NoAnswer, match="redirects to plain HTTP at other:80"):
        _check_stays_secure("https://here:8443/admin", "http://other:80/admin")


def test_another_cluster_than_there_is(cluster, tmp_path, capsys):
    words = ["collect", cluster.url, "--output", str(tmp_path), "--cluster", "us-1"]
    assert main(words) == 2
    assert "--cluster us-1: there is no such cluster; choose from eu-1" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(cluster, tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("")
    assert main(["collect", cluster.url, "--output", str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_nothing_imports_a_jvm():
    module = "pulsar_conformance.audit.commands.collect"
    code = f"import sys, {module}; print('jpype' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert Path.cwd().exists()
