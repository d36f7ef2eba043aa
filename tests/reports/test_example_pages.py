"""The worked examples as Markdown are up to date, complete and well formed."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.reports import pages as package
from pulsar_conformance.reports.pages import pages
from pulsar_conformance.reports.pages.__main__ import main
from pulsar_conformance.reports.pages.answers import format_answers
from pulsar_conformance.reports.pages.cells import (
    RATES,
    format_field,
    format_object,
    format_setting,
    join_shortened,
)
from pulsar_conformance.reports.pages.origins import stated_numbers
from pulsar_conformance.reports.pages.tables import Table, case_tables

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "reports" / "examples"
NAMES = sorted({"README.md", *(f"{Path(one.file).stem}.md" for one in fixtures.examples())})
LONGEST = 700
"""Maximum number of characters of a table's row."""
CELLS = re.compile(r"(?<!\\)\|")

each_page = pytest.mark.parametrize("name", NAMES)


@cache
def built():
    """Return the pages; the first test that reads one builds all, which takes seconds."""
    return pages()


def part_of(example):
    """Return the part of a page that shows an example."""
    page = built()[f"{Path(example.file).stem}.md"]
    return page.partition(f'<a id="{example.id}"></a>')[2].partition('<a id="')[0]


def example_of(name):
    return next(example for example in fixtures.examples() if example.id == name)


@each_page
def test_no_page_is_stale(name):
    committed = (COMMITTED / name).read_text("utf-8") if (COMMITTED / name).exists() else ""
    assert committed == built()[name], "stale; make the pages anew with nox -s examples"


def test_no_page_is_left_over():
    assert {file.name for file in COMMITTED.iterdir()} == set(built()) == set(NAMES)


@pytest.mark.parametrize("example", fixtures.examples(), ids=lambda example: example.id)
def test_an_example_is_shown_whole(example):
    shown = part_of(example)
    assert f"## {example.title}\n" in shown
    for rule in example.rules:
        known = specs.load().rules[rule]
        assert f"> **{rule}** ({known.level}): {known.statement}\n" in shown
    document = specs.load().documents[example.document]
    assert f"<{document.url}>." in shown
    assert f"“{example.section}”" in shown.partition("### Why")[2] or not example.section
    assert ("Others may be right as well. " in shown) == example.shows_model_answer
    for rule in example.rules:
        known = specs.load().rules[rule]
        assert (f"No document states {rule}." in shown) == (not known.sources)
    for line in example.arithmetic:
        assert f"\n{line}\n" in shown
    for name, value in example.readings.items():
        assert f"- `{name}={value}`: " in shown
    allowed = len(re.findall(r"^1\. ", shown, re.MULTILINE))
    several = len(example.allowed or ()) > 1
    in_time = any(operation == "cluster.replay" for operation, _ in example.questions)
    assert allowed == (len(example.allowed) - in_time if several else 0)
    assert "### By hand" in shown
    assert f"[{example.title}]" in built()["README.md"]
    parts = [shown.index(part) for part in ("\n**", "\n### By hand", "\n### Answer", "\n### Why")]
    assert parts == sorted(parts), "question and numbers, the calculation, the answer; then why"


def test_an_example_says_which_numbers_its_section_states():
    printed = part_of(example_of("threshold-40-10-10"))
    assert (
        "\n5, 10, 20 and 40 also stand in “ThresholdShedder”; the other numbers are this "
        in printed
    )
    own = part_of(example_of("uniform-700-and-700"))
    assert "\nThe numbers are this example's own or defaults.\n" in own
    defaults = part_of(example_of("config-annotated-avgshedder"))
    assert "\n15 also stands in “loadBalancerAvgShedderLowThreshold”.\n" in defaults
    assert "another meaning" not in "".join(built().values())
    assert "numbers are from" not in "".join(built().values())


def test_numbers_are_of_known_sections():
    documents = specs.load().documents
    for document, sections in stated_numbers().items():
        for title, numbers in sections.items():
            assert documents[document].section(title) is not None, title
            assert list(numbers) == sorted(set(numbers)), title


