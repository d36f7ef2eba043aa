"""Formats changes between two releases as text in 80 columns and as JSON, and reads the JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.pulsar.versions import version_key
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.compare.changes import (
    Cause,
    Change,
    Changes,
    PairChanges,
    cause_name,
)
from pulsar_conformance.conformance.compare.differences import (
    Factor,
    all_factors,
    decides_differently,
)
from pulsar_conformance.conformance.explain import paper
from pulsar_conformance.reference import MissingSetting, Model, fold_steps
from pulsar_conformance.specs.broker import broker_settings, default_in, every_release
from pulsar_conformance.specs.text import counted, enumerated, paragraph, written_value

Json = Mapping[str, Any]
Versions = tuple[str, str]
CONFIGURATION = "ServiceConfiguration"
"""The class of Pulsar that defines the defaults."""

UNEXPLAINED = "no document mentions it, and no recorded way or reading explains it"

UNFORESEEN = "The model does not predict this answer, and cannot explain it."


def comparison_heading(older: str, newer: str) -> str:
    """Format the title of a comparison."""
    title = f"What changed from {older} to {newer}"
    return f"{title}\n{'=' * len(title)}"


def pair_lines(pair: PairChanges) -> Iterator[str]:
    """Yield all changes between two releases, without the title."""
    versions, files = pair.versions, iter(pair.files)
    changed = [one for one in pair.operations if one.found or one.apart]
    for each in changed:
        yield from operation_lines(each, versions, files)
    unchanged = [one for one in pair.operations if one not in changed]
    if asked := [f"{one.operation} ({one.asked})" for one in unchanged if one.asked]:
        yield from ("", *paragraph(f"nothing changed (cases asked): {', '.join(asked)}"))
    if unasked := [one.operation for one in unchanged if not one.asked]:
        every = specs.load()
        profiles = map(profile_of, versions)
        based = [every.profile(one).based_on or one for one in profiles]
        documents = enumerated([*dict.fromkeys(based)])
        why = f"not asked, as no case is drawn for the rules of {documents}"
        yield from ("", *paragraph(f"{why}: {', '.join(unasked)}"))
    yield from settings_lines(pair.settings, versions)
    yield from lines_without_case(pair.others, versions)


def operation_lines(changes: Changes, versions: Versions, files: Iterator[str]) -> Iterator[str]:
    """Yield the number of changed cases of an operation, then each kind of change."""
    profiles = tuple(map(profile_of, versions))
    yield ""
    often = sum(one.cases for one in changes.found) + changes.together
    yield f"{changes.operation}: {counted(changes.asked, 'case')}, {often} decided differently"
    if changes.together:
        yield from paragraph(f"{changes.together} of them for several reasons at once", 2)
    if changes.apart:
        apart = (
            f"not listed: {changes.apart} more, where ties, random choice or rounding could decide"
        )
        yield from paragraph(apart, 2)
    for one in changes.found:
        yield ""
        yield from paragraph(f"{cause_name(one.cause)} ({counted(one.cases, 'case')})", 2)
        yield from _describe_subject(one, versions, profiles)
        yield from paper.format_entry("smallest case", f"{next(files)}  ({one.trial.size})", 4, 13)
        yield from settings_of_cases([question.case for question in one.trial.questions])
        for place in (0, 1):
            yield from _describe_decision(one, place, versions, profiles)


def settings_of_cases(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the settings of cases, which replace the defaults, as lines of text."""
    given = dict.fromkeys(
        f"{name}={written_value(value)}"
        for case in cases
        for name, value in case.get("settings", {}).items()
    )
    if given:
        yield "    settings of the case"
        for one in given:
            yield from paragraph(one, 6)


def changes_without_case(changes: Sequence[Changes], versions: Versions) -> list[Factor]:
    """Return the changes of ways and readings that concern both releases but that no case shows."""
    shown = {factor.name for each in changes for one in each.found for factor in one.cause.factors}
    every, profiles = specs.load(), [profile_of(one) for one in versions]
    ways = {
        name
        for name, one in every.ways.items()
        if version_key(one.since) <= version_key(versions[0])
    }
    first, second = (every.profile(one).readings for one in profiles)
    concerned = (ways | (first.keys() & second.keys())) - shown
    changed = (one for one in all_factors(*profiles) if one.older != one.newer)
    return [one for one in changed if one.name in concerned]


def lines_without_case(changed: Sequence[Factor], versions: Versions) -> Iterator[str]:
    """Yield the changes that no case shows as lines of text, each with its place in the source."""
    if not changed:
        return
    yield from ("", "changed as well, but no drawn case shows it")
    for one in changed:
        yield from ("", *paragraph(one.name, 2), *paragraph(_question_text(one), 4))
        file = way_case_file(one.name)
        yield from paragraph(f"case: {file}" if file else why_no_case(one.name), 4)
        for index, version in enumerate(versions):
            where = _place_in_parentheses(one, (one.older, one.newer)[index])
            yield from paragraph(f"{version}: {_meaning_text(one, index)}{where}", 4)


