"""Regular expressions of isolation policies, matched as `String.matches` of Java 17 does."""

import pytest
from pulsar_conformance.reference.released.expressions import BadExpression, Expression

NAMES = ("broker-1.example.com", "broker-2.example.com")


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        (r"\p{Alpha}+-1.*", True, False),
        (r"broker-\P{Alpha}.*", True, True),
        (r"broker-[\p{Digit}&].*", True, True),
        (r"broker-\h*1.*", True, False),
        (r"\Qbroker-1.example.com\E", True, False),
        (r"\Qbroker-1", False, False),
        (r"broker-[\Q1\E].*", True, False),
        (r"(?<x>b)roker-1.*\k<x>?.*\Z", True, False),
        (r"broker-(1).*\1?.*", True, False),
        (r"broker-1[^]].*", True, False),
        (r"broker-[]1].*", True, False),
        (r"broker-[[1]].*", True, False),
        (r"broker-[a[1]-].*", True, False),
        (r"broker-[a||1].*", True, False),
        (r"broker-[a~~1].*", True, False),
        (r"broker-[--1].*", True, False),
        (r"broker-\x31.*", True, False),
        (r"broker-\u0031.*", True, False),
        (r"broker\-1.*", True, False),
        (r"broker-1\_.*", False, False),
        (r"(?i)BROKER-1.*", True, False),
        (r"(?i:BROKER)-1.*", True, False),
        (r"broker-1*+.*", True, True),
        (r"^broker-1.{3,}$", True, False),
        (r"[\w-]+-1.*", True, False),
    ],
)
def test_an_expression_matches_whole_names_as_in_java(text, first, second):
    assert [Expression.of(text).matches(one) for one in NAMES] == [first, second]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(?P<x>broker)-1.*", "(?P"),
        ("(?<a_b>b).*", "(?<"),
        ("broker-1(?#x).*", "(?#"),
        ("broker-{,2}1.*", "{,2}"),
        ("broker-1{1.*", "{1.*"),
        (r"broker-\y", r"\y"),
        (r"broker-[\b1].*", r"\b"),
        ("broker-[1", "an unclosed character class"),
        ("broker-1\\", "\\"),
    ],
)
def test_text_that_java_does_not_compile_is_refused_with_the_part(text, part):
    with pytest.raises(BadExpression) as refused:
        Expression.of(text)
    told = f"{text} is not a Java regular expression, so Pulsar cannot match it: {part}"
    assert str(refused.value) == told


@pytest.mark.parametrize(
    "text",
    [
        "broker-[1-3&&[^2]].*",
        "broker-[^[2]].*",
        "broker-[a-[1]].*",
        "broker-[[a]-z1].*",
        r"broker-[\p{Digit}-z].*",
        r"\p{IsGreek}.*",
        r"broker-\061.*",
        "b(?i)ROKER-1.*",
        "(?x)broker-1.*",
        "(?<=x*)broker-1.*",
        r"broker-\x{31}.*",
        r"broker-[\P{Alpha}].*",
        "*a",
    ],
)
def test_an_expression_that_python_may_read_otherwise_is_not_evaluated(text):
    with pytest.raises(BadExpression) as refused:
        Expression.of(text)
    assert str(refused.value).startswith(f"{text} cannot be evaluated here as Java does: ")
