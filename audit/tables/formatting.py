"""Texts as Spark columns, such as formatted numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

UNITS: Mapping[str, float] = {"GB/s": 1e9, "MB/s": 1e6, "KB/s": 1e3}
"""Units of throughput, the largest first, each with its bytes per second."""


def plain(number: Column, places: int = 2) -> Column:
    """Return a number as text with at most `places` decimal places, such as 72.73, 80 or 0.5."""
    rounded = F.round(number, places).try_cast(f"decimal(38, {places})").cast("string")
    return F.coalesce(F.regexp_replace(rounded, r"\.?0+$", ""), number.cast("string"))


def plain_distinct_from(number: Column, bound: Column) -> Column:
    """Return a number as `plain` does, with more places if it would look equal to a different
    bound.
    """
    same = (plain(number) == plain(bound)) & (number != bound)
    longer = plain(number, MANY_DECIMAL_PLACES)
    longer = F.when(longer == plain(bound, MANY_DECIMAL_PLACES), number.cast("string")).otherwise(
        longer
    )
    return F.when(same, longer).otherwise(plain(number))


MANY_DECIMAL_PLACES = 6
"""Number of decimal places that make most differences visible."""


def throughput(amount: Column) -> Column:
    """Return bytes per second as text in a suitable unit, such as 30 MB/s."""
    text = F.concat(plain(amount), F.lit(" B/s"))
    for unit, size in reversed(tuple(UNITS.items())):
        text = F.when(amount >= size, joined(plain(amount / size), unit)).otherwise(text)
    return text


def messages(amount: Column) -> Column:
    """Return messages per second as text."""
    return joined(plain(amount), "msg/s")


MEASURED: Mapping[str, Callable[[Column], Column]] = {
    "throughput": throughput,
    "message-rate": messages,
}
"""Functions that format traffic with its unit, by the reading `shed-measure`."""


def joined(*parts: Column | str) -> Column:
    """Return a text column with strings and columns, separated by spaces."""
    return F.concat_ws(" ", *(F.lit(one) if isinstance(one, str) else one for one in parts))


def abridged(text: Column, most: int) -> Column:
    """Return the text; if it is too long, only its beginning and end with ` … ` between them.

    The result has about `most` characters, and is cut between words.
    """
    half = most // 2
    begin = F.regexp_replace(F.substring(text, 1, half), rf"\S{{0,{MAX_DROPPED_WORD}}}$", "")
    end = F.regexp_replace(F.substring(text, -half, half), rf"^\S{{0,{MAX_DROPPED_WORD}}}", "")
    return F.when(F.length(text) > most, F.concat(begin, F.lit("…"), end)).otherwise(text)


MAX_DROPPED_WORD = 60
"""Maximum length of a word that `abridged` drops rather than cuts."""


def precise_utc(time: Column | str) -> Column:
    """Return a time as ISO 8601 in UTC, with microseconds only if it has any."""
    text = F.date_format(time, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'")
    return F.regexp_replace(text, r"\.?0*Z$", "Z")