def way_case_file(name: str) -> str:
    """Return the case file that shows the effect of a way; empty if there is none."""
    file = f"fixtures/ways/{name}.json"
    return file if fixtures.bundled_path(file).exists() else ""


def why_no_case(name: str) -> str:
    """Return the reason why no case can show a way or a reading; empty if a case can."""
    known = specs.load().ways
    return known[name].without_case if name in known else ""


def _place_in_parentheses(factor: Factor, value: str) -> str:
    """Format the class and method of an alternative in parentheses, if known."""
    place = specs.load().ways[factor.name].alternatives[value].place if factor.kind == "way" else ""
    return f" ({place})" if place else ""


def _question_text(factor: Factor) -> str:
    if factor.kind == "class":
        return f"Does the release have the class {factor.newer}?"
    every = specs.load()
    known = every.ways if factor.kind == "way" else every.readings
    return known[factor.name].question


def with_annotated_settings(changed: Sequence[Factor], versions: Versions) -> list[Factor]:
    """Return changed settings, including those that only annotations in Pulsar's source name."""
    if not {*versions} <= {*every_release()}:
        return list(changed)
    names = {one.name for one in changed}
    annotated = (
        Factor("setting", name, *(default_in(name, one) for one in versions))
        for name in broker_settings()
        if name not in names
    )
    return [*changed, *(one for one in annotated if one.older != one.newer)]


def settings_lines(settings: Sequence[Factor], versions: Versions) -> Iterator[str]:
    """Yield settings that were added, removed, or got another default."""
    yield ""
    older, newer = versions
    if not settings:
        yield "settings: no default changed"
        return
    yield f"settings that changed from {older} to {newer}"
    for one in settings:
        yield from paragraph(f"{one.name}: {_setting_change(one)}", 2)


def _setting_change(factor: Factor) -> str:
    if factor.newer is None:
        return f"gone; its default was {_default_text(factor.older)}"
    if factor.older is not None:
        return f"{_default_text(factor.older)} → {_default_text(factor.newer)}"
    known = broker_settings().get(factor.name)
    instead = f", in place of {known.replaces}" if known and known.replaces else ""
    return f"new{instead}; its default is {_default_text(factor.newer)}"


