"""A debugger attaches to the implementation, and not to what the suite runs beside it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pulsar_conformance.adapters.programs import major_version

BROKEN = Path(__file__).parents[1] / "standins" / "broken.py"
MAIN = "from pulsar_conformance.conformance.__main__ import entry; entry()"
AGENT = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y,address=0"
LISTENING = "Listening for transport dt_socket at address: "


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"])
def test_java_tells_its_version_without_waiting_for_a_debugger(variable, monkeypatch):
    expected = major_version("java", "-version")
    monkeypatch.setenv(variable, "-XX:NoSuchOption")
    assert expected is not None
    assert major_version("java", "-version") == expected


def asked(adapter, **environment):
    """Start `ask`, which waits for a debugger; return it and the line that says so."""
    words = ["ask", adapter, "--judge-by", "documented-3.0", "--time-limit", "60"]
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *words],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, process.stderr.readline()


def terminated(process):
    """End `ask` by SIGTERM; return its exit status and which of its processes are left."""
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    _, left = psutil.wait_procs(children, timeout=10)
    for one in left:
        one.kill()
    return process.returncode, left


def test_ask_says_at_once_where_a_debugger_can_attach_and_ends_what_waits_for_one():
    process, said = asked(f"exec:{sys.executable} {BROKEN} waits_for_a_debugger")
    assert said == f"{LISTENING}5005\n"
    assert terminated(process) == (128 + signal.SIGTERM, [])


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17")
def test_a_release_waits_for_a_debugger_in_the_process_of_the_class():
    pytest.importorskip("jpype", reason="needs the extra pulsar")
    process, said = asked("pulsar:3.0.7", JAVA_TOOL_OPTIONS=AGENT)
    assert said.startswith(LISTENING)
    [host] = psutil.Process(process.pid).children()
    assert any("python_host" in word for word in host.cmdline())
    assert terminated(process) == (128 + signal.SIGTERM, [])
