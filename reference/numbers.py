"""Exact numbers and their decimal notation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pulsar_conformance.specs.text import in_number

if TYPE_CHECKING:
    from fractions import Fraction as Fraction
else:
    try:
        import gmpy2

        Fraction = gmpy2.mpq
    except (
        ImportError
    ):  # Use Python's own fractions if no compiled package can be installed, as in a browser.
        from fractions import Fraction

Percent: TypeAlias = Fraction
"""A percentage as an exact number: 85 is 85 %."""

Rate: TypeAlias = Fraction
"""Messages per second or bytes per second, depending on the name of the variable."""

Minutes: TypeAlias = Fraction

ZERO = Fraction(0)

MIN_WITH_EXPONENT = 10**15
"""Numbers of at least this size are printed with a power of ten."""


CACHED_NUMBERS = 1 << 16
"""Maximum number of cached exact values; the same numbers occur in thousands of cases."""


@lru_cache(CACHED_NUMBERS)
def exact(number: float | int | Fraction) -> Fraction:
    """Return the exact value of a JSON number."""
    return number if isinstance(number, Fraction) else Fraction(number)


def parse_decimal(text: str) -> Fraction:
    """Parse a decimal number exactly. Errors: `decimal.InvalidOperation`."""
    return Fraction(Decimal(text))


def total(numbers: Iterable[Fraction]) -> Fraction:
    """Return the exact sum."""
    return sum(numbers, ZERO)


EXACT_PLACES = 3
"""Decimal places up to which a number is printed without rounding."""


def plain(number: Fraction, digits: int = 2) -> str:
    """Format a number in decimal notation without trailing zeros: 80, 0.5, 189.315.

    Up to three decimal places are printed exactly; longer numbers are rounded to `digits` places,
    as in 72.73 for 800 / 11.
    """
    if number >= MIN_WITH_EXPONENT:
        return f"{Decimal(int(number.numerator)) / int(number.denominator):.4g}"
    nearest = float(number)
    text = f"{nearest:.{EXACT_PLACES if round(nearest, EXACT_PLACES) == nearest else digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


MOST_PLACES = 15
"""Maximum number of decimal places of a printed number."""


def places_apart(
    number: Fraction, bound: Fraction, written: Callable[[Fraction, int], str] = plain
) -> int:
    """Return the number of decimal places, at least 2, that `written` needs to print two numbers
    differently.
    """
    if number == bound:
        return 2
    places = (
        count for count in range(2, MOST_PLACES) if written(number, count) != written(bound, count)
    )
    return next(places, MOST_PLACES)


def jsonable(number: Fraction) -> int | float:
    """Return the nearest JSON number; an int if the value is whole."""
    return int(number.numerator) if number.denominator == 1 else float(number)


def quantity(number: Fraction | int, noun: str) -> str:
    """Format a number with its noun: 1 cycle, 2 cycles, 0.5 minutes."""
    written = plain(exact(number))
    return f"{written} {in_number(noun, 1 if written == '1' else number)}"


def throughput(number: Rate, digits: int = 2) -> str:
    """Format bytes per second with a suitable unit: 30 MB/s, 12.5 KB/s."""
    for unit, size in (("GB/s", 10**9), ("MB/s", 10**6), ("KB/s", 10**3)):
        if number >= size:
            return f"{plain(number / size, digits)} {unit}"
    return f"{plain(number, digits)} B/s"


def messages(number: Rate, digits: int = 2) -> str:
    """Format messages per second: 50 msg/s."""
    return f"{plain(number, digits)} msg/s"
