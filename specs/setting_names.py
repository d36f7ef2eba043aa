"""Known names of settings, and the known name that an unknown name resembles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache

from pulsar_conformance.specs.broker import (
    BrokerSetting,
    broker_data,
    broker_settings,
    current_names,
    nearest_release,
    was_added_by,
)
from pulsar_conformance.specs.judged import assumption_text, has_setting
from pulsar_conformance.specs.loading import load
from pulsar_conformance.specs.versions import precedes

MIN_SIMILARITY = 0.85
"""Minimum similarity to a known name, from 0 to 1, of a name that counts as misspelt."""

LONG_NAME = 12
"""Minimum length of a name that counts as misspelt if a single known name begins with it."""

ABOUT_BALANCING = re.compile(
    r"load.?balanc|load.?manager|shedd|unload|lowerBoundary|bundle|flowOrQps", re.IGNORECASE
)
"""Pattern of names of settings about load balancing, existing or not."""


@cache
def why_unknown(name: str, version: str | None = None) -> str | None:
    """Return why a version does not know a setting; None if it does.

    The reason is empty for settings of other parts of the broker. If `version` is None, a name is
    known if any release or document has it.
    """
    own = broker_settings().get(name)
    if own is not None and version is not None and not has_setting(own, version):
        known = nearest_release(version)
        assumed = (
            f"{known}, whose behavior is assumed for {version},"
            if assumption_text(version)
            else version
        )
        former = broker_settings().get(own.replaces)
        has = former is not None and has_setting(former, version)
        instead = f"; its name there is {own.replaces}" if has else ""
        return f"Pulsar {assumed} has no such setting{_versions_text(own, version)}{instead}"
    if own is not None or name in load().settings or name in load().hidden:
        return None
    if name in current_names():
        return f"its name is now {current_names()[name]}"
    if near := _similar_name(name, version):
        missing = why_unknown(near, version) if version is not None else None
        but = f", but {missing}" if missing else ""
        return f"there is no such setting; the most similar name is {near}{but}"
    return "there is no such setting" if ABOUT_BALANCING.search(name) else ""


def _similar_name(name: str, version: str | None) -> str | None:
    """Return the known name that a name resembles or begins, if possible one that `version` has;
    None if it resembles none.
    """
    for known in (_names_known_to(version), spellings()):
        near = get_close_matches(name.lower(), known, n=1, cutoff=MIN_SIMILARITY)
        longer = [one for one in known if one.startswith(name.lower())]
        if near := near or (longer if len(longer) == 1 and len(name) >= LONG_NAME else []):
            return known[near[0]]
    return None


@cache
def _names_known_to(version: str | None) -> Mapping[str, str]:
    """Return those of `spellings` that a version knows; all of them if the version is None."""
    return {
        lower: name for lower, name in spellings().items() if why_unknown(name, version) is None
    }


def deprecation_text(name: str, version: str) -> str:
    """Return text saying that a version deprecates a setting or its name; empty if it does not."""
    newer = (one for one in broker_settings().values() if one.replaces == name)
    if renamed := next((one.name for one in newer if has_setting(one, version)), ""):
        return f"deprecated: its name is now {renamed}"
    known = broker_settings().get(name)
    is_deprecated = known is not None and known.is_deprecated_in(nearest_release(version))
    return "deprecated" if is_deprecated else ""


NOT_DYNAMIC = "pulsar-admin refuses to set it, and a broker reads it only from its files"


def why_not_dynamic(name: str, version: str) -> str:
    """Return why a version ignores a setting in the dynamic configuration.

    Empty if the version uses the setting, or if this is unknown.
    """
    known = load().annotated.get(name)
    if known is not None and known.dynamic is False:
        return f"it is not dynamic: {NOT_DYNAMIC}"
    firsts = broker_data()["dynamic"].get(name, ())
    if version and firsts and precedes(version, firsts):
        return f"it is dynamic from {' and '.join(firsts)} on, but not in {version}: {NOT_DYNAMIC}"
    return ""


def _versions_text(setting: BrokerSetting, version: str) -> str:
    """Return text on the versions that added a setting; empty if none is known."""
    firsts = broker_data()["first"].get(setting.name)
    if firsts and not was_added_by(setting.name, version):
        return f"; it was added in {' and '.join(firsts)}"
    known = setting.is_in(nearest_release(version))
    return "" if known else f"; it was added in {setting.since} at the latest"


@cache
def spellings() -> Mapping[str, str]:
    """Map each known name in lower case to its proper spelling."""
    known = (*load().settings, *load().hidden, *broker_settings())
    return {name.lower(): name for name in known}
