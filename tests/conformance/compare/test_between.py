"""The pages about changes between releases, made from the output and the files of `changes`."""

import json
import re
from pathlib import Path

import pytest
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.reports import between

PAGES = sorted((Path(__file__).parents[3] / between.OUTPUT).glob("*-to-*.md"))


def way(name, older, newer):
    return {"kind": "way", "name": name, "older": older, "newer": newer}


HEAP = way("heap-memory", "counted", "left-out")
PAIR = {
    "older": "1.0",
    "newer": "2.0",
    "changes": [
        {"operation": "shed.select", "cause": "heap-memory", "factors": [HEAP]},
        {"operation": "usage.max", "cause": "heap-memory", "factors": [HEAP]},
        {
            "operation": "manager.choose",
            "cause": "MANAGER-05",
            "factors": [],
            "breaks": {"1.0": ["MANAGER-05"], "2.0": []},
        },
    ],
    "settings": [{"name": "a", "older": None, "newer": 1}],
    "unshown": [way("only-bundle", "goes", "stays")],
}


def test_the_index_says_what_is_decided_differently_and_how():
    nothing = {"newer": "3.0", "changes": [], "settings": [], "unshown": []}
    text = between.index([PAIR, PAIR | nothing])
    heap = (
        "usage of a broker?<br>`shed.select`, `usage.max` | Yes, like every other resource. | No. |"
    )
    assert heap in text
    assert "<br>`manager.choose` | breaks it | holds it |" in text
    assert "shed its only bundle? | Yes. | No; for the lower boundary" in text
    assert "New settings, with their defaults: `a` (`1`).\n" in text
    assert "Removed settings, with their defaults: none.\n" in text
    assert "## [1.0 → 3.0](1.0-to-3.0.md)\n\nNo drawn case is decided differently." in text


def test_the_index_distinguishes_new_settings_from_new_names_and_other_defaults():
    changed = [
        {"name": "loadBalancerBandwidthInResourceWeight", "older": None, "newer": 1.0},
        {"name": "b", "older": 1, "newer": None},
        {"name": "c", "older": 1, "newer": 2},
    ]
    text = between.index([PAIR | {"settings": changed}])
    assert "New settings, with their defaults: none.\n" in text
    renamed = "`loadBalancerBandwidthInResourceWeight` for `loadBalancerBandwithInResourceWeight`"
    assert f"New names of existing settings, with their defaults: {renamed} (`1.0`).\n" in text
    assert "Removed settings, with their defaults: `b` (`1`).\n" in text
    assert "Other defaults: `c` (`1` → `2`).\n" in text


def test_the_index_in_the_repository_is_of_the_files_beside_it():
    pairs = [json.loads(file.read_text("utf-8"))[0] for file in between.OUTPUT.glob("*.json")]
    pairs.sort(key=lambda one: list(releases()).index(one["older"]))
    assert between.index(pairs) == (between.OUTPUT / "README.md").read_text("utf-8")


def test_a_page_holds_what_is_printed_below_its_heading():
    text = between.page("1.0", "2.0", "from 1.0 to 2.0\n\nusage.max: 3 cases\n  more\n\n")
    assert text.splitlines()[0] == "# What changed from 1.0 to 2.0"
    assert text.endswith("```text\nusage.max: 3 cases\n  more\n```\n")
    assert "[1.0-to-2.0.json](1.0-to-2.0.json)" in text


def test_a_pair_that_cannot_be_asked_leaves_no_page(tmp_path, monkeypatch):
    monkeypatch.setattr(between, "releases", lambda: ("0.0.1", "0.0.2"))
    assert between.main(["--to", str(tmp_path / "pages")]) == 2
    assert list((tmp_path / "pages").iterdir()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_the_settings_of_each_case(page):
    text = page.read_text("utf-8")
    blocks = text.split("    smallest case  ")[1:]
    for block in blocks:
        [file, *_] = re.findall(r"cases/\S+?\.json", block)
        content = json.loads((page.parent / file).read_text("utf-8"))
        asked = content.get("trial", [content])
        settings = [f"      {name}=" for one in asked for name in one["case"].get("settings", {})]
        before = block.partition("\n    answer")[0]
        assert [one for one in settings if one not in before] == []
