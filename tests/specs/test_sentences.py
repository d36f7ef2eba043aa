"""Tests of splitting documents into sentences."""

import pytest
from pulsar_conformance.specs.sentences import fingerprint, split_sentences


def sentences(text: str) -> list[str]:
    return [one for _, found in split_sentences(text, [], marked=True) for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("A hen. A duck? A goose!", ["A hen.", "A duck?", "A goose!"], id="three"),
        pytest.param("Weighs 2.5 kg, e.g. at noon.", ["Weighs 2.5 kg, e.g. at noon."], id="dots"),
        pytest.param("See farm/... for hens.", ["See farm/... for hens."], id="ellipsis"),
        pytest.param('It is. "So" it is.', ["It is.", '"So" it is.'], id="quote begins one"),
        pytest.param("One hen\nlays one\negg.", ["One hen lays one egg."], id="wrapped"),
        pytest.param("It is called\n`hen`, or\n2 / 3 hen.", ["It is called `hen`, or 2 / 3 hen."]),
        pytest.param("Hens\nDucks", ["Hens", "Ducks"], id="items without a mark"),
        pytest.param("Animals:\nhen: lays\nduck: swims.", ["Animals:", "hen: lays duck: swims."]),
        pytest.param("- hens\n* ducks\n  • geese", ["hens", "ducks", "geese"], id="items"),
        pytest.param("hens lay\n\nand ducks", ["hens lay", "and ducks"], id="a blank line ends"),
        pytest.param("tip\nNote\n:::note\nHens.\n:::", ["Hens."], id="marks of a note"),
        pytest.param("hens=4\nducks=", ["hens=4", "ducks="], id="settings"),
        pytest.param(
            "# How many hens there\n# are. So it is\n# said\nhens=4",
            ["How many hens there are.", "So it is said", "hens=4"],
            id="comments",
        ),
        pytest.param("so many\n# hens", ["so many", "hens"], id="a comment is not prose"),
        pytest.param("$ hen \\\n--lay \\\n--egg 1\nThus.", ["$ hen --lay --egg 1", "Thus."]),
        pytest.param("no | hen\n1 | Ada\n2 | Eva", ["no | hen", "1 | Ada", "2 | Eva"], id="table"),
        pytest.param('Thus\n{\n"a": {\n"b": 1\n}\n}\nSo.', ["Thus", '{ "a": { "b": 1 } }', "So."]),
        pytest.param("```json\n{A. B}\n\nC. D\n```\nSo.", ["{A. B} C. D", "So."], id="fence"),
        pytest.param("======\n||A. B||\n======\nSo.", ["====== ||A. B|| ======", "So."]),
        pytest.param("```\nnever closed", ["never closed"], id="open fence"),
        pytest.param("```\n```\nSo.", ["So."], id="empty fence"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_marked_headings_are_not_items_or_comments() -> None:
    text = "# Farm\nAll:\nHens\n# Hens are\n## Hens\nThey lay.\n# a comment\n"
    assert split_sentences(text, ["Farm", "Hens"], marked=True) == [
        ("Farm", ["All:", "Hens", "Hens are"]),
        ("Hens", ["They lay.", "a comment"]),
    ]


def test_plain_headings_are_found_in_order() -> None:
    text = "Skip\n\nFarm\n\nHens\n\nFarm\n\nIt is."
    assert split_sentences(text, ["Farm", "Hens"], marked=False) == [
        ("", ["Skip"]),
        ("Farm", []),
        ("Hens", ["Farm", "It is."]),
    ]


def test_front_matter_is_the_first_heading() -> None:
    text = "---\nid: farm\ntitle: Farm\n---\nHens.\n"
    assert split_sentences(text, ["Farm"], marked=True) == [("Farm", ["Hens."])]


def test_the_fingerprint_knows_no_white_space() -> None:
    assert fingerprint("one  hen\n") == fingerprint("one hen")
    assert fingerprint("one hen") != fingerprint("one hen.")
