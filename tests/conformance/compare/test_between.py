"""The pages of what releases decide otherwise: made of what `changes` prints and writes."""

from pulsar_conformance.reports import between

PAIR = {
    "older": "1.0",
    "newer": "2.0",
    "changes": [
        {"operation": "shed.select", "cause": "slack"},
        {"operation": "shed.select", "cause": "margin"},
        {"operation": "shed.select", "cause": "slack"},
        {"operation": "usage.max", "cause": "heap"},
    ],
    "settings": [{"name": "a"}, {"name": "b"}],
    "unshown": [{"name": "gone"}, {"name": "edge"}],
}


def test_the_index_names_each_cause_of_an_operation_once():
    nothing = {"newer": "3.0", "changes": [], "settings": [], "unshown": []}
    text = between.index([PAIR, PAIR | nothing])
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert rows == [
        "| [1.0 → 2.0](1.0-to-2.0.md) | `shed.select`: slack, margin; `usage.max`: heap "
        "| gone, edge | 2 |",
        "| [1.0 → 3.0](1.0-to-3.0.md) | nothing | nothing | 0 |",
    ]


def test_a_page_holds_what_is_printed_below_its_heading():
    text = between.page("1.0", "2.0", "from 1.0 to 2.0\n\nusage.max: 3 cases\n  more\n\n")
    assert text.splitlines()[0] == "# What changed from 1.0 to 2.0"
    assert text.endswith("```text\nusage.max: 3 cases\n  more\n```\n")
    assert "[1.0-to-2.0.json](1.0-to-2.0.json)" in text


def test_a_pair_that_cannot_be_asked_leaves_no_page(tmp_path, monkeypatch):
    monkeypatch.setattr(between, "releases", lambda: ("0.0.1", "0.0.2"))
    assert between.main(["--to", str(tmp_path / "pages")]) == 2
    assert list((tmp_path / "pages").iterdir()) == []
