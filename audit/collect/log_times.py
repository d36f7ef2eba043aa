"""The times of a log's lines, even if lines have no date or no year."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta

from pulsar_conformance.adapters.operated.log_lines import LogLine
from pulsar_conformance.audit.collect.sources import HALF_DAY, time_of

HEAD = 80
"""Number of characters at the start of a line in which its time is sought."""

CLOCK = re.compile(
    r"(?:(?<![\d:])|(?<=\d{4}:))(\d\d:\d\d:\d\d(?:[.,]\d+)?)(?:\b(?!:)|(?=Z\b))"
    r"(Z|[+-]\d\d(?::?\d\d)?(?!\d))?"
)
"""Matches a time of day, with a zone if it has one, but without a date."""

SHORT_CLOCK = re.compile(r"(?<![\w:.])\d{1,2}:[0-5]\d\b(?!\.?\d)")
"""Matches a time without seconds, or the start of a time with a one-digit hour."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH_AND_DAY = re.compile(rf"(?:<\d+>)?({'|'.join(MONTHS)}) +(\d{{1,2}}) +")
"""Matches the month and the day, without a year, at the start of a syslog line."""

NO_DATE = re.compile(r"\[\d{1,7}\]|\b(?:\d+\.){3}\d+(?::\d+)?|^<\d+>")
"""Matches numbers before a time that are not part of a date: process IDs, addresses, priorities."""

DATE_BEFORE = re.compile(r"(?:^|[\s\[\](){}<>\"'=|,])(?:[IWEF]\d{4}\b|\d)")
"""Matches a possible date before a time: a number, or a letter and four digits, as in glog."""

DATE_AFTER = re.compile(
    r"[\s,]*(?:(?:UTC|GMT|[A-Z]{1,3}T|[+-]\d\d:?\d\d)\s+)?(?:"
    r"\d{1,4}([/.-])(?:\d{1,2}|[A-Za-z]{3,})\1\d{1,4}|(?:19|20)\d\d|"
    rf"(?:\d{{1,2}} )?(?:{'|'.join(MONTHS)})[a-z]* \d{{1,4}})(?![\w.-])"
)
"""Matches a date that follows a time."""

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]")

LARGEST_GAP = timedelta(days=31)
"""Maximum time between two successive lines without a year; after more, the year is unclear."""

READ_TIMES = (
    "a time is read in the form 2026-11-20T10:06:01Z, with seconds, at the start of a line or in a "
    "field such as timestamp, or in milliseconds since 1970"
)
"""Text for users that lists the formats of times that can be read in a log."""


class LogTimes:
    """Determines the times of a log's lines, which are given to `time_of` in order."""

    def __init__(self, date: datetime | None) -> None:
        """Begin a log. `date` is the day of the first line, for lines without a date or year."""
        self._day = self._given = date
        self._clock = ""
        self._has_months = False

    def time_of(self, line: LogLine) -> datetime | None:
        """Return the time of the next line of the log; None if it cannot be read."""
        whole = (*line.times, line.text[:HEAD], line.saved_at)
        if at := next(filter(None, map(time_of, whole)), None):
            return at
        head = _line_head(line)
        clock = CLOCK.search(head)
        if not clock or self._day is None:
            return None
        if named := _month_and_day(head, clock):
            day = self._date_in_year(named)
            if day is None:
                return None
            self._day, self._has_months = day, True
        elif _unknown_date(head):
            return None
        else:
            self._day += timedelta(days=clock[1] < self._clock)
        self._clock = clock[1]
        return time_of(f"{self._day:%Y-%m-%d}T{clock[1]}{clock[2] or ''}")

    def why_refused(self, line: LogLine) -> str:
        """Return why a log cannot be imported if it contains this line, whose time cannot be read.

        Empty if the log can be imported without the line.
        """
        head = _line_head(line)
        clock = CLOCK.search(head)
        if clock and _month_and_day(head, clock):
            return self._why_unclear(head[: clock.end()])
        if written := _unknown_date(head):
            return (
                f"'{written}' has a date or time in an unknown format, which --date does not "
                "replace; write ISO dates and 24-hour times with seconds, such as "
                "2026-11-20T22:06:01"
            )
        if self._day is None and clock:
            return "its lines have a time but no date; give the date of the first line with --date"
        return ""

    def _date_in_year(self, named: re.Match[str]) -> datetime | None:
        """Return the day of a line that names month and day; None if its year is unclear.

        The first such line must be from the date that the user gave.
        """
        assert self._day
        gap = LARGEST_GAP if self._has_months else timedelta(0)
        for year in (self._day.year, self._day.year + 1, self._day.year - 1):
            with suppress(ValueError):  # The year may have no February 29.
                month = MONTHS.index(named[1]) + 1
                day = self._day.replace(year=year, month=month, day=int(named[2]))
                if abs(day - self._day) <= gap:
                    return day
        return None

    def _why_unclear(self, written: str) -> str:
        """Return why the year is unknown for a line that names only its month and day."""
        if self._given is None:
            return f"'{written}' has no year; give the date of the first line with --date"
        if not self._has_months:
            date = f"--date {self._given:%Y-%m-%d}"
            return (
                f"'{written}' has no year, and is not from {date}; give the date of the first line"
            )
        days = f"{LARGEST_GAP.days} days of the line before"
        return (
            f"'{written}' has no year, and no year puts it within {days}; "
            "write ISO dates, such as 2026-11-20T10:06:01"
        )


def _line_head(line: LogLine) -> str:
    """Return the part of a line in which its time is sought."""
    return next(filter(None, line.times), line.text[:HEAD])


def _month_and_day(head: str, clock: re.Match[str]) -> re.Match[str] | None:
    """Return the month and day before a time; None without a date in one of the known formats."""
    named = MONTH_AND_DAY.fullmatch(head[: clock.start()])
    return None if _time_suffix(head, clock) else named


def _time_suffix(head: str, clock: re.Match[str]) -> re.Match[str] | None:
    """Return the date, AM or PM that follows a time and changes its meaning; None without any."""
    return HALF_DAY.match(head, clock.end()) or DATE_AFTER.match(head, clock.end())


def _unknown_date(head: str) -> str:
    """Return the start of a line up to its time, if it has a date in an unknown format.

    Empty if there is no such date, or no time.
    """
    clock = CLOCK.search(head) or SHORT_CLOCK.search(head)
    if not clock:
        return ""
    before, after = NO_DATE.sub("", head[: clock.start()]), _time_suffix(head, clock)
    if clock.re is SHORT_CLOCK:
        before = ISO_DATE.sub("", before)
    if not after and not DATE_BEFORE.search(before):
        return ""
    return head[: (after or clock).end()].strip()
