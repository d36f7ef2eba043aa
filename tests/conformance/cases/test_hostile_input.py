"""Malicious case files, lists of deviations and command lines give one clear error each."""

import json
import os
import re
from pathlib import Path

import pytest
from pulsar_conformance.conformance.commands.main import main
from standins.examples import EXAMPLES

UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
USAGE = json.dumps({"ask": "usage.max", "case": EXAMPLES["usage.max"][0]})
RED = "\x1b[31m"

FILES = {
    "nothing": (b"", "it isn't JSON"),
    "bytes": (b"\x7fELF\x02\x01\xff\xfe", "it isn't UTF-8"),
    "utf-16": (USAGE.encode("utf-16"), "it isn't UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + USAGE.encode(), "it isn't JSON"),
    "a list": (b"[]", "not of the form"),
    "a number": (b"1e5", "not of the form"),
    "no questions": (b'{"trial": []}', "not of the form"),
    "questions that are none": (b'{"trial": {"ask": "usage.max"}}', "not of the form"),
    "an operation that is a number": (b'{"ask": 7, "case": {}}', "not of the form"),
    "no case": (b'{"ask": "usage.max"}', "not of the form"),
    "a case that is a list": (b'{"ask": "usage.max", "case": []}', "case: [] is not of type"),
    "a case that is null": (b'{"ask": "usage.max", "case": null}', "case: null is not of type"),
    "no such operation": (b'{"ask": "usage.least", "case": {}}', "usage.least is not an operation"),
    "an operation in red": (
        json.dumps({"ask": f"{RED}usage.max", "case": {}}).encode(),
        r"\x1b[31musage.max is not an operation",
    ),
    "a field in red": (
        USAGE.replace('"settings"', '"\\u001b[31mred": 1, "settings"').encode(),
        "Additional properties are not allowed",
    ),
    "half a pair": (USAGE.replace("settings", "\\ud83d").encode(), "an unpaired surrogate"),
    "half a pair as bytes": (USAGE.encode().replace(b"settings", b"\xed\xa0\xbd"), "isn't UTF-8"),
    "deep lists": (b"[" * 100_000, "nested too deeply"),
    "a key twice": (b'{"ask": "usage.max", "ask": "usage.nic", "case": {}}', "'ask' twice"),
    "no number": (USAGE.replace("{}", '{"x": NaN}').encode(), "has NaN"),
    "an integer without end": (b'{"ask": ' + b"9" * 10_000 + b"}", "can't be read"),
    "half a file": (USAGE.encode()[:-3], "it isn't JSON"),
    "questions before that are none": (
        json.dumps({"after": "usage.max", **json.loads(USAGE)}).encode(),
        "not of the form",
    ),
    "an illegal question before": (
        json.dumps(
            {"after": [{"ask": "usage.max", "case": {"broker": 1}}], **json.loads(USAGE)}
        ).encode(),
        "case",
    ),
}

DEVIATIONS = {
    "bytes": b"\xff\xfe\x00\x01",
    "a NUL": b"- rule: \x00\n",
    "escape codes": b"- {rule: \x1b[31mUSAGE-01, reason: r, link: l}\n",
    "a rule in red": b'- {rule: "\\e[31mUSAGE-01", reason: r, link: l}\n',
    "a mapping": b"rule: USAGE-01\n",
    "numbers": b"[1, 2, 3]\n",
    "an object of Python": b"- !!python/object/apply:os.system ['touch made']\n",
    "a mistake": b"- {rule: USAGE-01, reason\n",
    "a tab": b"-\trule: USAGE-01\n\treason: r\n",
    "no reason": b"- {rule: USAGE-01, link: l}\n",
    "a field that there is not": b"- {rule: USAGE-01, reason: r, link: l, colour: red}\n",
    "itself": b"&a [*a]\n",
}

RUN = ("run", "--adapter", "reference", "--rules", "USAGE-01", "--examples", "1")
LINES = {
    "no command": ((), "required: COMMAND"),
    "no such command": (("jugde",), "jugde is not a command"),
    "a command in red": ((f"{RED}run",), r"\x1b[31mrun is not a command"),
    "no such option": (
        (*RUN, "--exmaples", "3"),
        "--exmaples is not an argument of run;",
    ),
    "an option in red": ((*RUN, f"--{RED}"), r"--\x1b[31m"),
    "a kind in red": (("ask", f"{RED}:x"), r"\x1b[31m:x' is not an adapter"),
    "an adapter in red": (("ask", f"exec:{RED}"), "an unprintable character"),
    "an adapter of two lines": (("ask", "exec:a\nb"), "an unprintable character"),
    "an adapter of other bytes": (("ask", "exec:\udcff"), "an unprintable character"),
    "a run of other bytes": (("run", "--adapter", "python:\udcff:x"), "an unprintable character"),
    "a profile in red": ((*RUN, "--judge-by", f"{RED}new"), r"\x1b[31mnew is not a profile"),
    "a profile of other bytes": ((*RUN, "--judge-by", "\udcff"), "is not a profile"),
    "a reading in red": ((*RUN, "--reading", f"{RED}=1"), "is not a reading"),
    "a reading without a name": ((*RUN, "--reading", "=margin"), "write NAME=VALUE"),
    "a reading without a value": ((*RUN, "--reading", "overload-amount"), "write NAME=VALUE"),
    "a rule in red": ((*RUN, "--rules", f"{RED}-01"), "is not a rule"),
    "an empty rule": ((*RUN, "--rules", ""), "is not a rule"),
    "half a pattern": ((*RUN, "--rules", "[USAGE"), "is not a rule"),
    "examples that are text": ((*RUN, "--examples", "many"), "invalid int value"),
    "examples below zero": ((*RUN, "--examples", "-1"), "--examples -1"),
    "a fraction of an example": ((*RUN, "--examples", "0.5"), "invalid int value"),
    "a seed that is text": ((*RUN, "--seed", RED), "invalid int value"),
    "no time": ((*RUN, "--time-limit", "0"), "0 is not a duration"),
    "time without end": ((*RUN, "--time-limit", "inf"), "inf is not a duration"),
    "no number of seconds": ((*RUN, "--time-limit", "nan"), "nan is not a duration"),
    "a file that is not there": ((*RUN, "--replay", f"{RED}.json"), "No such file"),
    "a folder without a case": ((*RUN, "--replay", "."), "there is no case in it"),
    "a folder without reports": (("explain", "."), "there is no *.json file in it"),
    "a setting for nobody": ((*RUN, "--setting", "a=b"), "only pulsar:VERSION takes settings"),
    "a setting without a name": ((*RUN, "--setting", "=b"), "write NAME=VALUE"),
    "a name too long": (("explain", "x" * 5000), "File name too long"),
    "a batch of nothing": (("ask", "reference", "--batch", "0"), "has at least 1 case"),
    "an unclosed quotation": (("check", "exec:'"), "No closing quotation"),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(words, capfd, files=()):
    """Return the error for an unusable command line; check that no file is written."""
    try:
        status = main(words)
    except SystemExit as left:
        status = left.code
    out, err = capfd.readouterr()
    assert status == 2, out + err
    said = err + out if words[0:1] == ["check"] else err
    assert "Traceback" not in out + err
    assert UNSHOWN.search(out + err) is None
    found = sorted(path.name for path in Path().iterdir() if path.name != ".conformance")
    assert found == sorted(files)
    return said


@pytest.mark.parametrize("command", [("explain",), (*RUN, "--replay")], ids=["explain", "replay"])
@pytest.mark.parametrize("file", FILES)
def test_a_case_file_is_refused(file, command, capfd):
    content, told = FILES[file]
    Path("case.json").write_bytes(content)
    said = refused([*command, "case.json"], capfd, ["case.json"])
    assert "case.json" in said
    assert told in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("file", DEVIATIONS)
def test_a_list_of_deviations_is_refused(file, capfd):
    Path("known.yaml").write_bytes(DEVIATIONS[file])
    said = refused([*RUN, "--known-deviations", "known.yaml"], capfd, ["known.yaml"])
    assert said.startswith("pulsar-conformance: known.yaml:")


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_is_refused(line, capfd):
    words, told = LINES[line]
    said = refused(list(words), capfd)
    assert told in said
    complaints = [one for one in said.splitlines() if not one.startswith(("usage:", " "))]
    assert len(complaints) == 1 or words[0] == "check"


def test_a_file_whose_name_is_no_text_is_reported(capfd):
    name = os.fsdecode(b"\xff\x1b[31m.json")
    Path(name).write_text("{}", "utf-8")
    said = refused(["explain", name], capfd, [name])
    assert r"\udcff\x1b[31m.json" in said
