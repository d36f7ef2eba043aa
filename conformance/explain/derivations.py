"""Explains the model's answers to cases and to worked examples."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.conformance.cases.deviations import known_failure_lines
from pulsar_conformance.conformance.cases.effects import STRATEGY
from pulsar_conformance.conformance.cases.legality import (
    comparison_by_hand,
    first_profile_of,
    history_notes,
    strategy_notes,
    traffic_notes,
    unsampled_notes,
)
from pulsar_conformance.conformance.cases.placing import PORT_IGNORED
from pulsar_conformance.conformance.cases.saved import (
    BadCase,
    ProvidedQuestions,
    case_content,
    derivations_for,
    with_strategy_of_version,
)
from pulsar_conformance.conformance.cases.setting_types import with_settings
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.explain import paper
from pulsar_conformance.conformance.explain.focus import (
    Focus,
    shorten_stays,
    sweep_lines,
    undecided_brokers,
    without_unknown_traffic,
)
from pulsar_conformance.conformance.explain.running import (
    DRAWING,
    NIC_SPEED,
    check_manager,
    compared_lines,
    describe_chosen_broker,
    manager_notes,
    other_decisions,
    possible_answers,
    possible_derivations,
    profiles_to_compare,
    release_of,
    settings_notes,
    with_release_defaults,
    without_effect_notes,
)
from pulsar_conformance.conformance.explain.spread import next_report_lines, spread_lines
from pulsar_conformance.fixtures import Answer, Example
from pulsar_conformance.reference import Derivation, Model, Step, fold_steps
from pulsar_conformance.reference.channel import with_numbered_changes
from pulsar_conformance.reference.context import Value
from pulsar_conformance.specs.judged import version_of_released
from pulsar_conformance.specs.text import enumerated, paragraph

MAX_DEFAULTS_LISTED = 2
"""Maximum number of settings with a release's default that are listed without --all."""


@dataclass(frozen=True)
class ExplainOptions:
    """Options of `explain`; without `profile`, the case's own or the default profile is used."""

    profile: str | None
    readings: Mapping[str, str]
    settings: Mapping[str, Any]
    focus: Focus = field(default_factory=Focus)
    every: bool = False
    """True to list every bundle that stays, and all entries of other long lists."""
    unknown: tuple[str, ...] = ()
    """Brokers whose traffic is unknown."""
    ports: tuple[str, ...] = ()
    """Regular expressions of isolation policies that match brokers only with their ports."""
    trials: Mapping[str, Trial] = field(default_factory=dict)
    """By profile: the trial about the same cluster in the form that the profile needs, if it
    differs.
    """
    newer_names: Mapping[str, str] = field(default_factory=dict)
    """The newer names that the user wrote for settings, by setting."""
    sweep: str | None = None
    """A setting and the values for which decisions are compared."""

    @property
    def named(self) -> Mapping[str, str]:
        """The name that the user wrote for each given setting, by documented name."""
        return {name: self.newer_names.get(name, name) for name in self.settings}


def _prepare_question(
    provided: ProvidedQuestions, options: ExplainOptions
) -> tuple[Trial, Trial, Model, str]:
    """Return the trial with the given settings, the trial to answer, the model, and the version.

    The trial to answer also names the shedding strategy that the version would use.

    Errors: `BadCase`, `BadSetting`, `specs.UnknownName`.
    """
    profile = options.profile or provided.profile or DEFAULT_PROFILE
    own = _kept_readings(provided, profile)
    specs.load().check_open(profile, _other_readings(options.readings, own))
    changed = with_settings(provided.trial, options.settings)
    asked_version = "" if options.profile else provided.version
    version = asked_version or version_of_released(profile)
    trial = with_strategy_of_version(changed, version)
    if options.profile is None and provided.profile is None:
        check_manager(provided.place, trial)
    asked = Model(profile, {**own, **options.readings}).at_addresses(provided.addresses)
    if options.profile is None:
        asked = asked.with_ways(provided.ways)
    return changed, trial, asked, version


