"""Names of settings: which are known, and which known name an unknown one resembles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache

from pulsar_conformance.specs.broker import broker_settings, renamed
from pulsar_conformance.specs.loading import load

MIN_SIMILARITY = 0.85
"""Similarity, from 0 to 1, to a known name from which an unknown name counts as misspelt."""

ABOUT_BALANCING = re.compile(
    r"load.?balanc|load.?manager|shedd|unload|lowerBoundary|bundle", re.IGNORECASE
)
"""Matches names of settings about load balancing, including settings that do not exist."""


@cache
def why_unknown(name: str, release: str | None = None) -> str | None:
    """Return why a release does not know the name of a setting, or None if it does.

    The reason is empty for settings of other parts of the broker. If `release` is None, the names
    of all releases and documents are known.
    """
    own = broker_settings().get(name)
    if own is not None and release is not None and not own.is_in(release):
        return f"Pulsar {release} has no such setting; it was added in {own.since}"
    if own is not None or name in load().settings or name in load().hidden:
        return None
    if name in renamed():
        return f"its name is now {renamed()[name]}"
    near = get_close_matches(name.lower(), spellings(), n=1, cutoff=MIN_SIMILARITY)
    if near:
        return f"there is no such setting; the most similar name is {spellings()[near[0]]}"
    return "there is no such setting" if ABOUT_BALANCING.search(name) else ""


@cache
def spellings() -> Mapping[str, str]:
    """Map each known name in lower case to its proper spelling."""
    known = (*load().settings, *load().hidden, *broker_settings())
    return {name.lower(): name for name in known}
