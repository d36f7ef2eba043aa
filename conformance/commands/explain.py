"""`pulsar-conformance explain`: show how the model arrives at its answer, step by step."""

from __future__ import annotations

import argparse
import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pulsar_conformance import fixtures
from pulsar_conformance.adapters.arguments import (
    DEFAULT_PROFILE,
    add_dynamic,
    add_profile,
    add_reading,
)
from pulsar_conformance.conformance.cases.effects import (
    EXTENSIBLE,
    EXTENSIBLE_CLASS,
    MANAGER,
    MODULAR,
    STRATEGY,
    manager_by_settings,
    running_classes,
    with_full_names,
)
from pulsar_conformance.conformance.cases.making import (
    SOURCE_OPTIONS,
    MadeCase,
    add_source_arguments,
    build_case,
    check_constraints,
    given_options,
    other_files,
)
from pulsar_conformance.conformance.cases.metrics import has_consumed_messages
from pulsar_conformance.conformance.cases.placing import PORT_IGNORED, read_constraints
from pulsar_conformance.conformance.cases.saved import (
    BadCase,
    ProvidedQuestions,
    adapted_to_version,
    read_questions_of_user,
)
from pulsar_conformance.conformance.cases.setting_types import with_settings
from pulsar_conformance.conformance.cases.settings import SettingsRead, read_pairs
from pulsar_conformance.conformance.cases.settings_files import (
    NOTHING_READ,
    files_in_force,
    read_in_force,
    value_notes,
)
from pulsar_conformance.conformance.common.image_tags import version_for_settings
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.plan import chosen_readings
from pulsar_conformance.conformance.explain.balance import (
    balance_lines,
    changed_lines,
    with_policies,
)
from pulsar_conformance.conformance.explain.derivations import (
    ExplainOptions,
    case_lines,
    example_as_case,
    example_lines,
    provided_example,
)
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.logs import log_lines
from pulsar_conformance.conformance.explain.running import (
    check_case,
    possible_answers,
    unknown_history_notes,
    unknown_unloads_notes,
)
from pulsar_conformance.conformance.explain.saved_loads import load_data
from pulsar_conformance.conformance.explain.spread import broker_lines
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.judged import nearest_profile, version_of_released

WITHOUT_EXTENSIBLE = ("released-2.4", "released-2.10")

NOT_FOR_LOAD_DATA = (
    *("bundle_data", "topics", "cluster"),
    *("profile", "reading", "broker", "bundle", "sweep", "all"),
)
"""Options that cannot be used with load data of the extensible load manager."""

NOT_FOR_LOGS = (
    *("conf", "dynamic", "setting"),
    *("profile", "reading", "broker", "bundle", "sweep", "all"),
)
"""Options that cannot be used with a log."""

NOT_FOR_PRINTED_CASES = ("profile", "reading", "broker", "bundle", "sweep", "all")
"""Options that have no effect on an example that is printed as a case."""

GROUPS_UNKNOWN = (
    "it is assumed that no namespace has an anti-affinity group; a leader keeps the bundles of a "
    "group unless moving them spreads it further "
    "(LoadManagerShared.shouldAntiAffinityNamespaceUnload)"
)

UNNEEDED = dict.fromkeys(
    WEIGHT_SETTINGS.values(), "; not needed, since the load data have weightedMaxEMA"
)
"""Text to add to the remark on each weight if the load data are of the extensible load manager."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the case or worked example, and options that change it."""
    parser.add_argument(
        "case",
        nargs="?",
        metavar="CASE.json|FOLDER|ID",
        help="a saved case, questions in the format of ask (- for standard input), a folder of "
        "load reports as for the case command, what pulsar-client consume prints of the topics "
        "with load data, or a worked example by its ID or place (FILE.yaml:LINE)",
    )
    parser.add_argument("--example", metavar="ID", help="a worked example instead of a file")
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="recompute the figures of each unload in a broker's log, instead of explaining a case",
    )
    add_source_arguments(parser)
    purpose = f"the documents to follow (those named by the file, otherwise {DEFAULT_PROFILE})"
    add_profile(parser, purpose, default=None)
    add_reading(parser, "follow this alternative of a reading")
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change this setting; NAME= removes it; repeatable",
    )
    parser.add_argument(
        "--conf",
        type=Path,
        metavar="FILE",
        help="settings that replace those of the case: a broker.conf, or any other file that the "
        "command case accepts for --conf",
    )
    add_dynamic(parser)
    parser.add_argument("--broker", metavar="NAME", help="show only this broker")
    parser.add_argument("--bundle", metavar="NAME", help="show only this bundle")
    parser.add_argument(
        "--sweep",
        metavar="NAME=A..B/STEP",
        help="show the decision about --bundle or --broker for each of these values of a setting",
    )
    parser.add_argument(
        "--as-case",
        action="store_true",
        help="print a worked example as a case file, to be changed and explained again",
    )
    parser.add_argument(
        "--all", action="store_true", help="list everything, such as every bundle that stays"
    )


