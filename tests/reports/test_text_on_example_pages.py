"""Pages of worked examples distinguish strings from other values, and name the rules that judge."""

from pathlib import Path

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.reference import Model
from pulsar_conformance.reports.pages.cells import format_field, format_setting

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


SOURCE = "Source of these rules, which are in the suite's own words"
ELSEWHERE = "section “Shed load automatically”"
WRITTEN = "section “Shed load automatically”, <https://pulsar.apache.org/docs/2.10.x/"
IN_CONCEPTS = "for BUNDLE-13, Concepts, Pulsar 4.2, section “Step 3: split bundles by boundaries”"


@pytest.mark.parametrize(
    ("name", "section", "source"),
    [
        ("overload-95-over-85", None, "Load balance across brokers, Pulsar 3.0, section “Shed"),
        ("overload-15-percent-of-the-messages", "OverloadShedder", f"for OVERLOAD-02, {ELSEWHERE}"),
        (
            "overload-margin-falls-short",
            "OverloadShedder",
            "for OVERLOAD-01, this section and sections “Shed load automatically” and "
            "“Broker overload thresholds”;\n"
            f"for OVERLOAD-02 and OVERLOAD-03, {ELSEWHERE}.",
        ),
        ("shed-unmeasured-binary", "Bundle Data", "for SHED-07, Load balance across Pulsar"),
        ("shed-unmeasured-binary", "Bundle Data", WRITTEN),
        ("bundle-last-hash", "Dynamic assignments", IN_CONCEPTS),
    ],
)
def test_the_source_of_a_rule_is_the_section_that_states_it(name, section, source):
    shown = example_on_page(name)
    stated = shown.partition(f"\n{SOURCE}")[2].partition("\n\n")[0]
    assert source in stated
    about = [one for one in shown.splitlines() if one.startswith("About: ")]
    assert len(about) == (0 if section is None else 1)
    assert all(f", section “{section}”, <" in one for one in about)


def test_a_page_names_no_section_as_the_source_of_a_rule_that_it_does_not_state():
    for example in fixtures.examples():
        shown = example_on_page(example.id)
        if "\nAbout: " in shown:
            continue
        for rule in (specs.load().rules[one] for one in example.rules):
            places = [(one.document, one.section) for one in rule.sources]
            assert not places or (example.document, example.section) in places, example.id


def test_a_page_names_the_documents_by_which_an_answer_at_the_limit_is_right():
    shown = example_on_page("threshold-exactly-at-sheds")
    assert "The answer assumes `threshold-trigger=reaches`: Does a broker shed when" in shown
    assert "Pulsar 4.1, section “ThresholdShedder”" in shown
    assert "; no document of documented-3.0 allows it.\nThe rules below are meant" in shown
    assert "The answer assumes" not in example_on_page("threshold-40-10-10")


def test_another_reading_by_which_a_broker_is_drawn_names_all_of_them():
    shown = example_on_page("place-at-the-threshold-behind-one-above-it")
    assert "is undefined there. | Pulsar " in shown
    assert "| broker: b1 or b2, drawn |" in shown


def test_a_page_gives_the_default_of_each_setting_that_a_case_sets():
    shown = example_on_page("average-page")
    assert "\n| setting |  | default |\n" in shown
    assert "\n| `minUnloadMessage` | 100 | 1000 |\n" in shown
    printed_by_none = "loadBalancerMsgRateDifferenceShedderThreshold"
    shown = example_on_page("shed-overloaded-under-uniform-load-shedder")
    assert f"\n| `{printed_by_none}` | 50 percent, or messages per second | – |\n" in shown


def test_a_page_names_the_sections_that_allow_each_reading_and_those_closed_to_the_profile():
    shown = example_on_page("shed-overloaded-under-uniform-load-shedder")
    [every] = [one for one in shown.splitlines() if one.startswith("| `overload-amount` | `every`")]
    assert "| Pulsar 4.2, section “OverloadShedder”; no document of documented-3.0 allows" in every
    [other] = [one for one in shown.splitlines() if one.startswith("| `overload-scope` |")]
    assert "| Pulsar 3.0, section “Broker overload thresholds” |" in other
    assert "strategies is set, an overloaded broker sheds. (Pulsar 3.0, section “Shed" in shown
    assert "of unwritten-3.0 allows it" not in example_on_page("answer-to-two-positions")


def test_a_page_names_each_section_of_the_document_that_states_a_rule():
    shown = example_on_page("shed-overloaded-under-uniform-load-shedder")
    assert "sections “Broker overload thresholds” and “Shed load automatically”, <https" in shown


