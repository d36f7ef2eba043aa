"""Builds cases from an operator's data: load reports, metrics or a running cluster, settings and
policies.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import released_version
from pulsar_conformance.conformance.cases.effects import EXTENSIBLE, MODULAR, Running
from pulsar_conformance.conformance.cases.load_reports import BadSnapshot, SavedReport, read_reports
from pulsar_conformance.conformance.cases.metrics import (
    check_metrics,
    read_metrics,
    with_smoothed_usage,
)
from pulsar_conformance.conformance.cases.placing import (
    Constraints,
    check_bundle,
    placement_question,
    read_constraints,
)
from pulsar_conformance.conformance.cases.setting_types import merge_settings
from pulsar_conformance.conformance.cases.settings import SettingsRead, read_pairs
from pulsar_conformance.conformance.cases.settings_files import (
    NOTHING_READ,
    settings_of_cluster,
    value_notes,
)
from pulsar_conformance.conformance.cases.snapshot import (
    MAKERS,
    PER_BROKER_OPERATIONS,
    Snapshot,
    broker_ids,
    host_of,
    named_broker_notes,
    read_bundle_data,
    switched_off_notes,
    trial_from_snapshot,
    unowned_notes,
)
from pulsar_conformance.conformance.cases.topics import topics_question
from pulsar_conformance.conformance.common.image_tags import (
    image_tags,
    other_image_notes,
    version_for_settings,
)
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.load_data.operations import READ
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.placement import IN_TURN
from pulsar_conformance.reference.shedding import EXCLUDED, excluded_namespaces
from pulsar_conformance.specs.judged import (
    caveat_text,
    judged_version,
    nearest_profile,
    version_of_released,
)
from pulsar_conformance.specs.versions import numbers_of

TARGETED = (3, 0, 0)
"""The first version in which an administrator can choose the destination of an unload."""


@dataclass(frozen=True)
class MadeCase:
    """A case built from an operator's data, with notes for the user."""

    place: str
    """The file to name in messages about the case: the settings file or the source."""
    trial: Trial
    profile: str | None
    """The profile of the running release; None if the release is unknown."""
    notes: tuple[str, ...]
    source: str
    """The folder, file or URL with the brokers' data."""
    ways: Mapping[str, str]
    """Alternatives, by way (`specs/ways.yaml`), in which the version differs from the profile."""
    owned: Mapping[str, Sequence[str]]
    """For a question about topics: by broker, the ranges that it owns of their namespace."""
    simple: tuple[str, ...] = ()
    """The brokers with reports of the simple load manager."""
    running: Running | None = None
    """The load manager and strategies that run; None if the case is not about a whole cluster."""
    without_traffic: tuple[str, ...] = ()
    """The brokers whose traffic is unknown."""
    ports: tuple[str, ...] = ()
    """Regular expressions of isolation policies that match brokers only with their ports."""
    version: str = ""
    """The version that the question is about; empty if no version is given."""
    what_if: SettingsRead = NOTHING_READ
    """Settings that the same command changes after the case is built."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The IDs of the brokers, by their names in the case."""
    read: SettingsRead | None = None
    """Settings from files or from the running cluster; None if there are neither."""
    release: str = ""
    """The version that the brokers run; empty if unknown."""


