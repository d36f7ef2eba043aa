"""Adds a release's defaults to a user's case, and compares decisions of releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.conformance.cases.effects import (
    BALANCING_ENABLED,
    EXTENSIBLE,
    EXTENSIBLE_CLASS,
    MANAGER,
    STRATEGY,
    TRANSFER,
    Running,
    manager_by_settings,
    with_full_names,
    without_effect,
)
from pulsar_conformance.conformance.cases.legality import missing_setting, trial_flaw
from pulsar_conformance.conformance.cases.making import MadeCase
from pulsar_conformance.conformance.cases.setting_types import BadSetting
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.explain.paper import condition_clause, format_decision
from pulsar_conformance.conformance.placement.operations import ASSIGN, PLACE
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Derivation, MissingSetting, Model
from pulsar_conformance.reference.placement import AVERAGE_SHEDDER
from pulsar_conformance.reference.shedding import GRACE
from pulsar_conformance.reference.threshold import HISTORY_SHARE
from pulsar_conformance.reference.uniform import AVERAGE_HIGH_HITS, AVERAGE_LOW_HITS
from pulsar_conformance.specs.broker import Value, broker_settings, nearest_release
from pulsar_conformance.specs.text import columns, paragraph
from pulsar_conformance.specs.unused import unused_parts

OF_MODULAR = ("shed.", "place.", "bundles.split_candidates", "average.")
"""Prefixes of operations that only the modular load manager has."""

DRAWING = {ASSIGN.id: "brokers", PLACE.id: "candidates"}
"""Operations whose answer may be random; by operation, the field of a case with the brokers."""

NIC_SPEED = "loadBalancerOverrideBrokerNicSpeedGbps"

WITH_HISTORY = ("ThresholdShedder", TRANSFER)
"""Strategies whose decisions depend on usage in earlier cycles."""


def with_release_defaults(trial: Trial, model: Model) -> tuple[Model, Mapping[str, Value]]:
    """Return a model with a release's defaults for missing settings, and these defaults.

    A setting is missing if neither the case nor the documents give its value.
    """
    taken: dict[str, Value] = {}
    while (name := _missing_setting(trial, model)) is not None:
        value = _default_in_release(model.profile, name)
        if value is None:
            break
        taken[name] = value
        known, more = model.defaults, {name: value}
        own = known.with_values(more) if isinstance(known, specs.Defaults) else {**known, **more}
        model = model.with_defaults(own)
    return model, taken


def _missing_setting(trial: Trial, model: Model) -> str | None:
    """Return a setting that an otherwise valid case needs but lacks; None if nothing is missing."""
    missing = missing_setting(trial, model.defaults)
    if missing is not None or trial_flaw(trial, model.defaults) is not None:
        return missing
    try:
        for question in trial.questions:
            model.derive(*question)
    except MissingSetting as error:
        return error.name
    return None


def release_of(profile: str) -> str | None:
    """Return the release's profile that corresponds to a profile of documents.

    A release's profile is returned unchanged. None if no release has the profile's documents.
    """
    known = specs.load().profiles
    if known[profile].kind == "released":
        return profile
    based = (name for name, one in known.items() if one.released and one.based_on == profile)
    return next(based, None)


def _default_in_release(profile: str, name: str) -> Value | None:
    released = release_of(profile)
    if released is None:
        return None
    known = specs.load().defaults(released)
    if known.get(name) is not None:
        value: Value = known[name]
        return value
    setting = broker_settings().get(name)
    if setting is None or setting.type == "list":
        return None
    return setting.default(nearest_release(released.partition("-")[2]))


def check_case(made: MadeCase) -> None:
    """Raise `BadSetting` if a case concerns the modular manager but the cluster runs another."""
    asked = next((name for name, _ in made.trial.questions if name.startswith(OF_MODULAR)), None)
    if made.simple and asked:
        raise BadSetting(
            f"{made.source}: the reports of {', '.join(made.simple)} are those of the simple "
            f"load manager, but {asked} asks about the modular one; save reports of brokers that "
            "run the modular one, or give a profile with --judge-by to ask anyway"
        )
    check_manager(made.place, made.trial, made.profile, made.running)


def check_manager(
    place: str, trial: Trial, profile: str | None = None, runs: Running | None = None
) -> None:
    """Raise `BadSetting` if a question concerns the modular manager but another manager runs.

    With a profile, a question about TransferShedder is allowed under the extensible manager.
    """
    anyway = "give a profile with --judge-by to ask anyway"
    for operation, case in trial.questions:
        if not _concerns_a_manager(operation, case):
            continue
        if runs and runs.culprit and runs.manager not in ("modular", EXTENSIBLE):
            told = f"{place}: {runs.culprit}: {runs}, but {operation}"
            raise BadSetting(f"{told} asks about the modular load manager; {anyway}")
        if other := _other_manager(operation, case, runs, released=profile is not None):
            raise BadSetting(
                f"{place}: {MANAGER} selects the {other} load manager, but {operation} "
                f"asks about the modular one; {anyway}"
            )


def manager_notes(trial: Trial) -> Iterator[str]:
    """Yield a note on each question about the modular manager if its settings select another."""
    for operation, case in trial.questions:
        if _concerns_a_manager(operation, case) and (other := _other_manager(operation, case)):
            yield (
                f"{MANAGER} selects the {other} load manager, but {operation} is answered for "
                "the modular one, without the settings of the other"
            )


def _concerns_a_manager(operation: str, case: Any) -> bool:
    """True if a question has settings and is about an operation of the modular manager alone."""
    settings = case.get("settings") if isinstance(case, dict) else None
    return isinstance(settings, dict) and operation.startswith(OF_MODULAR)


def _other_manager(
    operation: str, case: Mapping[str, Any], runs: Running | None = None, *, released: bool = True
) -> str:
    """Return the running or selected manager if the question does not apply to it; otherwise
    empty.
    """
    settings = case["settings"]
    own = runs if runs and runs.manager == EXTENSIBLE else None
    manager = own.manager if own else manager_by_settings(settings)
    given = str(case.get("strategy") or settings.get(STRATEGY) or TRANSFER)
    named = own.shedding if own else given
    sheds = operation.startswith("shed.") and named.rpartition(".")[2] == TRANSFER
    return "" if manager == "modular" or (released and manager == EXTENSIBLE and sheds) else manager


def settings_notes(trial: Trial, model: Model) -> Iterator[str]:
    """Yield notes on unknown settings, and on disabled balancing, which no document describes."""
    yield from dict.fromkeys(one for _, case in trial.questions for one in unused_parts(case))
    settings = [case.get("settings") for _, case in trial.questions if isinstance(case, dict)]
    off = any(isinstance(one, dict) and one.get(BALANCING_ENABLED) is False for one in settings)
    if off and not specs.load().profiles[model.profile].released:
        yield (
            f"{BALANCING_ENABLED} is false, so a release sheds nothing; the setting is "
            "undocumented, and the answer below ignores it"
        )


def without_effect_notes(
    trial: Trial,
    model: Model,
    version: str,
    given: Mapping[str, str],
    *,
    defaults: bool = False,
) -> Iterator[str]:
    """Yield a note for each setting on the command line that has no effect in a version.

    `version` is empty if the documents decide. `given` maps each setting to the name that the user
    wrote. For `defaults`, see `without_effect`.
    """
    for _, case in trial.questions:
        settings = {**model.defaults, **(case.get("settings") or {})}
        if case.get("strategy"):
            settings[STRATEGY] = case["strategy"]
        chosen = str(settings.get(STRATEGY) if STRATEGY in given else "").rpartition(".")[2]
        if chosen == TRANSFER and manager_by_settings(settings) == "modular":
            settings[MANAGER] = EXTENSIBLE_CLASS
            yield f"--setting {STRATEGY} is explained as if the {EXTENSIBLE} load manager ran"
        for name, why in without_effect(with_full_names(settings), version, defaults=defaults):
            if name in given:
                yield f"--setting {given[name]} has no effect: {why}"


def unknown_history_notes(trial: Trial, model: Model) -> Iterator[str]:
    """Yield a note if the case lacks data that a running leader would remember.

    These are earlier usages and, for AvgShedder, in how many cycles two brokers differed.
    """
    for operation, case in trial.questions:
        if not operation.startswith("shed."):
            continue
        settings = {**model.defaults, **case.get("settings", {})}
        named = str(case.get("strategy") or settings.get(STRATEGY)).rpartition(".")[2]
        kept = settings.get(HISTORY_SHARE)
        known = any("usageHistory" in one for one in case.get("brokers", {}).values())
        if named in WITH_HISTORY and isinstance(kept, int | float) and kept and not known:
            yield (
                "usageHistory is unknown, so usage counts as in a leader's first cycle; later "
                f"cycles count {kept:g} x earlier + {1 - kept:g} x now ({HISTORY_SHARE} = {kept:g})"
            )
        if named == AVERAGE_SHEDDER:
            ask = " ".join(f"--setting {name}=1" for name in (AVERAGE_LOW_HITS, AVERAGE_HIGH_HITS))
            yield (
                "it is unknown in how many cycles the leader has found each pair of brokers to "
                "differ, so this cycle counts as the first; to see what goes once the number is "
                f"reached, add {ask}"
            )


def unknown_unloads_notes(trial: Trial, model: Model) -> Iterator[str]:
    """Yield a note if the case does not say which bundles the leader recently unloaded."""
    for operation, case in trial.questions:
        minutes = {**model.defaults, **case.get("settings", {})}.get(GRACE)
        if operation == SHED.id and minutes and not case.get("recentlyUnloaded"):
            yield (
                "recentlyUnloaded is assumed to be empty; a leader sheds no bundle that it "
                f"unloaded within the last {minutes:g} minutes ({GRACE})"
            )


def possible_answers(trial: Trial, model: Model) -> list[dict[str, Any]]:
    """Return the model's answers, given a release's defaults; empty if it cannot answer."""
    model, _ = with_release_defaults(trial, model)
    if _missing_setting(trial, model) or trial_flaw(trial, model.defaults):
        return []
    return [dict(model.answer(*question)) for question in trial.questions]


def other_decisions(trial: Trial, model: Model, trials: Mapping[str, Trial]) -> Iterator[str]:
    """Yield the decisions of the documents or of releases that differ from the model's decision.

    `trials` has the trials about the same cluster for other profiles, by profile. A profile that is
    not in `trials` answers `trial`.
    """
    if trial.operation not in (SHED.id, ASSIGN.id) or len(trial.questions) != 1:
        return
    found: dict[str, list[str]] = {}
    notes: dict[str, None] = {}
    possible = comparable_answers(trial, model)
    for profile in profiles_to_compare(model.profile):
        seen = trials.get(profile, trial)
        other, _ = with_release_defaults(seen, Model(profile))
        try:
            derived = list(possible_derivations(seen, other))
        except MissingSetting:
            continue
        if possible.isdisjoint(map(_comparable_answer, derived)):
            found.setdefault(_decision_text(derived[0]), []).append(profile)
            notes |= dict.fromkeys(
                () if profile in trials else _shared_history_notes(seen, model, other)
            )
    if found and not all(str(one).startswith("unsupported") for one in (*possible, *found)):
        yield from ("", "other decisions about this case")
        yield from columns([(f"  {_joined_names(names)}", said) for said, names in found.items()])
        first = next(iter(found.values()))[0]
        for note in (*notes, f"to see why, add --judge-by {first}"):
            yield from paragraph(note, 2)


def _shared_history_notes(trial: Trial, *models: Model) -> Iterator[str]:
    """Yield a note if two models would understand a case's usage history differently."""
    brokers = trial.questions[0].case.get("brokers", {}).values()
    ways = {one.profile: specs.load().ways_of(one.profile).get("heap-memory") for one in models}
    without = sorted(profile for profile, way in ways.items() if way == "left-out")
    counting = sorted(ways.keys() - {*without})
    given = any(one.get("usageHistory") for one in brokers)
    if (
        given
        and without
        and counting
        and any((one.get("memory") or {}).get("usage") for one in brokers)
    ):
        yield (
            f"usageHistory is used as given for both profiles, although {counting[0]} includes "
            f"heap memory in it and {without[0]} does not"
        )