def run(args: argparse.Namespace) -> int:
    """Print each question's derivation and answer; return 2 if no question can be explained."""
    answered: list[bool] = []

    def lines() -> Iterator[str]:
        answered.append((yield from _lines(args)))

    print("\n".join(lines()))
    return 0 if all(answered) else 2


def _lines(args: argparse.Namespace) -> Generator[str, None, bool]:
    """Yield the explanation; return false if the model can answer none of the user's questions."""
    if args.case is not None and args.case.startswith("fixtures/"):
        args.case = str(fixtures.bundled_path(args.case))
    given = (args.case, args.example, args.log, args.metrics, args.url)
    if sum(one is not None for one in given) != 1:
        raise BadCase(
            "give exactly one thing to explain: a CASE.json, a folder of load reports, --metrics "
            "FILE, --from URL, --example ID or --log FILE"
        )
    from_cluster = args.metrics or args.url or _is_of_cluster(args.case)
    is_example = args.example is not None or fixtures.names_example(args.case)
    of_version = args.release if not (from_cluster or is_example or args.log) else None
    others = tuple(one for one in SOURCE_OPTIONS if one != "release" or of_version is None)
    _check_options(args, () if from_cluster else others, "a cluster's reports or metrics")
    _check_options(args, NOT_FOR_LOGS if args.log else (), "a case or a cluster's data")
    if args.as_case and not is_example:
        how = "to make a case of a cluster, use the command case" if from_cluster else "remove it"
        raise BadCase(f"--as-case can be used only with a worked example; {how}")
    if args.log is not None:
        yield from log_lines(args.log)
        return True
    focus = Focus(args.broker, args.bundle)
    if from_cluster:
        return (yield from _cluster_lines(args, focus))
    if is_example:
        wanted = _options_for(args, focus, "")
        example = fixtures.example_of_user(args.example or args.case)
        if args.as_case:
            _check_options(args, NOT_FOR_PRINTED_CASES, "an explanation")
            content = example_as_case(example, wanted.settings)
            yield json.dumps(content, indent=1, ensure_ascii=False)
            return True
        if args.sweep is not None:
            return (yield from case_lines(provided_example(example, {}), wanted))
        yield from example_lines(example, wanted)
        return True
    fixtures.check_not_rule(args.case)
    answered = []
    options: dict[str, ExplainOptions] = {}
    for number, provided in enumerate(read_questions_of_user(args.case)):
        yield from ("", provided.place) if number else ()
        profile = provided.profile or ""
        if profile not in options:
            options[profile] = _options_for(args, focus, profile)
        if of_version:
            provided, notes = adapted_to_version(provided, of_version)
            for note in notes if not number else ():
                print_note(note)
        answered.append((yield from case_lines(provided, options[profile])))
    return any(answered)


def _check_options(args: argparse.Namespace, names: Sequence[str], source: str) -> None:
    """Raise `BadCase` if an option in `names` is given; these options are only for `source`."""
    given = given_options(args, names)
    if given:
        named = args.case or ("--log" if args.log else f"--example {args.example}")
        if given == ["--release"] and not args.log:
            profile = nearest_profile(args.release)
            raise BadCase(f"{named}: to ask about Pulsar {args.release}, give --judge-by {profile}")
        them = "it" if len(given) == 1 else "them"
        raise BadCase(f"{named}: {', '.join(given)} can be used only for {source}; remove {them}")


def _is_of_cluster(name: str | None) -> bool:
    """True if the name is that of a folder, or of a file with messages of a load data topic."""
    with suppress(OSError):  # The text may be too long for a file name.
        return name is not None and (Path(name).is_dir() or has_consumed_messages(Path(name)))
    return False


