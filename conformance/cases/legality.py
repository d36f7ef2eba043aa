"""Checks whether cases are valid, and whether answers equal each other or worked-out answers.

The same definitions hold for drawn, reduced, pasted and saved cases. Notes say what seems to be a
mistake in a valid case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.validation import case_schema_error
from pulsar_conformance.conformance.bundles.operations import SPLIT
from pulsar_conformance.conformance.catalogue import OPERATIONS
from pulsar_conformance.conformance.common.trial import DECLINED, Json, Trial
from pulsar_conformance.fixtures import Answer, Example, profiles_judging
from pulsar_conformance.reference import MissingSetting, Model, Readings, Settings
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.context import Value
from pulsar_conformance.reference.shedding import STRATEGY
from pulsar_conformance.reference.splitting import BY_RATES
from pulsar_conformance.specs.text import as_sentence, counted, enumerated

Defaults = Mapping[str, Value]
"""A profile's documented defaults. A case must contain all other settings that affect its answer.
"""

A_FRACTION, A_PERCENTAGE = 1, 5
"""A usage history seems to have fractions if all its values are at most `A_FRACTION`, although the
broker's usage is at least `A_PERCENTAGE` percent.
"""


def trial_flaw(trial: Trial, defaults: Defaults, readings: Readings | None = None) -> str | None:
    """Return why a trial is invalid (under `readings`, if given), or None if it is valid."""
    problems = (
        case_flaw(*question, defaults, readings) for question in (*trial.before, *trial.questions)
    )
    return next(filter(None, problems), None)


def drawn_flaw(trial: Trial, defaults: Defaults) -> str | None:
    """Return why a trial that follows the schemas is invalid, or None if it is valid.

    Drawn trials always follow the schemas. Checking thousands of large ones again would take
    seconds.
    """
    questions = (*trial.before, *trial.questions)
    problems = (_content_problem(*question, defaults, None) for question in questions)
    return next(filter(None, problems), None)


def case_flaw(
    operation: str, case: Json, defaults: Defaults, readings: Readings | None = None
) -> str | None:
    """Return why a case is invalid, with the place in it, or None if it is valid."""
    if operation not in OPERATIONS:
        return f"{operation} is not an operation; choose from {', '.join(OPERATIONS)}"
    wrong = case_schema_error(operation, case)
    return _content_problem(operation, case, defaults, readings) if wrong is None else wrong


def _content_problem(
    operation: str, case: Json, defaults: Defaults, readings: Readings | None
) -> str | None:
    try:
        return _first_problem(operation, case, defaults, readings)
    except MissingSetting as missing:
        return f"case.settings: {missing}"


def lacks_setting(trial: Trial, defaults: Defaults, readings: Readings) -> bool:
    """True if a valid trial leaves out a setting that is needed under these readings."""
    try:
        for operation, case in (*trial.before, *trial.questions):
            settings = Settings(case.get("settings", {}), defaults)
            OPERATIONS[operation].needs(case, settings, readings)
    except MissingSetting:
        return True
    return False


def missing_setting(
    trial: Trial, defaults: Defaults, readings: Readings | None = None
) -> str | None:
    """Return a setting that a valid trial needs but that the trial and `defaults` lack.

    None if no such setting is missing.
    """
    for operation, case in trial.questions:
        if operation in OPERATIONS and case_schema_error(operation, case) is None:
            try:
                _first_problem(operation, case, defaults, readings)
            except MissingSetting as missing:
                return missing.name
    return None


def _first_problem(
    operation: str, case: Json, defaults: Defaults, readings: Readings | None
) -> str | None:
    settings = Settings(case.get("settings", {}), defaults)
    if readings is not None:
        OPERATIONS[operation].needs(case, settings, readings)
    return next(OPERATIONS[operation].legal(case, settings), None)


def example_allows(example: Example, answers: Sequence[Json]) -> bool:
    """True if a worked example allows these answers, one per question.

    An example without `allowed` allows any answers.
    """
    if example.allowed is None:
        return True
    operations = [operation for operation, _case in example.questions]
    return len(answers) == len(operations) and any(
        all(matches(*three) for three in zip(operations, allowed, answers, strict=True))
        for allowed in example.allowed
    )


def _allows_in_another_order(example: Example, answers: Sequence[Json]) -> bool:
    """True if a worked example allows answers that differ from these only in their order."""
    given = _regardless_of_order(example, answers)
    return any(_regardless_of_order(example, one) == given for one in example.allowed or ())


def _regardless_of_order(example: Example, answers: Sequence[Json]) -> list[object]:
    """Return the answers to an example in a form that does not depend on their order."""
    parts = (OPERATIONS[operation].regardless_of_order for operation, _case in example.questions)
    cases = (case for _operation, case in example.questions)
    return [
        answer if part is None or any(name in answer for name in DECLINED) else part(case, answer)
        for part, case, answer in zip(parts, cases, answers, strict=True)
    ]


def matches(operation: str, allowed: Json, answer: Json) -> bool:
    """True if two answers are equal as defined by their operation.

    Free text such as `why` and the reason for a refusal is ignored.
    """
    declined = [name for name in DECLINED if name in allowed]
    if declined or any(name in answer for name in DECLINED):
        return declined == [name for name in DECLINED if name in answer]
    return OPERATIONS[operation].matches(allowed, answer)


def history_notes(trial: Trial) -> Iterator[str]:
    """Yield a warning if a usage history looks like fractions while usage is in percent."""
    suspect = {
        name: max(history)
        for _, case in trial.questions
        for name, broker in case.get("brokers", {}).items()
        if isinstance(broker, dict) and (history := broker.get("usageHistory"))
        if 0 < max(history) <= A_FRACTION and _busiest_usage(broker) >= A_PERCENTAGE
    }
    if suspect:
        largest = max(suspect.values())
        yield (
            f"usageHistory is in percent, so {largest:g} means {largest:g} %; if the values of "
            f"{', '.join(suspect)} are fractions from a log, multiply them by 100"
        )


def _busiest_usage(broker: Mapping[str, Any]) -> float:
    """Return the usage of a broker's busiest resource in percent, without weights."""
    parts = (part for part in broker.values() if isinstance(part, dict) and part.get("limit"))
    return max((100 * float(one.get("usage", 0)) / float(one["limit"]) for one in parts), default=0)