@pytest.mark.parametrize("example", fixtures.examples(), ids=lambda example: example.id)
def test_different_numbers_of_an_answer_look_different(example):
    """Different numbers look different; rounding changes them by at most a millionth of a unit."""
    numbers = {
        value
        for answers in example.allowed or ()
        for answer in answers
        for frame in answer.values()
        if isinstance(frame, dict)
        for name, value in frame.items()
        if name in RATES and not isinstance(value, bool)
    }
    assert len({format_field("msgThroughputIn", one) for one in numbers}) == len(numbers)


def test_bundles_without_data_are_said_to_count_as_never_measured():
    told = "Bundles without long-term data count there as never measured: 50 KB/s"
    assert told in part_of(example_of("uniform-a-fifth-of-the-difference"))
    assert told not in part_of(example_of("overload-95-over-85"))


def test_the_states_of_bundles_are_a_table():
    shown = part_of(example_of("channel-two-assignments"))
    assert "\n| bundle | state | to | from |\n" in shown.partition("### Answer")[2]


@each_page
def test_a_decision_does_not_run_into_its_reason(name):
    rows = re.findall(r"^\| decision \| (.*) \|$", built()[name], re.MULTILINE)
    assert [one for one in rows if re.match(r"\S+ (the load|no load|found in) ", one)] == []


def test_a_weight_that_is_unused_is_no_factor():
    assert "| memory | 60 %, does not count |" in part_of(example_of("usage-heap-does-not-count"))


def test_a_story_says_when_data_are_written():
    shown = part_of(example_of("data-written-every-two-minutes"))
    written = "b1 reports at minutes 3, 4; the leader writes at minute 4, samples: "
    assert f"{written}shop/eu/0x00000000_0xffffffff 4 |" in shown


@each_page
def test_every_table_has_as_many_cells_in_each_row(name):
    for block in re.findall(r"(?:^\|.*\n)+", built()[name], re.MULTILINE):
        rows = [len(CELLS.split(row)) for row in block.splitlines()]
        assert len(set(rows)) == 1, block
        assert re.fullmatch(r"\|( --- \|)+", block.splitlines()[1])


@each_page
def test_every_link_leads_somewhere(name):
    for link in re.findall(r"\]\(([^)]+)\)", built()[name]):
        file, _, anchor = link.partition("#")
        target = built().get(file or name)
        assert target is not None or (COMMITTED / file).exists(), link
        if anchor:
            assert f'<a id="{anchor}"></a>' in target, link


@each_page
def test_markdown_is_well_made(name):
    page = built()[name]
    assert "\n\n\n" not in page
    assert page.endswith("\n")
    assert not page.endswith("\n\n")
    assert page.count("```") % 2 == 0
    assert page.count("<details>") == page.count("</details>")
    assert all(line == line.rstrip() for line in page.splitlines())
    for before, heading, after in re.findall(r"(.*)\n(#+ .*)\n(.*)", page):
        assert (before, after) == ("", ""), heading


def test_other_readings_are_shown_where_they_make_a_difference():
    shown = part_of(example_of("overload-95-over-85-no-more"))
    other = shown.partition("### Under other readings")[2].partition("<details>")[0]
    assert "| `overload-amount` | `one`: Exactly one bundle, the most expensive one. | " in other
    assert "b1 sheds `shop/eu/0x60000000_0x80000000` |" in other
    assert "### Under other readings" not in part_of(example_of("overload-single-bundle"))


def test_a_weight_or_a_ratio_is_a_plain_number():
    assert format_setting("loadBalancerCPUResourceWeight", 1.0) == "1"
    assert format_setting("loadBalancerHistoryResourcePercentage", 0.9) == "0.9"
    ratio = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
    assert format_setting(ratio, 4) == "4"
    assert format_setting("loadBalancerBrokerOverloadedThresholdPercentage", 85) == "85 %"


def test_the_index_explains_what_pages_show():
    load = {"msgThroughputIn": 1e8, "msgThroughputOut": 2e8, "numSamples": 10, "maxSamples": 1000}
    sessions = {"producerCount": 3, "consumerCount": 4}
    shown = [
        format_object(load).partition(",")[0],
        format_object(load).partition(", ")[2],
        format_object({"msgThroughputIn": 1e8, "msgThroughputOut": 0}),
        format_object(sessions),
        format_object({"numSamples": 0}),
        format_object({"usage": 5, "limit": 20}),
        format_field("bundles", None),
        join_shortened([f"b{number}" for number in range(1, 9)]),
    ]
    missing = [one for one in shown if f"`{one}`" not in built()["README.md"]]
    assert missing == []