def _cluster_lines(args: argparse.Namespace, focus: Focus) -> Generator[str, None, bool]:
    """Yield the explanation of a cluster's decision, given its reports, metrics or admin API."""
    folder = Path(args.case) if args.case else None
    data = load_data(folder, other_files(args)) if folder and not args.place else None
    if data is not None:
        check_constraints(args, ("domains",))
        _check_options(args, NOT_FOR_LOAD_DATA, "reports of the modular or simple load manager")
        release = _release_by_option_or_image(args)
        settings, before = _extensible_settings(args, release)
        _check_extensible(args, settings, release)
        for note in data.notes:
            print_note(note)
        if args.isolation or args.groups:
            data = with_policies(data, read_constraints(args.isolation, None, args.groups))
        yield from balance_lines(data, settings, release)
        if args.setting:
            yield from changed_lines(data, settings, before, release)
        return True
    texts, args.setting = args.setting, []
    found = build_case(args, folder, what_if=texts)
    what_if = found.what_if.values
    if args.profile is None:
        check_case(found)
    missing = focus.missing(found.trial.questions[0].case)
    if missing is not None:
        raise BadCase(f"{found.source}: {missing}")
    changed = _with_running_strategy(with_settings(found.trial, what_if), found)
    model = Model(args.profile or found.profile or DEFAULT_PROFILE).with_ways(found.ways)
    model = model.at_addresses(found.addresses)
    for note in (*found.notes, *unknown_history_notes(changed, model)):
        if not note.endswith(PORT_IGNORED):  # Printed with the decision.
            print_note(note)
    if any(one.get("unload") for one in possible_answers(changed, model)):
        for note in unknown_unloads_notes(changed, model):
            print_note(note)
        if found.running and found.running.manager == MODULAR:
            print_note(GROUPS_UNKNOWN)
    shown = (focus, args.all, found.without_traffic, found.ports)
    words = {"newer_names": found.what_if.newer_names, "sweep": args.sweep}
    readings = chosen_readings(args.reading)
    wanted = ExplainOptions(args.profile, readings, what_if, *shown, **words)
    provided = ProvidedQuestions(
        found.source,
        found.trial,
        found.profile,
        ways=found.ways,
        settings=found.place,
        addresses=found.addresses,
        version=found.version,
    )
    answered = yield from case_lines(provided, wanted)
    if found.owned:
        question = found.trial.questions[0]
        answer = model.answer(*question)
        if "bundles" in answer:
            yield from broker_lines(question.case, answer, found.owned, args.all)
    return answered


def _with_running_strategy(trial: Trial, made: MadeCase) -> Trial:
    """Return a trial with the shedding strategy that runs, even if another one is configured."""
    runs = made.running
    if runs is None or (runs.manager, runs.culprit) != (MODULAR, STRATEGY):
        return trial
    return with_settings(trial, {STRATEGY: runs.shedding}) if SHED.id in trial.operations else trial


def _extensible_settings(
    args: argparse.Namespace, release: str | None
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return an extensible manager's settings with and without --setting; print notes on them.

    All values that a broker accepts are valid. Errors: `BadCase` for a value that it cannot read.
    """
    asked = read_pairs(args.setting, release or "", any_range=bool(release))
    given = asked.values
    read = read_in_force(args.conf, args.dynamic, release, as_broker=True)
    read = read or SettingsRead({}, {}, version=release or "")
    if read.unreadable:
        raise BadCase(str(read.unreadable[0]))
    read.check_numbers()
    own = {} if MANAGER in {**read.values, **given} else {MANAGER: EXTENSIBLE_CLASS}
    changed = read.changed({**own, **given}, asked.newer_names)
    for note in (*value_notes(changed, UNNEEDED), *changed.notes(), *map(str, asked.unused)):
        print_note(note)
    return {**read.values, **given}, read.values


def _release_by_option_or_image(args: argparse.Namespace) -> str | None:
    """Return the release of --release or, without it, of the only image in the settings file."""
    return version_for_settings(args.conf, release=args.release) or None


def _check_extensible(
    args: argparse.Namespace, settings: Mapping[str, Any], release: str | None
) -> None:
    """Raise `BadCase` if the release or the settings exclude the extensible load manager."""
    here = f"{args.case}: this is load data of the extensible load manager"
    instead = "leave out --release" if args.release else "give another --release"
    if release and nearest_profile(release) in WITHOUT_EXTENSIBLE:
        raise BadCase(f"{here}, which Pulsar {release} does not have; {instead}")
    manager = manager_by_settings(settings)
    given = [one.partition("=")[0].strip() for one in args.setting]
    runs = running_classes(with_full_names(settings, given), release or "")
    if runs.culprit == MANAGER:
        raise BadCase(f"{here}, but {MANAGER}: {runs}; leave the setting out")
    if settings.get(MANAGER) and manager != EXTENSIBLE:
        raise BadCase(f"{here}, but {MANAGER} selects the {manager} one; leave the setting out")


def _options_for(args: argparse.Namespace, focus: Focus, profile: str) -> ExplainOptions:
    """Return the options for a case, with settings as the requested release reads them.

    Without --release, the release of the case's profile is used. Notes on unused settings are
    printed.
    """
    own = version_of_released(profile) if profile else ""
    version = version_of_released(args.profile) if args.profile else args.release or own
    released = bool(version and (args.profile or args.release))
    read = files_in_force(args, own, released=released)
    given = read_pairs(args.setting, version, any_range=released)
    changed = (read or NOTHING_READ).changed(given.values, given.newer_names)
    for note in (*map(str, given.unused), *value_notes(changed)):
        print_note(note)
    for note in changed.notes() if read else ():
        print_note(note)
    settings = dict(given.values)
    if read is not None:
        instead = changed.strategy_instead(changed.running())
        settings = {**read.values, **instead, **settings}
    readings = chosen_readings(args.reading)
    words = {"newer_names": given.newer_names, "sweep": args.sweep}
    return ExplainOptions(args.profile, readings, settings, focus, args.all, **words)