def _joined_names(profiles: list[str]) -> str:
    """Format profiles that start with the same word, as in `released-3.0, -4.0`."""
    first, *others = profiles
    kind = first.partition("-")[0]
    return ", ".join((first, *(one.removeprefix(kind) for one in others)))


def profiles_to_compare(profile: str) -> list[str]:
    """Return the documents' profile for a release, or the releases' profiles for documents."""
    known = specs.load()
    line = profile.partition("-")[2]
    based = known.profiles[profile].based_on
    if known.profiles[profile].released:
        own = f"documented-{line}"
        return [own] if own in known.profiles else [based] if based else []
    return [
        name
        for name, one in known.profiles.items()
        if one.released
        and (name == f"released-{line}" or profile in {each.id for each in known.lineage(name)})
    ]


def comparable_answers(trial: Trial, model: Model) -> set[Any]:
    """Return the model's possible answers, in a form in which equal decisions compare equal."""
    return {_comparable_answer(one) for one in possible_derivations(trial, model)}


def possible_derivations(trial: Trial, model: Model) -> Iterator[Derivation]:
    """Yield the derivation of each possible answer: several if the model chooses at random."""
    operation, case = trial.questions[0]
    of = DRAWING.get(operation)
    for _ in range(max(1, len(case[of])) if of else 1):
        yield model.derive(operation, case)


