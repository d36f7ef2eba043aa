"""`ask`, `check` and `new-adapter`, as users run them."""

import argparse
import io
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.adapters import ask, new_adapter
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.commands import check as checkup
from pulsar_conformance.specs.errors import status_of
from pulsar_conformance.specs.model import FIELDS_OF_SAVED_CASES
from standins.examples import EXAMPLES

STANDINS = Path(__file__).parents[2] / "standins"
CREATE = {"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}
HALVES = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"]}


def run(command, *arguments, lines=(), monkeypatch=None):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    if monkeypatch:
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return status_of(lambda: command.run(parser.parse_args(arguments)))


def test_ask_answers_in_order_whatever_the_operation(monkeypatch, capsys):
    nic = {"ask": "usage.nic", "case": EXAMPLES["usage.nic"][0]}
    lines = [CREATE, CREATE, nic, "", CREATE]
    assert run(ask, "reference", lines=lines, monkeypatch=monkeypatch) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert answers == [HALVES, HALVES, {"gbps": 10}, HALVES]


def test_ask_takes_the_files_that_the_suite_writes(tmp_path, monkeypatch, capsys):
    """A saved case has many lines, and contains the profile and readings of its run."""
    one, several = tmp_path / "one.json", tmp_path / "several.json"
    about = {"rule": "BUNDLE-01", "profile": "documented-3.0", "readings": {}, "ways": {}}
    about["excluded"] = {"reference": ["grace-edge=free"]}
    assert set(about) == {*FIELDS_OF_SAVED_CASES}
    one.write_text(json.dumps({**CREATE, **about}, indent=1) + "\n")
    several.write_text(json.dumps({"trial": [CREATE, CREATE], **about}, indent=1) + "\n")
    assert run(ask, "reference", str(one), str(several)) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [HALVES] * 3
    lines = [*one.read_text().splitlines(), CREATE, *several.read_text().splitlines()]
    assert run(ask, "reference", lines=lines, monkeypatch=monkeypatch) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [HALVES] * 4


@pytest.mark.parametrize("saved", [{**CREATE}, {"trial": [CREATE]}])
def test_ask_puts_earlier_questions_of_a_saved_case_first(saved, monkeypatch, capsys):
    earlier = {"ask": "usage.nic", "case": EXAMPLES["usage.nic"][0]}
    lines = [{"after": [earlier], **saved}, {"after": "none", **saved}]
    assert run(ask, "reference", lines=lines, monkeypatch=monkeypatch) == 2
    *answers, wrong = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert answers == [{"gbps": 10}, HALVES]
    assert "line 2: it is not of the form" in wrong["error"]


def test_standard_input_is_asked_under_the_profile_that_it_names(tmp_path, monkeypatch, capsys):
    """In a file and on standard input, the first question's profile decides the answer."""
    example = next(one for one in fixtures.examples() if one.id == "overload-95-over-85")
    text = json.dumps(example.questions[0][1]).replace('"usage": 95', '"usage": 85')
    question = {"ask": "shed.select", "case": json.loads(text), "profile": "released-3.0"}
    file = tmp_path / "case.json"
    file.write_text(json.dumps(question, indent=1))
    assert run(ask, "reference", str(file)) == 0
    answer = capsys.readouterr().out
    lines = file.read_text().splitlines()
    for words in ((), ("-",)):
        assert run(ask, "reference", *words, lines=lines, monkeypatch=monkeypatch) == 0
        assert capsys.readouterr().out == answer
    unnamed = {name: value for name, value in question.items() if name != "profile"}
    assert run(ask, "reference", lines=[unnamed], monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out != answer


def test_ask_ends_with_what_the_implementation_wrote_to_standard_error(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "loud.py").write_text(
        "class Loud:\n"
        "    def hello(self, profile, readings):\n"
        "        return {'name': 'loud', 'operations': ['bundles.create']}\n"
        "    def answer(self, operation, case):\n"
        "        print('asked for', case['bundles'])\n"
        f"        return {HALVES}\n"
        "loud = Loud()\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run(ask, "python:loud:loud", lines=[CREATE], monkeypatch=monkeypatch) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == HALVES
    assert told.err == "the implementation's standard error ended with:\nasked for 2\n"


def test_ask_names_the_file_of_a_mistake(tmp_path, capsys):
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps(CREATE, indent=1).removesuffix("}"))
    assert run(ask, "reference", str(cut)) == 2
    assert capsys.readouterr().err.startswith(f"{cut}, line 1: it isn't JSON")
    assert run(ask, "reference", str(tmp_path / "nowhere.json")) == 2
    assert capsys.readouterr().err.endswith("/nowhere.json: No such file or directory\n")


@pytest.mark.parametrize(("batch", "sizes"), [(1000, [3, 1, 2]), (2, [2, 1, 1, 2])])
def test_ask_groups_consecutive_questions_of_one_operation(batch, sizes):
    nic = {"ask": "usage.nic", "case": EXAMPLES["usage.nic"][0]}
    lines = [json.dumps(line).encode() for line in (CREATE, CREATE, CREATE, nic, CREATE, CREATE)]
    assert [len(group.cases) for group in ask.group_questions(lines, batch)] == sizes


def test_ask_passes_on_the_readings(monkeypatch, capsys):
    question = {"ask": "bundles.split", "case": EXAMPLES["bundles.split"][0]}
    for reading, middle in (("equal", "0x80000000"), ("by-name", "0x7fffffff")):
        arguments = ("--profile", "documented-2.10", "--reading", f"range-halves={reading}")
        assert run(ask, "reference", *arguments, lines=[question], monkeypatch=monkeypatch) == 0
        first, second = json.loads(capsys.readouterr().out)["bundles"]
        assert (first, second) == (f"0x00000000_{middle}", f"{middle}_0xffffffff")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("not json", "line 2: it isn't JSON"),
        ('{"ask": "bundles.create", "ask": "x"}', "line 2: it has the key 'ask' twice"),
        ({"ask": "bundles.create"}, 'line 2: it is not of the form {"ask": OPERATION'),
        ("[]", "line 2: it is not of the form"),
        (
            {"ask": "bundles.crate", "case": {}},
            "line 2: 'bundles.crate' is not an operation; did you",
        ),
        ({"ask": 3, "case": {}}, "line 2: 3 is not an operation; choose from average.broker"),
        ({"ask": "bundles.create", "case": {"bundles": 0, "settings": {}}}, "line 2: case.bundles"),
    ],
)
def test_ask_reports_a_bad_line_and_answers_all_others(line, told, monkeypatch, capsys):
    assert run(ask, "reference", lines=[CREATE, line, CREATE], monkeypatch=monkeypatch) == 2
    written = capsys.readouterr()
    answers = [json.loads(text) for text in written.out.splitlines()]
    assert answers == [HALVES, {"error": written.err.rstrip()}, HALVES]
    assert written.err.startswith(told)
    assert len(written.err.splitlines()) == 1


