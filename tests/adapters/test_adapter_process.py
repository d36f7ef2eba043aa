"""Each kind of failure of a child process has a different error, and no process is left running."""

import pickle
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pulsar_conformance.adapters import AdapterError, Limits, child, process
from pulsar_conformance.adapters.child import Child
from pulsar_conformance.adapters.names import connect

BROKEN = Path(__file__).parents[1] / "standins" / "broken.py"
PATIENT = Limits(start=20.0, base=20.0, per_case=0.0, output_bytes=1 << 20, end=10.0)
SHORT = replace(PATIENT, start=4.0, base=0.4)
SHORT_END = replace(PATIENT, end=0.4)
GONE_WITHIN = 20.0
CASE = {"strategy": None, "settings": {}, "brokers": {}, "bundles": {}, "recentlyUnloaded": {}}

AT_HELLO = {
    "exits_at_once": ["hello: exited with status 5", "no licence found", "run it by hand"],
    "ignores_sigterm_and_hangs": ["hello: wrote nothing for 4 s", "flush standard output"],
    "hangs_at_hello": ["hello: wrote nothing for 4 s, the time limit", "now I hang"],
    "speaks_protocol_2": ["speaks protocol 2; this suite speaks protocol 1"],
    "has_no_name": ['hello: answer: "name" is a required property', "schema message"],
    "offers_a_batch_of_0": ["answer.batch: 0 is less than the minimum of 1"],
    "greets_with_an_error": ["answered with an error, config: no broker.conf"],
    "echoes": ["its message has ask, id instead of answer"],
    "prints_a_banner": ["its line isn't JSON", "'My Balancer 1.0, ready'", "print only messages"],
}

IN_A_BATCH = {
    "exits_in_mid_batch": ["ask: shed.select, 3 cases: exited with status 7", "out of luck"],
    "is_killed_in_mid_batch": ["was killed by SIGKILL"],
    "exits_within_a_line": ['exited with status 0 in the middle of a line that begins \'{"id": 2'],
    "leaves_a_grandchild_in_mid_batch": ["exited with status 3"],
    "hangs_in_a_batch": ["shed.select, 3 cases: wrote nothing for 0.4 s", "now I hang"],
    "writes_half_a_line": ["began a line and did not end it", '20 bytes that begin \'{"id": 2'],
    "floods_stdout": ["wrote more than 1048576 bytes without ending the line", "'xxxx"],
    "closes_stdout": ["closed its standard output but keeps running"],
    "answers_with_text": ["its line isn't JSON (Expecting value, character 1): 'ok'"],
    "answers_with_a_list": ["its line is not a JSON object: '[1, 2]'"],
    "answers_with_duplicate_keys": ["has the key 'unload' twice in one object"],
    "answers_with_nan": ["has NaN, which JSON doesn't allow"],
    "answers_with_too_large_a_number": ["has the number 1e999, which is too large"],
    "answers_with_another_id": ["its message has the id 77 instead of 2"],
    "answers_without_an_id": ["its message has no id instead of 2"],
    "answers_with_true_for_an_id": ["its message has the id True instead of 2"],
    "answers_in_latin_1": ["its line isn't UTF-8 (byte 36 of the line)"],
}

GOES_ON = {
    "answers_too_few": ["answer: shed.select, 3 cases: too few answers (2)", "one answer per case"],
    "answers_too_many": ["too many answers (4)"],
    "answers_nothing": ["has id instead of a list of answers"],
    "answers_with_an_error": ["ask: shed.select, 3 cases: it answered with an error, internal: oh"],
    "answers_outside_the_schema": [
        'answers[2].unload[1].bundle: "T/NS/0x1_0x2" does not match',
        "(answer 3 of 3)",
        "pulsar-conformance schema shed.select",
    ],
    "answers_with_an_unknown_key": ["answers[0]: Additional properties", "'score'"],
}