def test_a_derivation_says_what_became_of_each_bundle():
    shown = part_of(example_of("overload-95-over-85-no-more"))
    assert "| to shed | (95 - 85) + 5 = 15 % of 200 MB/s = 30 MB/s |" in shown
    assert "| goes | shop/eu/0x80000000_0xa0000000 = 27 MB/s, together 55 MB/s |" in shown
    assert "| stays | shop/eu/0xa0000000_0xc0000000 = 26 MB/s, enough has gone |" in shown


def test_questions_that_are_asked_together_are_distinguished():
    shown = part_of(example_of("overload-others-do-not-matter"))
    for heading in ("### Question 1", "### Question 2", "Question 1:"):
        assert f"\n{heading}\n" in shown
    assert "1. each time b1 sheds `shop/eu/0x00000000_0x40000000`\n" in shown


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("cpu", {"usage": 95, "limit": 100}, "95 %"),
        ("cpu", {"usage": 1140, "limit": 1200}, "1140 of 1200 = 95 %"),
        ("cpu", {"usage": 1, "limit": 16384}, "1 of 16384, under 0.01 %"),
        ("cpu", {"usage": 0, "limit": 0}, "0 of 0"),
        ("msgRateIn", 2200, "2200 msg/s"),
        ("msgThroughputOut", 22_500_000, "22.5 MB/s"),
        ("algorithm", None, "–"),
        ("leader", True, "true"),
        ("topics", list("abcdefg"), "a, b, c, …, g (7)"),
        ("positions", [], "none"),
        (
            "strategy",
            "org.apache.pulsar.broker.loadbalance.impl.OverloadShedder",
            "OverloadShedder",
        ),
    ],
)
def test_a_value_has_its_unit(name, value, written):
    assert format_field(name, value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"msgRateIn": 1, "msgRateOut": 2, "numSamples": 3}, "1 + 2 msg/s, 3 samples"),
        ({"msgThroughputIn": 2e6, "msgThroughputOut": 500}, "2 MB/s + 500 B/s"),
        ({"msgRateIn": 0, "numSamples": 3}, "0 msg/s, 3 samples"),
        ({"msgRateIn": 5, "numSamples": 0}, "never measured (5 msg/s given)"),
        ({"numSamples": 0, "msgRateIn": 0}, "never measured"),
        ({"producerCount": 1, "consumerCount": 2}, "1 producer + 2 consumers"),
        ({"topics": 4, "consumerCount": 2}, "4 topics, 2 consumers"),
        ({"producerCount": 1001}, "1001 producers"),
        ({"producerCount": 0, "consumerCount": 1001}, "1001 consumers"),
        ({"producerCount": 0}, "0 sessions"),
        ({"a": 1, "b": [2, 3]}, "a: 1, b: 2, 3"),
        ({}, "nothing"),
    ],
)
def test_an_object_is_written_in_one_cell(value, written):
    assert format_object(value) == written


def test_a_setting_has_its_documented_unit():
    assert format_setting("loadBalancerBrokerOverloadedThresholdPercentage", 85) == "85 %"
    assert format_setting("loadBalancerSheddingGracePeriodMinutes", 30) == "30 minutes"
    assert format_setting("loadBalancerSheddingIntervalMinutes", 1) == "1 minute"
    assert format_setting("loadBalancerOverrideBrokerNicSpeedGbps", "") == '""'
    assert format_setting("loadBalancerSheddingEnabled", False) == "false"


def test_a_long_table_shows_its_beginning_and_its_end():
    table = Table(("n", ""), tuple((str(n), "") for n in range(1000)))
    assert len(table.shown) == 12
    assert table.shown[-2:] == (("… 989 more", ""), ("999", ""))


def test_brokers_that_are_alike_stand_in_one_row():
    shown = part_of(example_of("threshold-80-and-0-on"))
    assert "\n| b1 to b10, each | 80 % |" in shown
    assert "\n| b11 | 0 % |" in shown
    assert sum("90 MB/s, 9000 msg/s" in line for line in shown.splitlines()) == 1
    assert "\n| b3 to b10 | as b2 |\n" in shown


