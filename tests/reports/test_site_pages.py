"""Each page of the site has a unique path and title, and says where its cases are."""

import re
from collections import Counter

import pytest
from pulsar_conformance.fixtures import examples
from pulsar_conformance.reports.pages.making import ShownExample
from pulsar_conformance.reports.pages.outcomes import DerivedExample
from pulsar_conformance.reports.site.drawing import WIDTH, width_of
from pulsar_conformance.reports.site.pictures import pictures
from pulsar_conformance.reports.site.results import deviations, results
from standins.built_site import site, site_pages

LINE = re.compile(r'<line class="pc-\w+" x1="([\d.]+)" x2="[\d.]+" y1="(-?[\d.]+)" y2="([\d.]+)"')
TEXT = re.compile(r'<text x="([\d.]+)" y="([\d.]+)" text-anchor="start">([^<]*)</text>')
CAP = 4
"""Distance from a text's baseline up to its middle, which is half the height of a digit."""


@pytest.fixture(scope="module")
def pages():
    return site_pages()


def test_every_page_is_in_the_navigation(pages):
    named = re.findall(r'"(\S+\.md)"', site().configuration())
    written = {name for name in pages if name.endswith(".md")}
    assert written - set(named) == set()
    assert Counter(named).most_common(1)[0][1] == 1


def test_no_two_documents_have_one_name(pages):
    headings = [
        next(line for line in text.splitlines() if line.startswith("# "))
        for name, text in pages.items()
        if name.startswith("documents/")
    ]
    assert max(Counter(headings).values()) == 1
    entries = re.findall(r'"([^"]+)" = "documents/', site().configuration())
    assert len(entries) == len(headings) - 1
    assert {f"# {one}" for one in entries} < {one.replace("\\", "") for one in headings}


def test_no_line_of_a_chart_crosses_a_figure():
    drawn = [
        one for example in examples() for one in pictures(ShownExample(DerivedExample.of(example)))
    ]
    figures = 0
    for picture in drawn:
        lines = [tuple(map(float, one)) for one in LINE.findall(picture)]
        for x, y, words in TEXT.findall(picture):
            left, middle = float(x), float(y) - CAP
            right = left + width_of(words)
            figures += 1
            assert not [x for x, top, end in lines if left < x < right and top < middle < end]
            assert right <= WIDTH or words.endswith("…") or " %" not in words
    assert figures > 500


def test_the_first_page_says_which_examples_have_answers_by_hand(pages):
    by_hand = sum(one.required_answers is not None for one in examples())
    told = " ".join(pages["index.md"].split())
    assert f"illustrated by {len(examples())} worked examples. For {by_hand} of these" in told
    assert f"for the other {len(examples()) - by_hand}, rules judge the answer" in told


def test_a_deviation_on_the_page_of_an_implementation_leads_to_its_cases(pages):
    text = pages["implementations/pulsar-3.0.7-documented-3.0.md"]
    rows = {
        one: line for line in text.splitlines() for one in re.findall(r"^\| \[([A-Z]+-\d+)", line)
    }
    told = "as in the first case"
    assert told in rows["SPLIT-02"]
    for line in (one for one in rows.values() if told in one):
        assert re.search(
            r"\[Its cases, in order\]\(\.\./deviations/pulsar-3-0-7\.md#SPLIT-0\d\)", line
        )
    own = pages["deviations/pulsar-3-0-7.md"].split('id="SPLIT-02"')[1].split("</details>")[0]
    assert "Its cases, in order, each explained" in own
    assert own.count("pulsar-conformance explain ") > 1


def test_the_case_of_a_run_comes_after_the_case_of_the_known_deviation(pages):
    found = 0
    for rule, each in deviations().items():
        for known in (one for one in each if one.replays):
            for result in results():
                failed = rule in result.verdicts and result.verdicts[rule]["failure"]
                if not failed or result.name != known.implementation:
                    continue
                found += 1
                shown = pages[f"rules/{rule}.md"].split(f'id="{result.slug}"')[1]
                own = shown.split("```text")[0]
                assert "[The known deviation](" in own
                assert "The published run found another case" in own
                assert known.replays[0].explanation in own
    assert found > 50


def test_the_playground_says_how_to_serve_it(pages):
    for name in ("playground.md", "guides/what-if.md", "guides/sessions.md"):
        assert "python3 -m http.server" in pages[name]
