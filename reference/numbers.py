"""Exact numbers, and how a person would write them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from fractions import Fraction as Fraction
else:
    try:
        from quicktions import Fraction
    except ImportError:  # where nothing compiled can be installed, as in a browser
        from fractions import Fraction

Percent: TypeAlias = Fraction
"""A share in percentage points: 85 is 85 %."""

Rate: TypeAlias = Fraction
"""Messages per second, or bytes per second where the name says throughput."""

Minutes: TypeAlias = Fraction

ZERO = Fraction(0)

LONG = 10**15
"""From here on a person writes powers of ten."""


REMEMBERED = 1 << 16
"""So many numbers are made exact once: the same few stand in thousands of cases."""


@lru_cache(REMEMBERED)
def exact(number: float | int | Fraction) -> Fraction:
    """The number that a JSON reader made, without any rounding."""
    return number if isinstance(number, Fraction) else Fraction(number)


def written(text: str) -> Fraction:
    """The number that a decimal text says. Errors: `decimal.InvalidOperation`.

    No text is given to a compiled `Fraction`: quicktions 1.24 reads "1" and writes over the byte
    string that Python keeps for b"\\0", for whatever else runs in the process.
    """
    return Fraction(Decimal(text))


def total(numbers: Iterable[Fraction]) -> Fraction:
    """The sum; whole numbers, as most are, are added as such."""
    known = list(numbers)
    if all(one.denominator == 1 for one in known):
        return exact(sum(one.numerator for one in known))
    return sum(known, ZERO)


PLACES = 3
"""So many places are written where there are no more."""


def plain(number: Fraction, digits: int = 2) -> str:
    """Decimal notation without trailing zeros: 80, 0.5, 189.315 as it is, 800 / 11 as 72.73.

    What takes no more than three places stands as it is; anything else is rounded to `digits`.
    """
    if number >= LONG:
        return f"{Decimal(number.numerator) / number.denominator:.4g}"
    nearest = float(number)
    text = f"{nearest:.{PLACES if round(nearest, PLACES) == nearest else digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def jsonable(number: Fraction) -> int | float:
    """The JSON number nearest to an exact one: an integer where it is one."""
    return number.numerator if number.denominator == 1 else float(number)


def throughput(number: Rate) -> str:
    """Bytes per second in the unit that suits them: 30 MB/s, 12.5 KB/s."""
    for unit, size in (("GB/s", 10**9), ("MB/s", 10**6), ("KB/s", 10**3)):
        if number >= size:
            return f"{plain(number / size)} {unit}"
    return f"{plain(number)} B/s"


def messages(number: Rate) -> str:
    """Messages per second."""
    return f"{plain(number)} msg/s"