def _kept_readings(provided: ProvidedQuestions, profile: str) -> dict[str, str]:
    """Return the readings of a case that a profile applies to it.

    If the case has another profile, they are the readings that this profile leaves open; for a
    release, there are none.
    """
    known = specs.load()
    return {
        name: value
        for name, value in provided.readings.items()
        if profile == provided.profile
        or (not known.profile(profile).released and value in known.open_values(profile, name))
    }


def _reading_notes(provided: ProvidedQuestions, profile: str) -> Iterator[str]:
    """Yield a note on the readings of a case that a profile does not apply."""
    kept = _kept_readings(provided, profile)
    left = [f"{name}={one}" for name, one in provided.readings.items() if name not in kept]
    if left:
        yield f"the case's {enumerated(left)} is not used, as {profile} does not leave it open"


def _other_readings(readings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the given readings that differ from the readings in `own`."""
    return {name: value for name, value in readings.items() if own.get(name) != value}


def _swept_lines(text: str, provided: ProvidedQuestions, options: ExplainOptions) -> Iterator[str]:
    """Yield the decisions about a provided case for each value of a setting."""
    if options.unknown:
        unknown = ", ".join(options.unknown)
        raise BadCase(f"--sweep: the traffic of {unknown} is unknown; give load reports")
    _, trial, model, version = _prepare_question(provided, options)
    missing = options.focus.missing(trial.questions[0].case)
    if missing is not None:
        raise BadCase(f"{provided.place}: {missing}")
    yield from (f"by {model.profile}", "")
    yield from sweep_lines(text, trial, model, options.focus, version)


def case_lines(provided: ProvidedQuestions, options: ExplainOptions) -> Generator[str, None, bool]:
    """Yield the explanation of a user's case; the generator returns true if the model has an
    answer.

    Errors: `BadCase` for an invalid case, `BadSetting`, `specs.UnknownName`.
    """
    if options.sweep is not None:
        yield from _swept_lines(options.sweep, provided, options)
        return True
    changed, trial, asked, version = _prepare_question(provided, options)
    model, taken = with_release_defaults(trial, asked)
    derived = derivations_for(provided.place, trial, model, provided.settings)
    undecided = undecided_brokers(trial, model, options.unknown)
    if options.unknown:
        decided = {*trial.questions[0].case["brokers"]} - {*undecided}
        derived = [without_unknown_traffic(one, undecided, decided) for one in derived]
    yield from paragraph(f"by {_profile_and_readings(model)}")
    if options.profile is None:
        named = provided.profile is not None
        yield from known_failure_lines(provided.trial, model.profile, named=named)
    yield from _defaults_lines(model, taken, options)
    notes = (
        *_reading_notes(provided, model.profile),
        *manager_notes(trial),
        *strategy_notes(trial),
        *unsampled_notes(trial),
        *settings_notes(trial, model),
        *without_effect_notes(changed, model, version, options.named),
        *_nic_speed_notes(trial, options.settings),
        *history_notes(trial),
        *traffic_notes(trial, model),
    )
    for note in notes:
        yield from paragraph(note, 2)
    _check_focus(provided.place, trial, options.focus)
    yield from _derivation_lines(trial, derived, options, model)
    if undecided:
        return False
    yield from next_report_lines(trial, model)
    yield from compared_lines(provided.trial, trial, model)
    if options.profile is None:
        yield from other_decisions(trial, model, options.trials)
    yield from _documented_strategy_lines(trial, model)
    return any("unsupported" not in one.answer for one in derived)


def _documented_strategy_lines(trial: Trial, model: Model) -> Iterator[str]:
    """Yield the option with which a documented strategy is explained, if no profile knows the
    case's own.
    """
    if not all(operation.startswith("shed.") for operation in trial.operations):
        return
    # Most cases name a documented strategy, so that the first model answers.
    models = chain((model,), map(Model, profiles_to_compare(model.profile)))
    answers = (answer for one in models for answer in possible_answers(trial, one))
    if all("unsupported" in answer for answer in answers):
        option = f"--setting {STRATEGY}=OverloadShedder"
        yield from ("", "to see what a documented strategy decides, add", f"  {option}")


def _defaults_lines(
    model: Model, taken: Mapping[str, Value], options: ExplainOptions
) -> Iterator[str]:
    """Yield the settings that take a release's default because nothing else sets them."""
    release = release_of(model.profile)
    why = "" if release == model.profile else ", as the documents give none"
    lines = [
        f"{name} is not set: {value}, the default of {release}{why}"
        for name, value in taken.items()
    ]
    if len(lines) > MAX_DEFAULTS_LISTED and not options.every:
        lines = [f"{len(lines)} settings have the defaults of {release} (--all lists them)"]
    for line in lines:
        yield from paragraph(line, 2)


def _nic_speed_notes(trial: Trial, changes: Mapping[str, Any]) -> Iterator[str]:
    """Yield a note if a setting on the command line would have changed the load reports."""
    if NIC_SPEED in changes and any(
        operation.startswith("shed.") for operation, _ in trial.questions
    ):
        yield (
            f"--setting {NIC_SPEED} would change the bandwidth limits that brokers report; "
            "the limits here stay as they were reported"
        )


def _check_focus(place: str, trial: Trial, focus: Focus) -> None:
    """Raise `BadCase` if no question contains the selected broker or bundle."""
    gone = [focus.missing(question.case) for question in trial.questions]
    if all(gone):
        raise BadCase(f"{place}: {gone[0]}")


def provided_example(example: Example, settings: Mapping[str, Any]) -> ProvidedQuestions:
    """Return an example's questions with changed settings, and with its profile and readings."""
    trial = with_settings(Trial.asking(example.questions), settings)
    profile = first_profile_of(example, trial)
    return ProvidedQuestions(example.id, trial, profile, example.readings)


def example_as_case(example: Example, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a case file for `provided_example`."""
    provided = provided_example(example, settings)
    readings = {"readings": dict(provided.readings)} if provided.readings else {}
    return {**case_content(provided.trial), "profile": provided.profile, **readings}


def example_lines(example: Example, options: ExplainOptions) -> Iterator[str]:
    """Yield a worked example, the model's derivation, and whether both give the same answer.

    A release does not follow the readings of the example.

    Errors: the same as for `case_lines`.
    """
    own = Trial.asking(example.questions)
    trial = with_settings(own, options.settings)
    profile = options.profile or first_profile_of(example, trial)
    own_readings = {} if specs.load().profile(profile).released else example.readings
    specs.load().check_open(profile, _other_readings(options.readings, own_readings))
    asked = Model(profile, {**own_readings, **options.readings})
    model, taken = with_release_defaults(trial, asked)
    derived = derivations_for(example.id, trial, model)
    _check_focus(example.id, trial, options.focus)
    yield from paragraph(f"{example.id}: {example.title}.")
    for sentence in _reading_sentences(example, profile):
        yield from paragraph(sentence, 2)
    if example.changed_note:
        yield from paragraph(example.changed_note, 2)
    yield from paragraph(f"About {example.document} § {example.section}.", 2)
    for rule in example.rules:
        yield from paragraph(f"{rule}: {specs.load().rules[rule].statement}", 2)
    yield from ("", "by hand, with the example's own settings" if options.settings else "by hand")
    yield from (line for step in example.arithmetic for line in paragraph(step, 2))
    yield from ("", *paragraph(f"by the model, {_profile_and_readings(model)}"))
    yield from _defaults_lines(model, taken, options)
    yield from _derivation_lines(trial, derived, options, model)
    yield from compared_lines(own, trial, model)
    answers = [dict(one.answer) for one in derived]
    possible = [*_possible_answers(example, answers, model)]
    compared = (
        "With these settings, there is no answer by hand."
        if options.settings
        else comparison_by_hand(example, possible, model)
    )
    yield from ("", *paragraph(compared))


def _profile_and_readings(model: Model) -> str:
    """Format a model's profile, with the readings that differ from the profile's own."""
    usual = specs.load().default_readings(model.profile)
    others = (
        f"{name}={value}" for name, value in model.readings.choices.items() if value != usual[name]
    )
    return ", ".join((model.profile, *others))


def _derivation_lines(
    trial: Trial, derived: Sequence[Derivation], options: ExplainOptions, model: Model
) -> Iterator[str]:
    """Yield each question with its derivation and answer; equal questions in a row appear once."""
    focus = options.focus
    asked = groupby(zip(trial.questions, derived, strict=True), key=itemgetter(0))
    groups = [(question, [one for _, one in equal]) for question, equal in asked]
    for number, ((operation, case), each) in enumerate(groups, 1):
        which = f"question {number} of {len(groups)}: " if len(groups) > 1 else ""
        often = f", asked {len(each)} times" if len(each) > 1 else ""
        title = specs.schema(f"operations/{operation}")["title"]
        yield from ("", *paragraph(f"{which}{operation}{often}: {title}"))
        found = tuple(
            map(paper.with_logged_unit, fold_steps(tuple(focus.shown_steps(each[0].steps))))
        )
        found = tuple(_with_port_remark(one, options.ports) for one in found)
        every = options.every or bool(focus)
        kept = found
        if not every:
            kept = tuple(
                paper.with_long_runs_shortened(tuple(shorten_stays(found)), case, each[0].answer)
            )
        steps = list(paper.format_derivation(kept))
        yield from ("", *steps) if steps else ()
        answers = [one.answer for one in each]
        others = [answer for index, answer in enumerate(answers) if answer not in answers[:index]]
        for answer in others:
            times = f", {answers.count(answer)} times" if len(others) > 1 else ""
            shown = with_numbered_changes(focus.shown_answer(answer))
            if len(each) == 1 and operation in DRAWING and shown.get("broker"):
                shown["broker"] = describe_chosen_broker(
                    Trial.of(operation, case), model, shown["broker"]
                )
            yield from ("", f"answer{times}", *paper.format_answer(shown, every=every))
            if shown.get("unload") != answer.get("unload"):
                yield from paragraph(
                    f"the whole decision: {paper.format_decision(answer)}", 4, "  "
                )
            yield from spread_lines(operation, case, answer, every)


def _with_port_remark(step: Step, ports: Sequence[str]) -> Step:
    """Return the step; if it is about isolation policies, add a remark on regexes in `ports`."""
    if not ports or step.label.strip() != "isolation":
        return step
    verb = "contains" if len(ports) == 1 else "contain"
    return replace(step, text=f"{step.text}; {', '.join(ports)} {verb} {PORT_IGNORED}")


def _reading_sentences(example: Example, profile: str) -> Iterator[str]:
    """Yield sentences about each alternative that does not fit the wording of the quoted rules."""
    for reading, taken, closed in specs.load().assumed_readings(profile, example.readings):
        holds = f"It holds under {reading.id}={taken.value}"
        if not taken.sources:
            yield f"{holds}: {closed}."
            continue
        places = dict.fromkeys(f"{one.document} § {one.section}" for one in taken.sources)
        why = f"; {closed}" if closed else ""
        sense = f"{reading.question} {taken.meaning} The rules below are meant in this sense."
        yield f"{holds}, a possible reading of {enumerated([*places])}{why}. {sense}"


def _possible_answers(
    example: Example, answers: Sequence[Answer], model: Model
) -> Iterator[Sequence[Answer]]:
    """Yield the model's answers, and all others that it may give if it draws a broker."""
    yield answers
    if len(example.questions) == 1:
        for derived in possible_derivations(Trial.asking(example.questions), model):
            yield [dict(derived.answer)]
