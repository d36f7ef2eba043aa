"""A server process that has imported the suite and runs each command of a shell in a fork.

A command in the shell is a small client: it passes on its arguments, folder, environment and files,
and exits with the status of the fork.
"""

import json
import os
import socket
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress

CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
asked = {{"words": sys.argv[1:], "program": {program!r}, "folder": os.getcwd()}}
asked["environment"] = dict(os.environ)
socket.send_fds(server, [(json.dumps(asked) + "\\n").encode()], [0, 1, 2])
sys.exit(int(server.makefile().read() or 70))
"""
"""Source of a client command. Its exit status is 70 if its fork was killed."""


FEW, RULES = ["--examples", "2"], ["--rules", "OVERLOAD-*", "--rules", "BUNDLE-0*"]
REPORTED = "A_REPORT_IS_MADE"
"""Environment variable that is set for pages which make a report of a run."""


def client(file, address, program):
    """Write a command to `file` that runs `program` in the server at an address."""
    file.write_text(
        CLIENT.format(python=sys.executable, address=str(address), program=program), "utf-8"
    )
    file.chmod(0o755)


@contextmanager
def serving(address):
    """Serve commands at an address."""
    server = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)
    try:
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.kill()
        server.wait()


def cheaper(program, words):
    """Return the arguments of a `pulsar-conformance` command, changed so that it draws few cases.

    A run also judges few rules, unless a report is made of it.
    """
    if program == "nox":
        words = ["run", *words[3:]]
    if words[:1] != ["run"]:
        return words
    if "--examples" in words:
        place = words.index("--examples")
        words = [*words[:place], *words[place + 2 :]]
    asks = {"--rules", "--replay", "--campaign"}.intersection(words)
    rules = [] if asks or (program != "nox" and os.environ.get(REPORTED)) else RULES
    return ["run", *([] if "--campaign" in words else FEW), *rules, *words[1:]]


def serve(address):
    """Run each command that a client requests in a fork of this process."""
    from pulsar_conformance.conformance.commands.main import COMMANDS, main, module_of
    from pulsar_conformance.specs import load

    for name in COMMANDS:
        module_of(name)
    load()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen()
    print("ready", flush=True)
    while True:
        asking, _ = listening.accept()
        reap()
        if os.fork() == 0:
            listening.close()
            answer(asking, lambda asked: main(cheaper(asked["program"], asked["words"])))
        asking.close()


def reap():
    """Reap the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def answer(asking, work):
    """Run a client's command as if the client had started it; end this process with its status."""
    status = 1
    try:
        said, files, _, _ = socket.recv_fds(asking, 1 << 20, 3)
        while not said.endswith(b"\n"):
            said += asking.recv(1 << 20)
        asked = json.loads(said)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(asked["folder"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.argv = [asked["program"], *asked["words"]]
        status = work(asked)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    asking.sendall(str(int(status or 0)).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(*sys.argv[1:])