def test_what_is_assumed_is_written():
    shown = part_of(example_of("data-never-measured"))
    assert "\nshort term and long term: 50 + 50 KB/s, 50 + 50 msg/s, 0 samples\n" in shown


def test_a_story_is_a_table_of_time():
    shown = part_of(example_of("shed-again-within-grace"))
    assert "\n| minute | event | result |\n" in shown
    moved = "shop/eu/0x00000000_0xffffffff leaves b1 (shed), goes to b2"
    assert f"\n| 0 | 3 minutes pass | {moved} |\n" in shown
    assert "steps:" not in "".join(built().values())


def test_a_story_read_otherwise_shows_where_it_goes_another_way():
    shown = part_of(example_of("shed-after-an-unload-by-hand"))
    [row] = [line for line in shown.splitlines() if line.startswith("| `grace-starts` | ")]
    assert row.count("minute 0, 3 minutes pass: ") == 1
    assert row.count("minute ") == 1


def test_no_line_of_a_page_is_a_wall():
    assert max(len(line) for page in built().values() for line in page.splitlines()) < LONGEST


def test_equal_samples_stand_in_one_row():
    samples = [{"msgRateIn": 1}] * 9 + [{"msgRateIn": 2}]
    [table] = case_tables({"samples": samples})
    assert table.rows == (("1 to 9", "1 msg/s"), ("10", "2 msg/s"))


def test_objects_with_many_fields_stand_in_one_column():
    objects = [{f"field{number}": number, "also": 1} for number in range(10)]
    [table] = case_tables({"objects": objects})
    assert table.headings == ("", "objects")
    assert table.rows[3] == ("4", "field3: 3, also: 1")


def test_events_of_many_kinds_have_a_column_for_the_kind():
    events = [{"tick": {"minutes": 1}}, {"tick": {"minutes": 1}}, {"restart": {"broker": "b1"}}]
    [table] = case_tables({"events": events})
    assert table.rows == (("1 to 2", "tick", "minutes: 1"), ("3", "restart", "broker: b1"))


@pytest.mark.parametrize(
    ("answers", "written"),
    [
        ([{"unload": []}], "nothing is unloaded"),
        ([{"refused": "*"}], "refused"),
        ([{"refused": "too narrow"}], "refused: too narrow"),
        ([{"gbps": 0.8}], "gbps: 0.8 Gbit/s"),
        ([{"broker": None}], "broker: –"),
        ([{"broker": "a"}, {"broker": "a"}], "each time broker: a"),
        (
            [{"broker": "a"}, {"gbps": 1}, {"gbps": 1}],
            "(1) broker: a<br>(2) gbps: 1 Gbit/s, 2 times",
        ),
    ],
)
def test_an_answer_in_words(answers, written):
    assert format_answers(answers) == written


def test_few_are_all_listed():
    assert join_shortened(["a"] * 6) == "a, a, a, a, a, a"


def test_the_pages_are_written_and_other_files_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(f"{main.__module__}.pages", built)
    (tmp_path / "notes.md").write_text("kept")
    assert main(["--to", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{len(built())} pages in {tmp_path}\n"
    written = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    assert written == {**built(), "notes.md": "kept"}


def test_the_page_of_an_area_that_lost_its_examples_goes(tmp_path, monkeypatch):
    (tmp_path / "overload.md").write_text("old")
    monkeypatch.setattr(f"{main.__module__}.pages", lambda: {"README.md": "new"})
    assert main(["--to", str(tmp_path)]) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


def test_a_place_that_cannot_be_written_is_reported(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(f"{main.__module__}.pages", built)
    (tmp_path / "file").write_text("")
    assert main(["--to", str(tmp_path / "file")]) == 2
    assert "file" in capsys.readouterr().err


def test_the_pages_rest_on_specs_fixtures_the_model_and_the_checks_alone():
    checks = ("conformance.common.trial", "conformance.engine.evaluate")
    allowed = ("specs", "fixtures", "reference", "reports.pages", *checks)
    for file in Path(package.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                own = module.removeprefix("pulsar_conformance.")
                assert own == module or own.startswith(allowed), (file.name, module)