@dataclass(frozen=True)
class _Source:
    """Data from one source: load reports by broker, settings, and placement constraints."""

    place: str
    reports: Mapping[str, SavedReport]
    runtime: Mapping[str, Any]
    constraints: Constraints
    troubles: Mapping[str, str]
    version: str = ""
    notes: tuple[str, ...] = ()
    """Notes on files that are not used."""


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the sources of a case, except the folder."""
    parser.add_argument(
        "--from",
        dest="url",
        metavar="URL",
        help="read a running cluster at its admin URL instead of a folder of reports, without "
        "changing anything; a token is read from the environment variable PULSAR_CONFORMANCE_TOKEN",
    )
    parser.add_argument(
        "--cluster", metavar="NAME", help="the name of the cluster, if there are several at URL"
    )
    parser.add_argument(
        "--metrics",
        type=Path,
        metavar="FILE",
        help="the metrics of all brokers instead of reports: Prometheus text, or the JSON of a "
        "query, with pulsar_lb_* and pulsar_bundle_*",
    )
    parser.add_argument(
        "--bundle-data",
        type=Path,
        metavar="DIR",
        help="bundle data, as TENANT/NAMESPACE/RANGE.json or all in one object in a file; without "
        "it, the latest rates in the reports count as a single sample",
    )
    parser.add_argument(
        "--release",
        type=released_version,
        metavar="VERSION",
        help="the running version of Pulsar, such as 4.0.3 (by default the one that the "
        "reports name)",
    )
    parser.add_argument(
        "--place",
        metavar="BUNDLE",
        help="ask where this bundle will be placed once it has no owner, and why",
    )
    parser.add_argument(
        "--topics",
        type=Path,
        metavar="FILE",
        help="ask which bundles and brokers serve these topics: one per line, all of one namespace",
    )
    for name, what, prints in (
        ("isolation", "namespace isolation policies", "ns-isolation-policy get"),
        ("domains", "failure domains", "clusters list-failure-domains"),
        ("groups", "a JSON object that maps namespaces to their anti-affinity groups", ""),
    ):
        printed = f", as pulsar-admin {prints} prints them" if prints else ""
        also = "" if name == "domains" else " and for load data of the extensible load manager"
        parser.add_argument(
            f"--{name}", type=Path, metavar="FILE", help=f"for --place{also}, {what}{printed}"
        )


CONSTRAINTS = ("isolation", "domains", "groups")
"""Options with placement constraints, which a question about shedding does not use."""

FILES = ("conf", "dynamic", "bundle_data", "topics")
"""Options that name further files about a cluster."""

SOURCE_OPTIONS = ("place", "topics", "bundle_data", "release", "cluster", *CONSTRAINTS)
"""Options that apply to a cluster's data, but not to a case that is already built."""


OPTION_NAMES = {"profile": "judge-by"}
"""Names of options on the command line, by the name in `args`, if the two names differ."""


