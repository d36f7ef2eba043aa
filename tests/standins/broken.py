"""An implementation with one bug, `python broken.py BUG`; without `BUG`, it has no bug."""

import json
import os
import signal
import subprocess
import sys
import time

BUG = sys.argv[1] if len(sys.argv) > 1 else ""
OUT = sys.stdout.buffer
HELLO = {"protocol": 1, "name": "broken", "batch": 10, "operations": ["shed.select", "usage.max"]}
BUNDLE = "t/ns/0x00000000_0xffffffff"
GOOD = {"unload": [{"broker": "b", "bundle": BUNDLE}]}


def say(message):
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    OUT.write(line + b"\n")
    OUT.flush()


def hang():
    print("now I hang", file=sys.stderr, flush=True)
    time.sleep(60)


def start_grandchild(ignoring_term=False):
    trap = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" if ignoring_term else ""
    subprocess.Popen([sys.executable, "-c", f"{trap}import time; time.sleep(60)"])


def hello(number):
    answers = {
        "speaks_protocol_2": {**HELLO, "protocol": 2},
        "has_no_name": {"protocol": 1, "operations": []},
        "offers_a_batch_of_0": {**HELLO, "batch": 0},
    }
    if BUG == "hangs_at_hello":
        hang()
    if BUG == "greets_with_an_error":
        return say({"id": number, "error": {"code": "config", "message": "no broker.conf"}})
    if BUG == "echoes":
        return say({"id": number, "ask": "hello"})
    if BUG == "prints_a_banner":
        say(b"My Balancer 1.0, ready")
    return say({"id": number, "answer": answers.get(BUG, HELLO)})


def ask(number, cases):
    good = {"id": number, "answers": [GOOD] * len(cases)}
    text = json.dumps(good).encode()
    replies = {
        "answers_with_text": b"ok",
        "answers_with_a_list": b"[1, 2]",
        "answers_with_duplicate_keys": text.replace(b'"unload"', b'"unload": [], "unload"', 1),
        "answers_with_nan": b'{"id": 2, "answers": [{"percent": NaN, "resource": null}]}',
        "answers_with_too_large_a_number": b'{"id": 2, "answers": [{"percent": 1e999}]}',
        "answers_with_another_id": {**good, "id": 77},
        "answers_without_an_id": {"answers": good["answers"]},
        "answers_with_true_for_an_id": {**good, "id": True},
        "answers_too_few": {**good, "answers": good["answers"][1:]},
        "answers_too_many": {**good, "answers": [*good["answers"], GOOD]},
        "answers_nothing": {"id": number},
        "answers_outside_the_schema": {
            **good,
            "answers": [
                *good["answers"][1:],
                {"unload": [GOOD["unload"][0], {"broker": "b", "bundle": "T/NS/0x1_0x2"}]},
            ],
        },
        "answers_with_an_unknown_key": {**good, "answers": [{**GOOD, "score": 1}] * len(cases)},
        "answers_with_an_error": {"id": number, "error": {"code": "internal", "message": "oh"}},
        "answers_in_latin_1": '{"id": 2, "answers": [{"refused": "é"}]}'.encode("latin-1"),
        "answers_after_the_line_end": text + b"\n" + text,
    }
    if BUG == "exits_in_mid_batch":
        print("fatal: out of luck", file=sys.stderr)
        sys.exit(7)
    if BUG == "is_killed_in_mid_batch":
        os.kill(os.getpid(), signal.SIGKILL)
    if BUG == "exits_within_a_line":
        OUT.write(text[:20])
        OUT.flush()
        sys.exit(0)
    if BUG == "leaves_a_grandchild_in_mid_batch":
        start_grandchild(ignoring_term=True)
        sys.exit(3)
    if BUG == "hangs_in_a_batch":
        hang()
    if BUG == "writes_half_a_line":
        OUT.write(text[:20])
        OUT.flush()
        hang()
    if BUG == "floods_stdout":
        while True:
            OUT.write(b"x" * 65536)
    if BUG == "closes_stdout":
        os.close(1)
        hang()
    if BUG == "floods_stderr":
        for _ in range(200):
            os.write(2, b"noise " * 2000 + b"\n")
    say(replies.get(BUG, good))


def main():
    if BUG == "exits_at_once":
        print("no licence found", file=sys.stderr)
        sys.exit(5)
    if BUG == "waits_for_a_debugger":
        print("Listening for transport dt_socket at address: 5005", file=sys.stderr, flush=True)
        time.sleep(60)
    if BUG == "ignores_sigterm_and_hangs":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        hang()
    while line := sys.stdin.readline():
        message = json.loads(line)
        if message["ask"] == "hello":
            hello(message["id"])
            if BUG == "stops_reading":
                hang()
        elif message["ask"] != "bye":
            ask(message["id"], message["cases"])
        elif BUG == "ignores_bye":
            hang()
        elif BUG == "leaves_a_grandchild":
            start_grandchild()
            return
        else:
            return


main()
