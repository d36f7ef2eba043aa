"""The coverage report on invented documents about a farm."""

import json
from pathlib import Path

import pytest
from pulsar_conformance.reports.coverage import main
from pulsar_conformance.specs.sentences import fingerprint, split_sentences

HENS = """# Hens
Hens lay an egg each day, if they are well fed and not disturbed by foxes or by their keepers.
They are kept in tens.
## Food
Corn is good.
hens=10
Water is good, too.
"""
DUCKS = "Ducks\n\nDucks swim.\n\nThey quack.\n\nThey like rain.\n"

SETTINGS = """hens:
  {type: integer, unit: hens, meaning: How many., documents: [hens], defaults: {hens: 10}}
"""
READINGS = """often:
  question: How often?
  kind: rules
  alternatives:
    daily: {means: Each day., sources: [{document: hens, section: Hens}]}
    weekly: {means: Each week., sources: [{document: hens, section: Hens}]}
"""
WAYS = """molt:
  question: Do they molt?
  alternatives:
    yearly: {means: Each year.}
    never: {means: Never., place: Hen.molt}
"""
ANNOTATIONS = """documents: {annotated-hens: 2.0.0}
settings:
  maxHens:
    meaning: How many.
    rule: CONFIG-02
    texts: {1.0.0: %s}
"""
ANNOTATED = {"default": 20, "doc": "The most hens."}
BROKER = """releases: [1.0.0, 2.0.0]
settings:
  maxHens: {type: integer, default: 20}
renamed: {}
earlier: {releases: [0.9.0]}
"""
PROFILES = "farm: {title: All., kind: documented, documents: [hens, ducks], readings: {}}\n"
RULES = """- id: CONFIG-01
  title: Hens lay daily, by tens
  level: must
  statement: They do.
  sources:
    - {document: hens, section: Hens, sentences: [1, 2]}
    - {document: hens, section: Food, sentences: [2]}
    - {document: ducks, section: Ducks, sentences: [1]}
  operations: [settings.defaults]
  profiles: [farm]
"""


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    documents = _document("hens", HENS, ["Hens", "Food"], "marked")
    documents += _document("ducks", DUCKS, ["Ducks"], "plain")
    # Three sentences of the hens and two of the ducks are nobody's; all but one are accounted for.
    for text, said in (
        ("Corn is good.", "none: Only an opinion."),
        ("They are kept in tens.", "besides: Why, which hens alone know."),
        ("Water is good, too.", "awaits: DATA"),
        ("They quack.", "awaits: OWN"),
        ("They like rain.", "none: Not about hens."),
    ):
        sha = fingerprint(text)
        documents = documents.replace(f"- {sha}", f"- sha256: {sha}\n          {said}")
    (tmp_path / "specs" / "rules").mkdir(parents=True)
    for name, text in (
        ("documents", documents),
        ("settings", SETTINGS),
        ("readings", READINGS),
        ("ways", WAYS),
        ("annotations", ANNOTATIONS % fingerprint(json.dumps(ANNOTATED, sort_keys=True))),
        ("broker", BROKER),
        ("profiles", PROFILES),
        ("rules/config", RULES),
    ):
        (tmp_path / "specs" / f"{name}.yaml").write_text(text, encoding="utf-8")
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "any_name.md").write_text(HENS, encoding="utf-8")
    (texts / "0001.txt").write_text(DUCKS, encoding="utf-8")
    (texts / "settings").mkdir()
    annotated = {"maxHens": {"1.0.0": ANNOTATED, "2.0.0": ANNOTATED}}
    (texts / "settings" / "annotated.json").write_text(json.dumps(annotated), encoding="utf-8")
    (texts / "notes.md").write_text("Nothing of interest.", encoding="utf-8")
    (texts / "picture").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def _document(name: str, text: str, titles: list[str], headings: str) -> str:
    lines = [f"{name}:", f"  title: {titles[0]}", '  version: "1"', "  url: https://farm.example/"]
    lines += [f"  headings: {headings}", "  sections:"]
    for title, sentences in split_sentences(text, titles, marked=headings == "marked"):
        lines += [f"    - title: {title}", "      sentences:"]
        lines += [f"        - {fingerprint(sentence)}" for sentence in sentences]
    return "\n".join(lines) + "\n"


def _run(farm: Path, *options: str) -> int:
    return main(["--documents", str(farm / "texts"), "--specs", str(farm / "specs"), *options])


def _edit(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


def test_every_sentence_is_listed(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(farm) == 0
    out = capsys.readouterr().out
    assert "hens  Hens  (any_name.md)" in out
    assert "ducks  Ducks  (0001.txt)" in out
    assert "    2  They are kept in tens.\n       CONFIG-01 (has the documented default); no" in out
    assert "check tests this part: Why, which hens" in " ".join(out.split())
    assert "    1  Corn is good.\n       none: Only an opinion.\n" in out
    assert "    2  They quack.\n       unclaimed: awaits OWN\n" in out
    assert "    1  Hens lay an egg each day, if they are well fed and" in out
    assert "\n       or by their keepers.\n" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80
    totals = [line.split() for line in out.splitlines()[-4:]]
    assert totals == [
        ["hens", "5", "3", "0", "1", "1", "0"],
        ["ducks", "3", "1", "0", "1", "1", "0"],
        ["annotated-hens", "1", "1", "0", "0", "0", "0"],
        ["all", "9", "5", "0", "2", "2", "0"],
    ]


def test_unclaimed_alone(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(farm, "--unclaimed") == 0
    out = capsys.readouterr().out
    assert "Water is good, too." in out
    assert "They quack." in out
    assert "Corn is good." not in out
    assert "kept in tens" not in out


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("in tens.", "in twos.", "hens: Hens, sentence 2: changed: They are kept in twos."),
        ("Corn is good.\n", "", "hens: Food, sentence 1: missing"),
        ("hens=10", "hens=10\nThink.", "hens: Food, after sentence 2: additional: Think."),
        ("## Food", "## Fodder", "hens: Food: this heading is missing or out of order"),
        ("# Hens", "By Ada.\n# Hens", "hens: (above the first heading): 1 additional sentences"),
    ],
)
def test_a_text_that_differs_fails(
    before: str, after: str, says: str, farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _edit(farm / "texts" / "any_name.md", before, after)
    assert _run(farm) == 1
    assert says in capsys.readouterr().out


def test_a_sentence_of_nobody_fails(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _edit(farm / "specs" / "rules" / "config.yaml", "sentences: [1, 2]", "sentences: [1]")
    assert _run(farm) == 1
    assert "unclaimed, and the specifications give no reason for that" in capsys.readouterr().out


def test_a_document_that_is_not_there_is_unusable(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (farm / "texts" / "0001.txt").unlink()
    assert _run(farm) == 2
    said = capsys.readouterr().err
    assert "has the text of ducks; save it there, from https://" in said


def test_a_folder_that_is_not_there_is_unusable(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--documents", str(farm / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_broken_specifications_are_unusable(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _edit(farm / "specs" / "profiles.yaml", "title:", "titel:")
    assert _run(farm) == 2
    assert capsys.readouterr().err.startswith("pulsar-conformance: profiles.yaml:1: farm: ")
