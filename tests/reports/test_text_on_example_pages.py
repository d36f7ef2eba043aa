"""Pages of worked examples distinguish strings from other values, and name the rules that judge."""

from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.reports.pages.cells import format_field

COMMITTED = Path(__file__).parents[2] / "reports" / "examples"
"""The pages; another test ensures that they are up to date."""


def example_on_page(name):
    """Return the part of a page that shows an example."""
    example = fixtures.example_named(name)
    page = (COMMITTED / f"{Path(example.file).stem}.md").read_text("utf-8")
    return page.partition(f'<a id="{name}"></a>')[2].partition('<a id="')[0]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("30", '"30"'),
        (30, "30"),
        ("true", '"true"'),
        (True, "true"),
        ("null", '"null"'),
        (None, "–"),
        ("", '""'),
        ("b1", "b1"),
        ({"usage": "50", "limit": 100}, 'usage: "50", limit: 100'),
    ],
)
def test_text_is_in_quotes_if_it_could_be_another_value(value, shown):
    assert format_field("value", value) == shown


def test_a_story_shows_which_settings_are_text():
    shown = example_on_page("own-while-settings-change")
    assert '| loadBalancerSheddingGracePeriodMinutes = "30" (dynamic) | ignored |' in shown
    assert "| loadBalancerSheddingGracePeriodMinutes = null (dynamic) | ignored |" in shown


def test_an_example_names_the_other_rules_that_judge_its_case():
    shown = example_on_page("overload-95-over-85")
    others = shown.partition("\nOther rules that judge this case")[2].partition("\n")[0]
    for rule in ("SHED-07", "OVERLOAD-03"):
        assert f"{rule} ({specs.load().rules[rule].title})" in others
    assert "OVERLOAD-02" not in others, "quoted above"
    assert "OVERLOAD-05" not in others, "not under overload-amount=margin"
    assert "Other rules" not in example_on_page("config-nic-speed")


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("anti-moved-beside-another", ["ANTI-16"]),
        ("overload-margin-falls-short", ["OVERLOAD-01", "OVERLOAD-02", "OVERLOAD-03"]),
        ("uniform-twice-as-much-more", ["UNIFORM-02", "UNIFORM-03"]),
    ],
)
def test_an_example_quotes_the_rule_that_its_title_is_about(name, rules):
    shown = example_on_page(name).partition("\n### Why\n")[2]
    quoted = [line for line in shown.splitlines() if line.startswith("> **")]
    assert [line[4:].partition("**")[0] for line in quoted] == rules


@pytest.mark.parametrize("name", ["uniform-at-the-thresholds", "uniform-50-messages-more"])
def test_an_example_at_a_threshold_names_the_rule_that_rounding_keeps_from_judging_it(name):
    """At a threshold, rounding may decide, so UNIFORM-02 explains the answer without judging it."""
    assert "UNIFORM-02" not in fixtures.example_named(name).rules
    assert "by the words of UNIFORM-02 nothing is shed" in example_on_page(name)