ONE = json.dumps(CREATE)
PRETTY = json.dumps(CREATE, indent=1)


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        (f"{ONE[:-9]}\n{ONE}\n{ONE}", 2, [1]),
        (f"{ONE}\n{ONE[:-9]}\n{PRETTY}\n{ONE[:-9]}\n", 2, [2, 10]),
        (f"{PRETTY[:-9]}\n{PRETTY}\n{ONE}", 2, [1]),
        (f"{PRETTY.replace(':', ';')}\n{PRETTY}\n", 1, [1]),
        (f"{ONE} x\n\n{ONE}\n[]\n\n{{", 1, [1, 4, 6]),
    ],
)
def test_ask_goes_on_after_a_value_that_has_no_end(text, good, bad, tmp_path, capsys):
    file = tmp_path / "cases.jsonl"
    file.write_text(text)
    assert run(ask, "reference", str(file)) == 2
    written = capsys.readouterr()
    assert [line for line in written.out.splitlines() if "error" not in line] == [
        json.dumps(HALVES, separators=(",", ":"))
    ] * good
    starts = [f"{file}, line {number}: " for number in bad]
    assert len(written.err.splitlines()) == len(bad)
    for line, start in zip(written.err.splitlines(), starts, strict=True):
        assert line.startswith(start)