def unsampled_notes(trial: Trial) -> Iterator[str]:
    """Yield a note on bundles whose rates are not used, because their data have no samples."""
    unsampled = {
        name: None
        for _, case in trial.questions
        if isinstance(case, dict) and isinstance(case.get("bundles"), dict)
        for name, data in case["bundles"].items()
        for one in (data.values() if isinstance(data, dict) else ())
        if isinstance(one, dict) and one.get("numSamples") == 0 and any(map(one.get, RATE_FIELDS))
    }
    if unsampled:
        first, *others = unsampled
        more = f" and {counted(len(others), 'other bundle')}" if others else ""
        yield (
            f"numSamples is 0 in data of {first}{more}: the rates in these data are not used; "
            "instead, the rates assumed for bundles that were never measured count"
        )


def traffic_notes(trial: Trial, model: Model) -> Iterator[str]:
    """Yield a note on each bundle to be split by traffic if the case lacks its topics' traffic."""
    for operation, case in trial.questions:
        if operation != SPLIT.id:
            continue
        steps = model.derive(operation, case).steps
        if not any(step.label == "algorithm" and step.text == BY_RATES for step in steps):
            continue
        given = case.get("topicLoads") or {}
        idle = [topic for topic in case["topics"] if not given.get(topic)]
        if idle:
            every = len(idle) == len(case["topics"]) and idle[1:]
            of = "the topics" if every else idle[0] if not idle[1:] else f"{len(idle)} topics"
            yield (
                f"{BY_RATES} needs the rates of topics, and topicLoads has none of {of}; the "
                "answer assumes no traffic there"
            )


