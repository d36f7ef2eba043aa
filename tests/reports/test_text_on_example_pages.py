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
