"""The sums in the hand calculations of examples have the written results, within rounding."""

import ast
import operator
import re
from decimal import Decimal
from fractions import Fraction
from math import sqrt

import pytest
from pulsar_conformance import fixtures

NUMBER = r"(?:0x[0-9a-f]+|\d+(?:\.\d+)?)"
TERM = rf"\(*-?{NUMBER}(?: %)?\)*"
SUM = re.compile(
    rf"(?<![\w.…^/*+-])(?<![+/*x-] )({TERM}(?: ?(?:[-+*/^]|(?<= )x(?= )) ?{TERM})+)"
    rf"(?: [A-Za-z]+(?:/s)?)? = ({NUMBER})(?![\w/]|\.\d| (?:[-+x*/] |times in))( ?%)?"
)
SHARE = re.compile(rf"({NUMBER}) % of ({NUMBER}) (?:[KM]?B|msg)/s = ({NUMBER}) (?:[KM]?B|msg)/s")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
ROOT = re.compile(rf"\broot of [^;:]*?({NUMBER}) is ({NUMBER}) points")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
LINES = [(one.id, line) for one in fixtures.examples() for line in one.arithmetic]


def number_of(text):
    return Fraction(int(text, 16) if text.startswith("0x") else Decimal(text))


def half_unit(text):
    """Return half a unit of a number's last decimal place, which is the largest rounding error."""
    return Fraction(1, 2 * 10 ** len(text.partition(".")[2]))


def value_of(node):
    """Return the exact value of a parsed sum, whose numbers are strings."""
    if isinstance(node, ast.UnaryOp):
        return -value_of(node.operand)
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value_of(node.left), value_of(node.right))
    return Fraction(node.value)


def wrong_sums(line):
    """Return the sums in a line that do not have the written results."""
    found = []
    line = THOUSANDS.sub("", line)
    for said, result, percent in SUM.findall(line):
        said = said.lstrip("(") if said.count("(") > said.count(")") else said
        if said.count("(") != said.count(")"):
            continue  # a part of something else, such as min(0.5, 1 / 2)
        plain = said.replace(" %", "").replace(" x ", " * ").replace("^", "**")
        parsed = ast.parse(re.sub(NUMBER, lambda one: f"'{number_of(one[0])}'", plain), mode="eval")
        value, written = value_of(parsed.body), number_of(result)
        rounded = sum(half_unit(one) for one in re.findall(NUMBER, plain) if "." in one)
        exact = [value, 100 * value] if percent else [value]
        if not any(abs(one - written) <= half_unit(result) + rounded for one in exact):
            found.append(f"{said} = {result}: {float(value):.6g}")
    for share, whole, part in SHARE.findall(line):
        value = number_of(share) * number_of(whole) / 100
        rounded = half_unit(share) * number_of(whole) / 100 if "." in share else 0
        if abs(value - number_of(part)) > half_unit(part) + rounded:
            found.append(f"{share} % of {whole}, {part}: {float(value):.6g}")
    for square, root in ROOT.findall(line):
        value = Fraction(sqrt(number_of(square)))
        if abs(value - number_of(root)) > half_unit(root):
            found.append(f"root of {square}, {root}: {float(value):.6g}")
    return found


def test_each_sum_of_a_calculation_by_hand_comes_to_what_is_written():
    wrong = [(name, one) for name, line in LINES for one in wrong_sums(line)]
    assert wrong == []


def test_most_calculations_have_a_sum_that_is_checked():
    assert sum(len(SUM.findall(line)) for _, line in LINES) > 300


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("(60 + 50) / 2 = 55 %", 0),
        ("the root of (529 + 169 + 1296) / 3 = 664.67 is 25.78 points", 0),
        ("the root of (529 + 169 + 1296) / 3 = 664.67 is 25.75 points", 1),
        ("80 x 10 / 11 = 72.73, limit 72.73 + 10 = 82.73", 0),
        ("80 x 10 / 11 = 72.72", 1),
        ("750000/1000000 = 75 %", 0),
        ("10 + 20 = 31", 1),
        ("15 % of 100 MB/s = 15 MB/s", 0),
        ("15 % of 100 MB/s = 16 MB/s", 1),
        ("100 x 1,000,000 = 100,000,000", 0),
    ],
)
def test_what_is_wrong_is_found(line, wrong):
    assert len(wrong_sums(line)) == wrong