def strategy_notes(trial: Trial) -> Iterator[str]:
    """Yield a note on each shedding strategy that Pulsar does not have, with the most similar one.

    A class outside Pulsar's package is a plug-in, and gets no note.
    """
    # Runs need no notes, and do not load this module.
    from pulsar_conformance.specs.balancers import NO_ROLE, OWN_CLASSES, PACKAGE

    known = OWN_CLASSES[STRATEGY]
    for name in dict.fromkeys(_named_strategies(trial)):
        short = name.rpartition(".")[2]
        plugged = "." in name and not name.startswith(PACKAGE)
        if plugged or short in known or name.removeprefix(PACKAGE) in NO_ROLE:
            continue
        near = get_close_matches(short, known, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        yield f"no shedding strategy {name} is known{meant}"


def _named_strategies(trial: Trial) -> Iterator[str]:
    """Yield the shedding strategies that cases name, in the field or in their settings."""
    for _, case in trial.questions:
        if isinstance(case, dict):
            for name in (case.get("strategy"), (case.get("settings") or {}).get(STRATEGY)):
                if isinstance(name, str):
                    yield name


def first_profile_of(example: Example, trial: Trial) -> str:
    """Return the first profile that judges the rules of the example and can answer its questions.

    If no profile judges all of its rules, it is the first that judges one.
    """
    bundled, judging = specs.load(), profiles_judging(example)
    answerable = (one for one in judging if trial_flaw(trial, bundled.defaults(one)) is None)
    return next(answerable, judging[0])


def comparison_by_hand(example: Example, possible: Sequence[Sequence[Answer]], model: Model) -> str:
    """Return text that compares a model's possible answers with the answers worked out by hand."""
    from pulsar_conformance.specs.judged import version_of_released  # only used to explain

    other = _reason_for_difference(example, model)
    if example.allowed is None:
        why = f"{other}." if other else example.judged_by_rules
        return f"There is no answer by hand: {why}"
    sentences: list[str] = []
    known = None
    same = all(example_allows(example, one) for one in possible)
    if same or all(_allows_in_another_order(example, one) for one in possible):
        others = len(example.allowed) - 1
        verb, them = ("is", "it") if others == 1 else ("are", "some of them")
        order = "" if same else ", in another order"
        despite = f", although {other}" if other else ""
        more = (
            f"; {counted(others, 'other')} {verb} also allowed by the rules of this example, "
            f"though another rule may forbid {them}"
        )
        sentences.append(f"The answer by hand is the same{order}{despite}{more if others else ''}.")
    else:
        sentences.append(f"The answer by hand is different{other and f'; {other}'}.")
        known = example.released.get(version_of_released(model.profile))
    if example.shows_model_answer:
        sentences += ["Others may be right as well.", as_sentence(example.judged_by_rules or "")]
    if known:
        sentences.append(f"Pulsar {version_of_released(model.profile)}: {known.why}")
    return " ".join(sentences)


def _reason_for_difference(example: Example, model: Model) -> str:
    """Return why a model's answer may differ from the answer worked out by hand.

    Empty if only the behavior of a release can be the reason.
    """
    known, profile = specs.load(), model.profile
    followed = model.readings.choices
    other = [f"{name}={one}" for name, one in example.readings.items() if followed[name] != one]
    if other:
        return f"it assumes {enumerated(other)}"
    if not example.holds_in(known, profile):
        since = next(one.id for one in known.lineage(profile) if one.id in example.changed_in)
        return f"it holds only by the documents before {since}"
    if known.profile(profile).released:
        return ""
    first = first_profile_of(example, Trial.asking(example.questions))
    names = enumerated([*_other_defaults(example, first, profile)])
    return f"by hand, {names} has the default of {first}, not of {profile}" if names else ""


def _other_defaults(example: Example, first: str, profile: str) -> Iterator[str]:
    """Yield settings of the example's rules that no case sets and whose default has changed.

    The default has changed if it differs between `profile` and `first`, the first profile with the
    example.
    """
    known = specs.load()
    worked, now = known.defaults(first), known.defaults(profile)
    names = [name for rule in example.rules for name in known.rules[rule].settings]
    for name in dict.fromkeys(names):
        given = any(name in case.get("settings", {}) for _, case in example.questions)
        if not given and name in worked and worked[name] != now.get(name):
            yield name