def changes_by_release(summaries: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield, for each changed decision and default, the releases in which it changed."""
    yield from ("Changes by release", "==================")
    turned: dict[tuple[str, str], list[str]] = {}
    for pair in summaries:
        for one in pair["changes"]:
            turned.setdefault((one["operation"], one["cause"]), []).append(pair["newer"])
        for one in pair["settings"]:
            turned.setdefault(("settings", one["name"]), []).append(pair["newer"])
    for (operation, cause), versions in sorted(turned.items()):
        yield from paragraph(f"{operation}, {cause}: {', '.join(versions)}")
    if not turned:
        yield "nothing"


def profile_of(version: str) -> str:
    """Return the profile that describes a release."""
    every = specs.load().profiles.values()
    return next(one.id for one in every if one.released and version in one.title.split())


def _describe_subject(change: Change, versions: Versions, profiles: Sequence[str]) -> Iterator[str]:
    """Yield the subject of a change: the question of a way or reading, a setting, or rules."""
    every = specs.load()
    for one in change.cause.factors:
        counts = f"The default of {one.name} counts."
        if one.older is None:
            counts = f"{versions[0]} has no {one.name}."
        yield from paragraph(counts if one.kind == "setting" else _question_text(one), 4)
    for index, version in enumerate(versions):
        for rule in change.broken[index]:
            title = every.rules[rule].title
            source = ", ".join(every.sources_of(every.rules[rule], profiles[index]))
            yield from paragraph(f"{version} breaks {rule}: {title} ({source})", 4)
            if rule in change.cause.rules and is_known_to_break(versions[1 - index], rule):
                yield from paragraph(f"{versions[1 - index]} breaks it in other cases", 4)
    if not change.cause.factors and not any(change.broken):
        yield from paragraph(f"{UNEXPLAINED}.", 4)


def _describe_decision(
    change: Change, place: int, versions: Versions, profiles: Sequence[str]
) -> Iterator[str]:
    """Yield a release's decision: reason, place in the source, arithmetic and answer."""
    yield f"    {versions[place]}"
    for one in change.cause.factors:
        means = _meaning_text(one, place)
        yield from paragraph(f"{one.name}: {means}" if means else one.name, 6)
        if where := _place_text(one, place):
            yield from paragraph(where, 6)
    for why in _reasons_in_source(change.cause, profiles[place]):
        yield from paragraph(why, 6)
    yield from _derivation(change, place, profiles[place])
    yield "      answer"
    yield from paper.format_answer(change.answers[place], 8)


def _derivation(change: Change, place: int, profile: str) -> Iterator[str]:
    """If the model predicts the answer, yield its derivation in `explain`'s format; else a note."""
    trial = change.trial
    try:
        derived = Model(profile).derive(*trial.questions[0])
    except MissingSetting:
        derived = None
    answer = change.answers[place]
    if derived is None or decides_differently(trial.operation, dict(derived.answer), answer):
        yield from paragraph(UNFORESEEN, 6)
        return
    deeper = [replace(step, label=f"      {step.label}") for step in fold_steps(derived.steps)]
    yield from paper.format_derivation(deeper)


def _meaning_text(factor: Factor, place: int) -> str:
    value = (factor.older, factor.newer)[place]
    every = specs.load()
    if factor.kind == "class":
        return "No." if value is None else "Yes."
    if factor.kind == "way":
        return every.ways[factor.name].alternatives[value].means
    if factor.kind == "reading":
        alternatives = every.readings[factor.name].alternatives
        return next(each.means for each in alternatives if each.value == value)
    if factor.older is None:
        return f"its default is {_default_text(value)}" if place else "no such setting"
    return _default_text(value)


def _place_text(factor: Factor, place: int) -> str:
    """Return the class and method in a release's source that show a factor, if recorded.

    Empty for a setting that the release does not have.
    """
    if factor.kind == "class":
        return ""
    if factor.kind == "setting":
        return (
            "" if (factor.older, factor.newer)[place] is None else f"{CONFIGURATION}.{factor.name}"
        )
    if factor.kind == "reading":
        return "no place in the source is recorded"
    alternatives = specs.load().ways[factor.name].alternatives
    own, other = (factor.older, factor.newer)[:: 1 if place == 0 else -1]
    return alternatives[own].place or alternatives[other].place


def _reasons_in_source(cause: Cause, profile: str) -> list[str]:
    """Return the known reasons, with class and method, why a release violates a cause's rules."""
    known = specs.load().profile(profile).without
    return [f"{one}: {known[one]}" for one in cause.rules if one in known]


def is_known_to_break(version: str, rule: str) -> bool:
    """True if a release is known to break a rule, at least in some cases."""
    return rule in specs.load().profile(profile_of(version)).without


def _default_text(value: Any) -> str:
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def summary_as_json(pair: PairChanges) -> dict[str, Any]:
    """Return the changes as JSON."""
    versions, found, left = pair.versions, pair.operations, iter(pair.files)
    return {
        "older": versions[0],
        "newer": versions[1],
        "operations": [
            {
                "operation": one.operation,
                "cases": one.asked,
                "apart": one.apart,
                "together": one.together,
            }
            for one in found
        ],
        "changes": [
            {
                "operation": each.operation,
                "cause": cause_name(one.cause),
                "cases": one.cases,
                "file": next(left),
                "case": one.trial.questions[0].case,
                "answers": dict(zip(versions, one.answers, strict=True)),
                "breaks": dict(zip(versions, map(list, one.broken), strict=True)),
                "factors": [_with_places(factor) for factor in one.cause.factors],
                "places": {
                    version: _reasons_in_source(one.cause, profile)
                    for version, profile in zip(versions, map(profile_of, versions), strict=True)
                },
            }
            for each in found
            for one in each.found
        ],
        "settings": [_factor_as_json(one) for one in pair.settings],
        "unshown": [_with_places(one) for one in pair.others],
    }


def pair_from_json(summary: Json) -> PairChanges:
    """Return the changes that `summary_as_json` has written."""
    return PairChanges(
        (summary["older"], summary["newer"]),
        tuple(_changes(one, summary) for one in summary["operations"]),
        tuple(one["file"] for one in summary["changes"]),
        tuple(map(_factor_from_json, summary["settings"])),
        tuple(map(_factor_from_json, summary["unshown"])),
    )


def _changes(operation: Json, summary: Json) -> Changes:
    name = operation["operation"]
    found = tuple(_change(one, summary) for one in summary["changes"] if one["operation"] == name)
    return Changes(name, operation["cases"], operation["apart"], operation["together"], found)


def _change(factor: Json, summary: Json) -> Change:
    older, newer = summary["older"], summary["newer"]
    factors = tuple(map(_factor_from_json, factor["factors"]))
    broken = tuple(factor["breaks"][older]), tuple(factor["breaks"][newer])
    rules = () if factors else tuple(dict.fromkeys((*broken[0], *broken[1])))
    return Change(
        Cause(factors, rules),
        factor["cases"],
        Trial.of(factor["operation"], factor["case"]),
        (factor["answers"][older], factor["answers"][newer]),
        broken,
    )


def _factor_from_json(factor: Json) -> Factor:
    return Factor(factor["kind"], factor["name"], factor["older"], factor["newer"])


def _factor_as_json(factor: Factor) -> dict[str, Any]:
    return {"kind": factor.kind, "name": factor.name, "older": factor.older, "newer": factor.newer}


def _with_places(factor: Factor) -> dict[str, Any]:
    return {**_factor_as_json(factor), "places": [_place_text(factor, place) for place in (0, 1)]}