def alive_in(group: int) -> list[int]:
    """Return the processes of a group that still run, without zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == group and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def left_of(groups: list[int]) -> list[int]:
    """Return the processes of these groups that still run after `GONE_WITHIN` seconds."""
    deadline = time.monotonic() + GONE_WITHIN
    while left := [pid for group in groups for pid in alive_in(group)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return left


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """Provide the process groups that a test starts; check at its end that none is left."""
    groups = []

    class Recorded(Child):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            groups.append(self.pid)

    monkeypatch.setattr(process, "Child", Recorded)
    monkeypatch.setattr(child, "TERMINATE_SECONDS", 0.3)
    yield groups
    assert left_of(groups) == []


def open_broken(bug, limits=PATIENT):
    return connect(f"exec:{sys.executable} {BROKEN} {bug}", "documented-3.0", {}, limits)


def assert_told(error: AdapterError, parts: list[str]) -> None:
    text = str(error)
    assert [part for part in parts if part not in text] == [], text
    assert text.startswith(f"exec:{sys.executable} {BROKEN}")
    assert "Traceback" not in text


@pytest.mark.parametrize("bug", AT_HELLO)
def test_a_fault_at_hello_is_reported(bug, started):
    limits = SHORT if "hangs" in bug else PATIENT
    with pytest.raises(AdapterError) as caught:
        open_broken(bug, limits)
    assert caught.value.phase == "hello"
    assert_told(caught.value, AT_HELLO[bug])
    assert left_of(started) == []


@pytest.mark.parametrize("bug", IN_A_BATCH)
def test_a_fault_in_a_batch_is_reported_and_ends_the_connection(bug, started):
    with open_broken(bug) as connection:
        connection._limits = SHORT if "hangs" in bug or "half" in bug else PATIENT
        with pytest.raises(AdapterError) as caught:
            connection.ask("shed.select", [CASE] * 3)
        assert caught.value.phase == "ask"
        assert_told(caught.value, IN_A_BATCH[bug])
        assert connection.closed
        assert left_of(started) == []
        with pytest.raises(AdapterError, match="closed, because of an earlier error"):
            connection.ask("shed.select", [CASE])


@pytest.mark.parametrize("bug", GOES_ON)
def test_a_fault_in_the_answers_alone_leaves_the_connection_open(bug):
    with open_broken(bug) as connection:
        for _ in range(2):
            with pytest.raises(AdapterError) as caught:
                connection.ask("shed.select", [CASE] * 3)
            assert_told(caught.value, GOES_ON[bug])
        assert not connection.closed


def test_an_invalid_answer_names_its_case_among_all_that_were_asked():
    with open_broken("answers_outside_the_schema") as connection:
        with pytest.raises(AdapterError) as caught:
            connection.ask("shed.select", [CASE] * 25)
        assert caught.value.index == 9


def test_an_answer_that_nobody_asked_for_is_noticed_with_the_next_one():
    with open_broken("answers_after_the_line_end") as connection:
        connection.ask("shed.select", [CASE])
        with pytest.raises(AdapterError, match="has the id 2 instead of 3"):
            connection.ask("shed.select", [CASE])


def test_standard_error_is_read_and_its_end_is_kept():
    with open_broken("floods_stderr") as connection:
        assert len(connection.ask("shed.select", [CASE] * 3)) == 3
        assert connection.stderr_tail().endswith("noise")
        assert len(connection.stderr_tail()) < 10_000


def test_a_child_that_reads_no_more_is_distinguished_from_one_that_is_slow():
    with open_broken("stops_reading") as connection:
        connection._limits = SHORT
        large = {**CASE, "settings": {"filling": "x" * 1_000_000}}
        with pytest.raises(AdapterError, match=r"did not read its input .* bytes are unread"):
            connection.ask("shed.select", [large])


def test_many_cases_travel_in_batches_and_megabytes_pass_both_ways():
    large = {**CASE, "settings": {"filling": "\u2028é" * 50_000}}
    with open_broken("") as connection:
        answers = connection.ask("shed.select", [large] * 45)
        assert len(answers) == 45
        assert connection.hello.batch == 10
        assert connection._number == 1 + 5
        assert connection.ask("shed.select", []) == []


@pytest.mark.parametrize(
    ("bug", "told"),
    [
        ("ignores_bye", "did not exit within 0.4 s of the message bye"),
        ("leaves_a_grandchild", "left processes behind that hold its output open"),
    ],
)
def test_a_bad_end_is_reported_and_ended(bug, told, started):
    connection = open_broken(bug, SHORT_END)
    with pytest.raises(AdapterError, match=told) as caught:
        connection.bye()
    assert caught.value.phase == "bye"
    assert left_of(started) == []
    with open_broken(bug, SHORT_END):
        pass  # The exit does not report this.


def test_a_good_end_may_be_repeated(started):
    connection = open_broken("")
    connection.bye()
    connection.bye()
    connection.close()
    with pytest.raises(AdapterError, match="the connection is closed, after bye"):
        connection.ask("shed.select", [CASE])


def test_a_connection_that_is_dropped_takes_its_child_with_it(started):
    connection = open_broken("ignores_bye")
    assert alive_in(started[0])
    del connection
    assert left_of(started) == []


@pytest.mark.parametrize("end", ["", "raise SystemExit(3)", "1 / 0"])
def test_an_interpreter_that_ends_takes_its_children_with_it(end):
    adapter = f"exec:{sys.executable} {BROKEN} stops_reading"
    script = f"""
from pulsar_conformance.adapters.names import connect
connection = connect({adapter!r}, "documented-3.0", {{}})
print(connection.pid)
{end}
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert left_of([int(ended.stdout)]) == []


def test_an_interrupted_exchange_ends_the_connection_at_once(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    connection = open_broken("")
    monkeypatch.setattr(Child, "exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        connection.ask("shed.select", [CASE])
    with pytest.raises(AdapterError, match="interrupted in the middle of a message"):
        connection.ask("shed.select", [CASE])
    connection.close()


@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        ("exec:no-such-balancer", "start: command not found: no-such-balancer"),
        ("exec:./nowhere/balancer", "command not found: ./nowhere/balancer"),
        ("exec:lies-here", "it is in this folder: write ./lies-here"),
        ("exec:./lies-here", "./lies-here is not executable"),
        ("exec:./no-first-line", "./no-first-line can't be run: Exec format error"),
        ("exec:./other-interpreter", "the interpreter that ./other-interpreter names"),
        ("exec:./folder", "./folder is a folder"),
        ("exec:", "names no command"),
        ("exec:'open", "can't split the command: No closing quotation"),
    ],
)
def test_what_cannot_be_started_is_reported(adapter, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("lies-here").write_text("#!/bin/sh\n")
    Path("no-first-line").write_bytes(b"\x00\x01\n")
    Path("other-interpreter").write_text("#!/no/such/interpreter\n")
    for name in ("no-first-line", "other-interpreter"):
        Path(name).chmod(0o755)
    Path("folder").mkdir()
    with pytest.raises(AdapterError) as caught:
        connect(adapter, "documented-3.0", {})
    assert told in str(caught.value)
    assert caught.value.phase == "start"
    assert caught.value.hint


def test_no_shell_reads_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AdapterError):
        connect(f"exec:{sys.executable} -c pass; touch$IFS'made'", "documented-3.0", {})
    assert list(tmp_path.iterdir()) == []


def test_the_error_survives_pickling():
    error = AdapterError("ask", "it broke", "mend it", "last words", "exec:x", "internal", 3)
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert str(again) == str(error)
