"""Settings as text, as broker.conf and the admin API give them."""

import pytest
from pulsar_conformance.reference.context import MissingSetting, Settings


def given(value):
    return Settings({"it": value}, {})


@pytest.mark.parametrize(
    ("text", "number"), [("30", 30), (" 0.5 ", 0.5), ("1e3", 1000), ("-1", -1)]
)
def test_a_number_as_text_counts_as_a_number(text, number):
    assert given(text).number("it") == number


@pytest.mark.parametrize("text", ["", "thirty", "0x1e", "1e400", "inf", "nan", "٣"])
def test_a_text_that_is_no_number_counts_as_missing(text):
    with pytest.raises(MissingSetting):
        given(text).number("it")


@pytest.mark.parametrize(
    ("text", "on"), [("true", True), ("TRUE", True), ("false", False), ("1", False)]
)
def test_a_switch_as_text_is_on_if_it_says_true(text, on):
    assert given(text).flag("it") is on