def describe_chosen_broker(trial: Trial, model: Model, broker: str) -> str:
    """Return the chosen broker as text, with the other possible brokers if the choice is random.

    If brokers take bundles in turn, the text also states when it is this broker's turn.
    """
    derived = list(possible_derivations(trial, model))
    found = {str(one.answer.get("broker")) for one in derived} | {broker}
    if len(found) > 1:
        return f"{' or '.join(sorted(found))}, drawn"
    return broker + condition_clause(derived[0])


def _possible_decisions(derived: Iterable[Derivation]) -> str:
    """Return all possible decisions on one line; more than one only if the choice is random."""
    first, *others = dict.fromkeys(map(_decision_text, derived))
    return " or ".join(sorted((first, *others)))


def _comparable_answer(derived: Derivation) -> Any:
    pairs = derived.answer.get("unload")
    if pairs is None:
        return _decision_text(derived)
    return frozenset((one["broker"], one["bundle"]) for one in pairs)


def _decision_text(derived: Derivation) -> str:
    return format_decision(derived.answer) + condition_clause(derived)


def _cases_without_manager(trial: Trial) -> Any:
    """Return a trial's cases without the setting of the load manager."""
    cases = (one.case for one in trial.questions if isinstance(one.case, dict))
    return [{**one, "settings": {**(one.get("settings") or {}), MANAGER: None}} for one in cases]


def compared_lines(before: Trial, after: Trial, model: Model) -> Iterator[str]:
    """Yield the decisions with and without the changed settings, as two rows of a table.

    If the settings change nothing, one line says so instead.
    """
    if (
        _cases_without_manager(before) == _cases_without_manager(after)
        or before.operation not in (SHED.id, ASSIGN.id)
        or len(before.questions) > 1
    ):
        return
    model, _ = with_release_defaults(before, model)
    try:
        derived = [list(possible_derivations(one, model)) for one in (before, after)]
    except MissingSetting:
        return
    steps = [{(format_decision(one.answer), one.steps) for one in each} for each in derived]
    if steps[0] == steps[1]:
        yield from ("", "the changed settings affect neither the decision nor its figures")
        return
    decided = [_possible_decisions(each) for each in derived]
    yield from ("", "decisions with and without the changed settings")
    yield from columns([("  changed", decided[1]), ("  as it is", decided[0])])
