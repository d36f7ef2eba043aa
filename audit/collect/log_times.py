"""Determines the times of a log's lines, also of lines that have a time but no date."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pulsar_conformance.adapters.operated.log_lines import LogLine
from pulsar_conformance.audit.collect.sources import time_of

HEAD = 80
"""Number of characters at the start of a line in which its time is sought."""

CLOCK = re.compile(r"\b(\d\d:\d\d:\d\d(?:[.,]\d+)?)\b")

READ_TIMES = (
    "a time is read in the form 2026-11-20T10:06:01Z, with seconds, at the start of a line or in a "
    "field such as timestamp, or in milliseconds since 1970"
)
"""Text on which times of log lines can be read."""


class LogTimes:
    """Determines the times of a log's lines, which are given to `time_of` in order."""

    def __init__(self, date: datetime | None) -> None:
        """Begin a log. `date` is the day of the first line, for lines without a date."""
        self._day = date
        self._clock = ""

    def time_of(self, line: LogLine) -> datetime | None:
        """Return the time of the next line; None if it cannot be read."""
        whole = (*line.times, line.text[:HEAD], line.saved_at)
        if at := next(filter(None, map(time_of, whole)), None):
            return at
        clock = CLOCK.search(_head(line))
        if not clock or self._day is None:
            return None
        self._day += timedelta(days=clock[1] < self._clock)
        self._clock = clock[1]
        return time_of(f"{self._day:%Y-%m-%d}T{clock[1]}")

    def why_refused(self, line: LogLine) -> str:
        """Return why a log with this line, whose time cannot be read, is not to be imported.

        Empty if the line may be left out.
        """
        if self._day is None and CLOCK.search(_head(line)):
            return "its lines have a time but no date; give the date of the first line with --date"
        return ""


def _head(line: LogLine) -> str:
    """Return the part of a line in which its time is sought."""
    return next(filter(None, line.times), line.text[:HEAD])
