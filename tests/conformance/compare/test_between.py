"""The pages about changes between releases, made from the output and the files of `changes`."""

import json
import re
from pathlib import Path

import pytest
from pulsar_conformance.conformance.compare.changes_text import pair_from_json, summary_as_json
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
            "operation": "bundles.locate",
            "cause": "BUNDLE-01",
            "factors": [],
            "breaks": {"4.2.4": ["BUNDLE-01"], "5.0.0-M1": []},
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
    assert "<br>`bundles.locate` | breaks it | holds it |" in text
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
    assert between.index(between.saved_pairs()) == (between.OUTPUT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("pair", between.saved_pairs(), ids=lambda pair: pair["newer"])
def test_a_page_is_what_today_is_written_about_its_saved_cases(pair):
    """`--texts` rewrites a page whose derivations or texts have changed."""
    name = between.pair_file_name(pair["older"], pair["newer"])
    page = between.OUTPUT / f"{name}.md"
    assert between.page_of_saved(pair) == page.read_text("utf-8")


def test_the_texts_of_pages_are_rewritten_without_asking_releases(tmp_path):
    for file in between.OUTPUT.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert between.main(["--texts", "--to", str(tmp_path)]) == 0
    for file in between.OUTPUT.glob("*.md"):
        assert (tmp_path / file.name).read_text("utf-8") == file.read_text("utf-8")


@pytest.mark.parametrize("pair", between.saved_pairs(), ids=lambda pair: pair["newer"])
def test_changes_read_from_json_are_those_that_were_written(pair):
    written = json.loads(json.dumps(summary_as_json(pair_from_json(pair))))
    assert written == pair


def test_a_release_that_breaks_a_rule_elsewhere_is_not_said_to_hold_it():
    rule = "MANAGER-05"
    change = PAIR["changes"][2] | {"cause": rule, "breaks": {"2.10.5": [rule], "3.0.7": []}}
    text = between.index([PAIR | {"older": "2.10.5", "newer": "3.0.7", "changes": [change]}])
    assert "breaks it | holds it in this case, but breaks it in others |" in text


def test_a_class_that_only_the_newer_release_has_is_asked_about():
    name = "org.example.Balancer"
    factor = {"kind": "class", "name": "Balancer", "older": None, "newer": name}
    change = {"operation": "manager.choose", "cause": "Balancer", "factors": [factor]}
    text = between.index([PAIR | {"changes": [change]}])
    asked = "Does the release have the class `Balancer`?<br>`manager.choose`"
    assert f"| {asked} | No. | Yes. |" in text


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
