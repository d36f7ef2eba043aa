"""Changes of isolation policies, as releases before 4.0 evaluate them."""

from __future__ import annotations

from collections.abc import Iterator

from pulsar_conformance.reference import answers
from pulsar_conformance.reference.context import Case, Context
from pulsar_conformance.reference.derivation import Derivation, Step
from pulsar_conformance.reference.isolation import CHANGED, NONE
from pulsar_conformance.reference.placement import matches_any
from pulsar_conformance.reference.released.release import ReleasedWays

CHANGE, WAY = "policy.changed", "policy-change"


def changed(context: Context, case: Case, release: ReleasedWays) -> Derivation:
    """Return the namespaces that a changed isolation policy unloads."""
    way = release.ways[WAY]
    if way == "unscoped" or (way == "all-of-new" and case["scope"] is not None):
        why = f"{release.title}: {release.means(WAY)}"
        return Derivation({"unsupported": why}, lambda: (Step("refused", why),))
    if way not in ("of-new", "all-of-new"):
        return answers.ANSWERS[CHANGE](context, case)
    old, new = case["old"], case["new"]
    matching = [one for one in case["namespaces"] if matches_any(new["namespaces"], one)]
    compared = case["scope"] == CHANGED and old and sorted(old["primary"]) == sorted(new["primary"])
    regexes = sorted({*old["namespaces"]} ^ {*new["namespaces"]}) if compared else []
    unloaded = [one for one in matching if not compared or matches_any(regexes, one)]
    unloaded = [] if case["scope"] == NONE else unloaded

    def explain() -> Iterator[Step]:
        yield Step("scope", case["scope"] or "not given, so that all that match are unloaded")
        yield Step("matching", f"{', '.join(matching) or 'none'} ({release.place(WAY)})")
        if compared:
            yield Step("changed", ", ".join(regexes) or "nothing")
        yield Step("unloaded", ", ".join(unloaded) or "nothing")

    return Derivation({"unload": unloaded}, explain)