def test_a_trial_in_several_lines_with_a_bad_question(tmp_path, capsys):
    file = tmp_path / "trial.json"
    file.write_text(f'{{"trial": [\n{ONE},\n{{"ask": "x", "case": {{}}}},\n{ONE}\n]\n}}\n')
    assert run(ask, "reference", str(file)) == 2
    written = capsys.readouterr()
    assert [json.loads(line) for line in written.out.splitlines()] == [
        HALVES,
        {"error": written.err.rstrip()},
        HALVES,
    ]
    assert "line 1: 'x' is not an operation" in written.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("refrence",), "did you mean reference?"),
        (("reference", "--profile", "documented-9.9"), "documented-9.9 is not a profile"),
        (("reference", "--reading", "overload-amount"), "write NAME=VALUE"),
        (("reference", "--reading", "overload-amont=one"), "overload-amont"),
        (("reference", "--reading", "overload-amount=two"), "two"),
        (("exec:no-such-balancer",), "command not found: no-such-balancer"),
    ],
)
@pytest.mark.parametrize("command", [ask, checkup])
def test_a_bad_argument_is_one_message(command, arguments, told, monkeypatch, capsys):
    assert run(command, *arguments, monkeypatch=monkeypatch) == 2
    written = capsys.readouterr()
    assert told in written.out + written.err
    assert "Traceback" not in written.out + written.err


def test_ask_reports_the_lines_that_broke_the_adapter(monkeypatch, capsys):
    broken = f"exec:{sys.executable} {STANDINS / 'broken.py'} exits_in_mid_batch"
    question = {"ask": "shed.select", "case": EXAMPLES["shed.select"][0]}
    assert run(ask, broken, lines=["", question, question], monkeypatch=monkeypatch) == 2
    assert "lines 2 to 3: shed.select, 2 cases: exited with status 7" in capsys.readouterr().err


def test_check_finds_the_reference_in_order(capsys):
    assert run(checkup, "reference") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok    ") for line in lines[:-1])
    assert [line for line in lines if "ok    answers usage.nic" in line]
    assert lines[-1] == "reference follows the protocol"


def found_by_check(name):
    found = checkup.check_adapter(name, "documented-3.0", {})
    assert found.ok is not any(line.startswith("FAIL") for line in found.lines)
    return "\n".join(found.lines)


def test_check_finds_wrong_order_misspelt_operations_and_death():
    told = found_by_check(f"exec:{sys.executable} {STANDINS / 'shuffles.py'}")
    assert "FAIL  names operations that exist: there is no bundles.creat;" in told
    assert (
        "FAIL  answers a batch in order (3 cases of bundles.create): in a batch, the cases" in told
    )
    assert "ok    answers each of several equal cases" in told
    assert "FAIL  answers an operation that it does not know with an error: no.such" in told
    assert "what is no.such_operation?" in told
    assert "note  not tried, because the connection is closed: ends on bye" in told


GREETS = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    hello = {"protocol": 1, "name": "greets", "operations": ["usage.max"], **%r}
    print(json.dumps({"id": asked["id"], "answer": hello}), flush=True)