def test_a_page_says_that_annotations_are_in_a_jar():
    shown = example_on_page("transfer-excluded")
    assert "“loadBalancerSheddingExcludedNamespaces”, in the jar at <https://central." in shown
    assert "in the jar" not in example_on_page("overload-95-over-85")


def test_a_page_gives_the_title_of_a_rule_that_only_the_calculation_names():
    shown = example_on_page("transfer-excluded")
    named = "\nAlso named by hand: TRANSFER-01 (A standard deviation over its target causes"
    assert named in shown
    assert "Also named by hand" not in example_on_page("shed-switched-off")


def test_a_page_names_the_rules_that_judge_what_the_table_of_a_story_leaves_out():
    left_out = "is not in the table; `explain` shows the whole answer."
    assert f"What MANAGER-08 and MANAGER-09 judge {left_out}" in example_on_page("own-first-use")
    assert left_out not in example_on_page("overload-95-over-85")


def test_an_answer_under_another_reading_says_that_a_tie_decides_it():
    shown = example_on_page("shed-unmeasured-binary")
    rows = [one for one in shown.splitlines() if one.startswith("| `")]
    tied = [one.split("`")[3] for one in rows if "(a tie: the first by name goes" in one]
    assert tied == ["one", "message-rate"]


def test_an_answer_under_another_reading_has_the_fields_of_the_answer_by_hand():
    shown = example_on_page("data-eleventh-sample-slides")
    assert "| short term: 6.05 msg/s, 10 samples; long term: 6 msg/s, 11 samples |" in shown


def test_isolation_policies_are_not_preceded_by_an_empty_list_of_them():
    shown = example_on_page("isolation-page-shared")
    assert "| isolation | none |" not in shown
    host = "pulsar-broker-headless.pulsar.svc.cluster.local:8080"
    for number in (0, 1):
        reserved = "primary for finance/payments: reserved"
        assert f"| pulsar-broker-{number}.{host} | {reserved} |" in shown


def test_the_class_of_a_load_manager_is_shown_with_its_package():
    shown = example_on_page("manager-simple-dynamically")
    name = "org.apache.pulsar.broker.loadbalance.impl.SimpleLoadManagerImpl"
    assert shown.count(f"| dynamic | {name} |") == 2
    assert "'org" not in shown


def test_an_empty_default_is_shown_in_the_derivation():
    shown = example_on_page("config-nic-speed")
    assert '| loadBalancerOverrideBrokerNicSpeedGbps | "" |' in shown
    assert "All settings are asked for, with an empty case" in shown


def test_the_index_explains_words_that_only_schemas_define():
    index = (COMMITTED / "README.md").read_text("utf-8")
    for word in ("brokerCount", "minLimit", "attempt", "capacity", "default"):
        assert f"`{word}`" in index.partition("## How to read a page")[2].partition("## [")[0]


@pytest.mark.parametrize(
    ("setting", "one", "two"),
    [
        ("loadBalancerOverrideBrokerNicSpeedGbps", "1 gigabit per second", "2 gigabits per second"),
        (
            "loadBalancerBrokerThresholdShedderPercentage",
            "1 percentage point",
            "2 percentage points",
        ),
        ("loadBalancerNamespaceBundleMaxSessions", "1 session", "2 sessions"),
    ],
)
def test_a_unit_is_in_the_singular_after_one(setting, one, two):
    assert [format_setting(setting, count) for count in (1, 2)] == [one, two]


def test_one_bundle_further_on_is_in_the_singular():
    topics = ["persistent://shop/eu/orders-partition-1", "persistent://shop/eu/orders-partition-2"]
    case = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "topics": topics}
    derived = Model("documented-3.0", {"partitions": "spread"}).derive("bundles.locate", case)
    said = [step.text for step in derived.steps if step.label in topics]
    assert [" and 1 bundle on: " in said[0], " and 2 bundles on: " in said[1]] == [True, True]


def test_a_derivation_has_the_headings_and_units_of_the_tables():
    shown = example_on_page("data-broker-gains-a-bundle")
    assert "| **short term** | the sum over 2 bundles: 305 msg/s, 30.5 KB/s |" in shown
    assert "shortTermData" not in shown
    assert "50 + 50 msg/s, 50 + 50 KB/s, never measured" in example_on_page(
        "data-broker-never-measured"
    )


def test_a_small_percentage_of_a_report_is_not_rounded_to_nothing():
    report = {
        "bandwidthOut": {"usage": 5.3, "limit": 10240000},
        "loadReportType": "LocalBrokerData",
    }
    derived = Model("documented-3.0").derive("report.read", {"report": report})
    [said] = [step.text for step in derived.steps if step.label == "bandwidthOut"]
    assert said == "5.3 / 10240000 = 0.000052 %"
