"""Every command that takes questions reads the same files, and has the same error messages."""

import json

import pytest
from pulsar_conformance.adapters.questions import BadLine, json_values
from pulsar_conformance.conformance.cases.saved import read_questions_of_user
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.conformance.compare.predictions import read_questions

CREATE = {"ask": "bundles.create", "case": {"bundles": 2, "settings": {}}}
HALVES = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"]}
ONE, PRETTY = json.dumps(CREATE), json.dumps(CREATE, indent=2)
HANGING = '{"ask": "bundles.create",\n"case": {"bundles": 2, "settings": {}}}\n'

LAYOUTS = {
    "a line": (ONE, 1),
    "its second line is indented less": (HANGING, 1),
    "a bracket alone": (f"{{\n{ONE[1:]}", 1),
    "JSON lines": (f"{ONE}\n\n{ONE}\n", 2),
    "two pretty ones": (f"{PRETTY}\n{PRETTY}\n", 2),
    "a pretty one after a line": (f"{ONE}\n{PRETTY}", 2),
    "no line end between": (f"{ONE} {ONE}{PRETTY}{ONE}", 4),
    "begun on the line on which one ends": (f"{HANGING.rstrip()} {HANGING}", 2),
    "a list": (f"[{ONE}, {ONE}]", 2),
    "a list, one a line": (f"[\n{ONE},\n{ONE}\n]\n", 2),
    "two lists and a question": (f"[{ONE}]\n[{PRETTY},\n{ONE}]\n{ONE}", 4),
    "a trial, one a line": (f'{{"trial": [\n{ONE},\n{ONE}\n]}}\n', 2),
    "Windows": (f"{PRETTY}\n{ONE}\n".replace("\n", "\r\n"), 2),
    "brackets and quotes in texts": (
        '{"ask": "bundles.locate", "case": {"boundaries": ["0x00000000", "0xffffffff"],\n'
        '"topics": ["persistent://t/ns/}{][ \\" \\\\"]}}\n' + ONE,
        2,
    ),
}


@pytest.mark.parametrize(("text", "count"), LAYOUTS.values(), ids=LAYOUTS)
def test_every_command_takes_every_layout(text, count, tmp_path, capsys):
    file = tmp_path / "questions.json"
    file.write_text(text, newline="")
    assert main(["ask", "reference", str(file)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == count
    assert sum(len(one.trial.questions) for one in read_questions_of_user(str(file))) == count
    assert sum(map(len, read_questions(file).values())) == count
    assert main(["explain", str(file)]) == 0
    assert capsys.readouterr().out.count("answer\n") == (1 if "trial" in text else count)


@pytest.mark.parametrize("text", [ONE, PRETTY, HANGING, f"[\n{ONE}\n]"])
def test_a_replay_takes_every_layout_of_one_case(text, tmp_path):
    file = tmp_path / "case.json"
    file.write_text(text)
    assert main(["run", "--adapter", "reference", "--replay", str(file)]) == 0


def test_a_replay_takes_one_case_alone(tmp_path, capsys):
    file = tmp_path / "case.json"
    file.write_text(f"{PRETTY}\n{ONE}\n")
    assert main(["run", "--adapter", "reference", "--replay", str(file)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "case.json: it has 2 cases, the second on line 8; give one, or a trial" in said


MISTAKES = {
    "nothing after a colon": (f'{ONE}\n{{"ask":\n  ,\n}}\n', "(Expecting value, line 3, column 3)"),
    "the second on a line": (f"{ONE} {{x}}\n", f"line 1, column {len(ONE) + 3})"),
    "a text without end": ('{\n"ask": "bundles\n"case": {}}\n', "line 2, column 16)"),
    "no end": (f"{PRETTY}\n{PRETTY[:-2]}", "line 13, column 4)"),
    "more than it takes": (f"{PRETTY}}}\n", "(Extra data, line 7, column 2)"),
    "no UTF-8": ('{\n "ä": "\udcff"}', "isn't UTF-8 (line 2, column 8)"),
    "no case": ('{"ask": "bundles.create"}', '{"ask": OPERATION, "case": {...}}: it has no "case"'),
    "neither": (f"{ONE}\n[{{}}]", ': it has no "ask" and no "case"'),
    "no settings": (
        '{"ask": "bundles.create", "case": {"bundles": 2}}',
        'case: "settings" is a required property',
    ),
}


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES)
def test_every_command_names_a_mistake_and_its_place_alike(text, told, tmp_path, capsys):
    file = tmp_path / "questions.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    for words in (("ask", "reference"), ("explain",)):
        assert main([*words, str(file)]) == 2
        assert told in " ".join(capsys.readouterr().err.split()).replace("- ", "-")


def test_a_question_is_passed_on_as_soon_as_its_last_line_is_read():
    def lines():
        for line in HANGING.splitlines(keepends=True):
            read.append(line)
            yield line.encode()
        read.append(None)
        yield b""

    read = []
    found = json_values(lines())
    assert next(found) == (1, CREATE)
    assert len(read) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{{"ask": "x", "case": {{"topics": ["a",\n{ONE}\n{ONE}', ["1!", 2, 3]),
        (f'{{"ask": "bund\n{PRETTY}\n{ONE}', ["1!", 2, 9]),
        (f'{{"ask": "x", "case":\n{ONE}\n', ["1!", 2]),
        (f'{{"ask": "x",\n{PRETTY}\n', ["1!", 2]),
        ("{\n" * 3 + ONE, ["1!", "2!", "3!", 4]),
    ],
)
def test_what_follows_a_value_without_end_is_read(text, expected):
    found = [*json_values(line.encode() for line in text.splitlines(keepends=True))]
    assert [f"{one.number}!" if isinstance(one, BadLine) else one[0] for one in found] == expected