"""


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (
            {"strategies": ["OverloadSheder"]},
            "note  offers OverloadSheder, which no document mentions: it is judged only "
            "by rules for every strategy; did you mean OverloadShedder?",
        ),
        (
            {"strategies": ["com.example.Fair"]},
            "note  offers com.example.Fair, which no document mentions: it is judged only "
            "by rules for every strategy",
        ),
        (
            {"readings": {"grace-edge": "sometimes"}},
            "FAIL  declares readings that exist: sometimes is not a value of grace-edge;",
        ),
        (
            {"readings": {"edge": "free"}},
            "FAIL  declares readings that exist: edge is not a reading;",
        ),
    ],
)
def test_check_remarks_on_what_hello_says_that_there_is_not(declared, told, tmp_path):
    program = tmp_path / "greets.py"
    program.write_text(GREETS % declared, "utf-8")
    assert told in found_by_check(f"exec:{sys.executable} {program}")


def test_check_remarks_on_shedding_without_a_strategy(tmp_path):
    program = tmp_path / "greets.py"
    for strategies, remarks in (([], True), (["OverloadShedder"], False)):
        offer = {"operations": ["shed.select"], "strategies": strategies}
        program.write_text(GREETS % offer, "utf-8")
        told = found_by_check(f"exec:{sys.executable} {program}")
        assert ("note  offers shed.select, but names no strategy" in told) is remarks


def test_check_has_nothing_against_a_full_name(tmp_path):
    full = "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder"
    program = tmp_path / "greets.py"
    program.write_text(GREETS % {"strategies": [full], "readings": {"grace-edge": "free"}}, "utf-8")
    told = found_by_check(f"exec:{sys.executable} {program}")
    assert "offers" not in told
    assert "readings" not in told


@pytest.mark.parametrize(
    ("bug", "told"),
    [
        ("exits_at_once", "FAIL  says hello in protocol 1: exited with status 5"),
        ("speaks_protocol_2", "FAIL  says hello in protocol 1: speaks protocol 2"),
        (
            "answers_too_few",
            "FAIL  answers each of several equal cases: shed.select, 3 cases: too few",
        ),
        ("leaves_a_grandchild", "FAIL  ends on bye: ended, but left processes behind"),
    ],
)
def test_check_names_the_fault(bug, told):
    assert told in found_by_check(f"exec:{sys.executable} {STANDINS / 'broken.py'} {bug}")


def needing(language):
    """Return a test parameter for a language, skipped if the machine lacks its compiler."""
    program = new_adapter.SKELETONS[language].build.partition(" ")[0]
    lacking = bool(program) and shutil.which(program) is None
    return pytest.param(language, marks=pytest.mark.skipif(lacking, reason=f"needs {program}"))


OFFERED = {
    "go": ('"bundles.create": create,', '"bundles.create": create, "shed.select": selectBundles,'),
    "java": ("Main::create)", 'Main::create, "shed.select", Main::select)'),
    "javascript": ("const operations = {", 'const operations = { "shed.select": select,'),
    "python": ('["bundles.create"]', '["bundles.create", "shed.select"]'),
    "rust": (
        '&[("bundles.create", create)]',
        '&[("bundles.create", create), ("shed.select", select)]',
    ),
}
"""By language, the replacement with which a skeleton offers shed.select, as its comment says."""


@pytest.mark.parametrize("language", [needing(one) for one in sorted(new_adapter.SKELETONS)])
def test_a_skeleton_keeps_the_protocol_and_is_right(language, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "my balancer"
    assert run(new_adapter, "--lang", language, "--to", str(folder)) == 0
    printed = capsys.readouterr().out.splitlines()
    assert f"cd {shlex.quote(str(folder))}" in printed
    build, check, judge, question, example = printed[-5:]
    assert example == "pulsar-conformance schema shed.select --example"
    file = folder / new_adapter.SKELETONS[language].written
    assert OFFERED[language][0] in file.read_text()
    file.write_text(file.read_text().replace(*OFFERED[language]))
    adapter = shlex.split(check)[-1]
    assert shlex.split(judge) == ["pulsar-conformance", "run", "--adapter", adapter]
    assert shlex.split(question)[-1] == adapter

    monkeypatch.chdir(folder)
    if build == new_adapter.SKELETONS[language].build:
        subprocess.run(shlex.split(build), check=True, timeout=300)
    assert "FAIL" not in found_by_check(adapter)
    cases = EXAMPLES["bundles.create"]
    configured = [
        {"bundles": None, "settings": {"defaultNumberOfNamespaceBundles": number}}
        for number in (7, "7", 7.0)
    ]
    with (
        connect(adapter, "documented-3.0", {}) as mine,
        connect("reference", "documented-3.0", {}) as model,
    ):
        cases = [*cases, *configured, {"bundles": 1, "settings": {'é"\\\n\u2028': 1.5e-3}}]
        assert mine.ask("bundles.create", cases) == model.ask("bundles.create", cases)
        (failed,) = mine.ask("bundles.create", [{"bundles": "x", "settings": {}}])
        assert "failed" in failed or "boundaries" in failed
        assert mine.ask("shed.select", EXAMPLES["shed.select"][:1]) == [{"unload": []}]


def test_an_existing_file_is_never_overwritten(tmp_path, capsys):
    (tmp_path / "main.mjs").write_text("mine")
    assert run(new_adapter, "--lang", "javascript", "--to", str(tmp_path)) == 2
    assert "already exists and was not changed" in capsys.readouterr().err
    assert (tmp_path / "main.mjs").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_reported(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run(new_adapter, "--lang", "java", "--to", str(tmp_path / "file" / "x")) == 2
    assert "can't write to" in capsys.readouterr().err
