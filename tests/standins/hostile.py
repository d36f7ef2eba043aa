"""A malicious implementation, which offers `usage.max`: `python hostile.py TRAIT`."""

import json
import os
import signal
import subprocess
import sys
import time

TRAIT = sys.argv[1]
HELLO = {"protocol": 1, "name": "hostile", "batch": 10, "operations": ["usage.max"]}
SLEEP = "import time; time.sleep(120)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
TWICE = (
    "import subprocess, sys; "
    f"subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
)

GREETINGS = {
    "half a pair in its name": '{"id": 1, "answer": {"protocol": 1, "name": "a\\ud800"}}',
    "a name that is a list": {**HELLO, "name": ["hostile"]},
    "operations that are a text": {**HELLO, "operations": "usage.max"},
    "a batch that is a text": {**HELLO, "batch": "10"},
    "a batch below zero": {**HELLO, "batch": -1},
    "a protocol that is a text": {**HELLO, "protocol": "1"},
    "an error with escape codes": (
        r'{"id": 1, "error": {"code": "\u001b[2J", "message": "\u009b1m"}}'
    ),
    "an error that is a number": '{"id": 1, "error": 7}',
    "a byte order mark": "\ufeff" + json.dumps({"id": 1, "answer": HELLO}),
    "an escape code before its line": "\x1b[31m" + json.dumps({"id": 1, "answer": HELLO}),
    "an empty line first": "\n" + json.dumps({"id": 1, "answer": HELLO}),
    "two lines in one": json.dumps({"id": 1, "answer": HELLO}) * 2,
}
ANSWERS = {
    "half a pair in an answer": '{"failed": "\\ud800"}',
    "half a pair in a key": '{"\\udc00": 1}',
    "pairs the wrong way round": '{"failed": "\\udc00\\ud800"}',
    "half a pair in capitals": '{"refused": "\\uDBFF"}',
    "deep lists": "[" * 100_000 + "]" * 100_000,
    "an integer without end": '{"percent": ' + "9" * 10_000 + "}",
    "a key twice": '{"percent": 1, "percent": 2, "resource": null}',
    "minus infinity": '{"percent": -Infinity, "resource": null}',
    "no answer at all": "null",
    "a text for a number": '{"percent": "50", "resource": null}',
    "true for a number": '{"percent": true, "resource": null}',
    "escape codes for a resource": '{"percent": 1, "resource": "\\u001b]0;owned\\u0007"}',
    "a NUL in its line": '{"percent": 1, "resource": null}\x00',
    "an answer and a comment": '{"percent": 1, "resource": null} // fine',
    "single quotes": "{'percent': 1}",
}


def say(line):
    text = line if isinstance(line, str) else json.dumps(line)
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()


def leave_behind():
    """Start a process that should not outlive this one, then exit in the middle of a message."""
    new = {"start_new_session": True}
    if TRAIT == "a child in a session of its own":
        subprocess.Popen([sys.executable, "-c", SLEEP], **new)
    if TRAIT == "a child that does not hear":
        subprocess.Popen([sys.executable, "-c", DEAF], **new)
    if TRAIT == "a grandchild two sessions away":
        subprocess.run([sys.executable, "-c", TWICE], **new, check=True)
    if TRAIT == "a daemon":
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(120)
            os._exit(0)
        os.wait()
    if TRAIT == "children without end":
        for _ in range(20):
            subprocess.Popen([sys.executable, "-c", SLEEP], **new)
    time.sleep(0.3)
    os._exit(9)


def ask(number, count):
    if TRAIT in ANSWERS:
        say(f'{{"id": {number}, "answers": [{", ".join([ANSWERS[TRAIT]] * count)}]}}')
        return
    if TRAIT == "escape codes on standard error":
        print("\x1b[2J\x1b]0;owned\x07\u202egnp.exe\x9b31m", file=sys.stderr, flush=True)
        os._exit(1)
    if TRAIT == "silence":
        time.sleep(120)
    if TRAIT == "a stop of itself":
        os.kill(os.getpid(), signal.SIGSTOP)
    if TRAIT == "standard error without end":
        while True:
            os.write(2, b"\x1b[31m" * 10_000)
    if TRAIT == "a line without end":
        while True:
            os.write(1, b" " * 65536)
    leave_behind()


for line in sys.stdin:
    message = json.loads(line)
    if message["ask"] == "bye":
        break
    if message["ask"] != "hello":
        ask(message["id"], len(message["cases"]))
    elif TRAIT == "silence from the start":
        time.sleep(120)
    elif TRAIT in GREETINGS:
        greeting = GREETINGS[TRAIT]
        say(greeting if isinstance(greeting, str) else {"id": 1, "answer": greeting})
    else:
        say({"id": message["id"], "answer": HELLO})