def given_options(args: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Return the options in `names` that are given, spelled as on the command line."""
    given = (name for name in names if getattr(args, name) not in (None, False, []))
    return [f"--{OPTION_NAMES.get(name, name).replace('_', '-')}" for name in given]


def check_constraints(args: argparse.Namespace, names: Sequence[str] = CONSTRAINTS) -> None:
    """Raise `BadSnapshot` for constraints without `--place`, and for `--place` with `--topics`."""
    given = given_options(args, names)
    if given and args.place is None:
        verb = "needs" if len(given) == 1 else "need"
        raise BadSnapshot(f"{', '.join(given)} {verb} --place BUNDLE, the bundle to be placed")
    if args.place is not None and args.topics is not None:
        raise BadSnapshot("--place and --topics ask different questions; give only one of them")


def build_case(
    args: argparse.Namespace,
    folder: Path | None,
    operation: str = SHED.id,
    what_if: Sequence[str] = (),
) -> MadeCase:
    """Build the case that the sources in `args` describe. Errors: if a source cannot be read.

    `what_if`: settings, as NAME=VALUE, that the command changes later. A setting that has an effect
    only after such a change is not reported as unused.
    """
    if operation not in MAKERS:
        raise specs.UnknownName(operation, "operation for load reports", MAKERS)
    check_constraints(args)
    source = _read_source(args, folder)
    if args.metrics and operation == READ.id:
        raise BadSnapshot(
            f"{READ.id} is about load reports; give a folder of them instead of metrics"
        )
    data = read_bundle_data(args.bundle_data) if args.bundle_data else {}
    named = Snapshot(source.reports, data, {}).versions or [source.version]
    release = version_for_settings(args.conf, release=args.release, reported=named)
    versions = list(dict.fromkeys(filter(None, [release, *(() if args.release else named)])))
    released = bool(version_of_released(args.profile) if args.profile else versions)
    read = settings_of_cluster(args, source.place, source.runtime, release, released=released)
    judging = version_of_released(args.profile) if args.profile else release
    asked = read_pairs(args.setting, judging, any_range=released)
    later = read_pairs(what_if, judging, any_range=released)
    given = asked.values
    profile = args.profile or (nearest_profile(versions[0]) if versions else None)
    judged = judged_version(versions[0]) if versions and not args.profile else None
    newer_names = {**asked.newer_names, **later.newer_names}
    changed = (read or NOTHING_READ).changed({**given, **later.values}, newer_names)
    as_judged = replace(changed, version=judging)
    running = as_judged.running()
    strategy = running.shedding.rpartition(".")[2]
    if judged and operation == SHED.id and (why := judged.why_unlike(strategy)):
        raise BadSnapshot(
            f"{source.place}: no profile describes {strategy} of Pulsar {versions[0]}: {why}; to "
            f"see its decision, make a case with --judge-by {judged.profile} and give it to "
            f"pulsar-conformance ask pulsar:{judged.version}"
        )
    asked_anyway = args.profile is not None and running.manager == EXTENSIBLE
    instead = {} if asked_anyway else changed.strategy_instead(running)
    written = {**(read.values if read else {}), **instead}
    own = {**_own_defaults(profile, operation)}
    own |= {name: judged.defaults.get(name, value) for name, value in own.items()} if judged else {}
    differences = judged.differences(merge_settings(written, given)) if judged else ()
    settings = merge_settings({**own, **written}, given)
    settings = judged.completed_settings(settings) if judged else settings
    reports = source.reports
    if args.metrics and args.profile is None:
        check_metrics(source.place, reports, operation, running.manager)
    unexplained: list[str] = []
    if args.metrics and running.manager == EXTENSIBLE:
        reports, unexplained = with_smoothed_usage(reports, settings, judging)
    snapshot = Snapshot(reports, data, settings, running.manager)
    notes = [f"{what}: {why}" for what, why in source.troubles.items()]
    notes += unexplained
    notes += () if args.release else other_image_notes(image_tags(args.conf), versions)
    notes += [*source.notes, *map(str, (*asked.unused, *later.unused)), *value_notes(as_judged)]
    notes += unowned_notes(snapshot, args.place)
    notes += _notes(
        snapshot, versions, profile, changed if read else None, differs=bool(differences)
    )
    notes += [f"Pulsar {versions[0]} differs from {profile}: {one}" for one in differences]
    owned: Mapping[str, Sequence[str]] = {}
    ports: tuple[str, ...] = ()
    if args.topics:
        trial, owned, told = topics_question(args.topics, snapshot)
        notes += told
    elif args.place:
        check_bundle(args.place)
        notes += named_broker_notes(args.place, snapshot, judging)
        trial, more = placement_question(
            args.place, snapshot, source.constraints, source.place, later.values
        )
        notes += more
        ids = broker_ids(snapshot).values()
        ports = source.constraints.expressions_with_port(namespace_of(args.place), ids)
        notes += [
            *_unknown_order_notes(args.place, snapshot, running),
            *_destination_notes(trial, versions, running),
        ]
    else:
        trial = trial_from_snapshot(operation, snapshot)
        if operation == SHED.id:
            notes += switched_off_notes(snapshot)
        if operation in PER_BROKER_OPERATIONS:
            notes.append(f"the questions are about {', '.join(snapshot.brokers)}, in this order")
    return MadeCase(
        str(args.conf or source.place),
        trial,
        profile,
        tuple(notes),
        source.place,
        judged.ways if judged else {},
        owned,
        tuple(snapshot.simple),
        running,
        tuple(snapshot.without_traffic),
        ports,
        "" if args.profile else judging,
        later,
        broker_ids(snapshot),
        read,
        release,
    )


def _unknown_order_notes(bundle: str, snapshot: Snapshot, running: Running) -> Iterator[str]:
    """Yield a note on brokers whose ID has an unknown port, if brokers take turns by ID."""
    unknown = [name for name, one in broker_ids(snapshot).items() if host_of(one) == one]
    excluded = excluded_namespaces(snapshot.settings.get(EXCLUDED, ""))
    if unknown and (running.placement.endswith(IN_TURN) or namespace_of(bundle) in excluded):
        yield f"brokers take turns by ID; port 8080 is assumed for {', '.join(unknown)}"


def _destination_notes(trial: Trial, versions: Sequence[str], running: Running) -> Iterator[str]:
    """Yield a note that an unload may name a destination (NamespacesBase, since 3.0.0)."""
    case = trial.questions[0].case
    owned = any(case["bundle"] in one.get("bundles", ()) for one in case["brokers"].values())
    since = versions and numbers_of(versions[0]) >= TARGETED
    if owned and since and running.manager == MODULAR:
        yield "pulsar-admin namespaces unload --destinationBroker can choose another broker"


def _own_defaults(profile: str | None, operation: str) -> Mapping[str, Any]:
    """Return a release's defaults of undocumented settings that affect unloads.

    A case must contain them, because adapters of released Pulsar disable omitted settings.
    """
    known = profile is not None and specs.load().profile(profile).released
    return specs.load().profile(str(profile)).hidden if known and operation == SHED.id else {}


def _read_source(args: argparse.Namespace, folder: Path | None) -> _Source:
    """Read the source of a case. Errors: `BadSnapshot` if none or more than one is given."""
    sources = [one for one in (folder, args.metrics, args.url) if one is not None]
    if len(sources) != 1:
        raise BadSnapshot(
            "give one source: a folder of load reports, --metrics FILE, or --from URL of a cluster"
        )
    constraints = read_constraints(args.isolation, args.domains, args.groups)
    if args.url:
        return _source_from_cluster(args.url, args.cluster, constraints)
    if args.metrics:
        read = read_metrics(args.metrics)
    else:
        read = read_reports(sources[0], other_files(args))
    return _Source(str(sources[0]), read.reports, {}, constraints, {}, notes=read.notes)


def other_files(args: argparse.Namespace) -> list[Path]:
    """Return the files and folders in the options, except the source."""
    given = (vars(args)[name] for name in (*FILES, *CONSTRAINTS))
    return [one for one in given if one is not None]


def _source_from_cluster(url: str, cluster: str | None, from_files: Constraints) -> _Source:
    """Read a running cluster; constraints from files replace the cluster's constraints."""
    from pulsar_conformance.conformance.cases.live import observe_url

    live = observe_url(url, cluster)
    own = live.constraints
    constraints = Constraints(
        from_files.policies or own.policies,
        from_files.domains or own.domains,
        from_files.groups or own.groups,
        own.ahead,
    )
    return _Source(url, live.reports, live.runtime, constraints, live.troubles, live.version)


def _notes(
    snapshot: Snapshot,
    versions: list[str],
    profile: str | None,
    read: SettingsRead | None,
    *,
    differs: bool,
) -> Iterator[str]:
    """Yield notes for the user: versions, caveats, and settings without effect."""
    yield from snapshot.notes()
    if len(versions) > 1:
        told = f"the brokers run {', '.join(versions)}; the answer is for {versions[0]}"
        yield f"{told}; for another version, add --release"
    if versions and profile:
        yield from filter(None, [caveat_text(versions[0])])
        below = ", except for the differences below" if differs else ""
        yield f"Pulsar {versions[0]} is explained by {profile}{below}"
    if read is not None:
        yield from read.notes()
