"""Explains whether the extensible load manager would shed in a cluster, given its load data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pulsar_conformance.conformance.cases.placing import Constraints
from pulsar_conformance.conformance.explain.saved_loads import SUFFIX
from pulsar_conformance.reference.overload import OVERLOAD_THRESHOLD
from pulsar_conformance.reference.ranges import namespace_of
from pulsar_conformance.reference.released.load_data import (
    ALMOST_NONE,
    STAYS,
    BundleRow,
    LoadData,
    LoadPair,
    LoadState,
    TransferRules,
    format_rate,
    load_pairs,
)
from pulsar_conformance.reference.released.transfer_shedder import DEBUG_MODE
from pulsar_conformance.reference.shedding import (
    EXCLUDED,
    HITS,
    LIFETIME,
    MAX_SHEDDING_BROKERS,
    TRANSFER_ENABLED,
    TRANSFER_SHEDDER,
    TRANSFER_TARGET,
    WITH_POLICIES,
    excluded_namespaces,
)
from pulsar_conformance.specs.broker import broker_settings, known_releases
from pulsar_conformance.specs.judged import default_in_version, has_setting
from pulsar_conformance.specs.revisions import has_revision
from pulsar_conformance.specs.text import columns, counted, enumerated, paragraph

SWITCHES = ("loadBalancerEnabled", "loadBalancerSheddingEnabled")

UNDERLOAD, IDLE = 22321, 23626
"""Numbers of the pull requests that changed the rules for underload and for idle bundles."""

EARLIEST = "3.0.0"
"""The first version with an extensible load manager; its rules are older than every change."""


def balance_lines(
    data: LoadData, given_settings: Mapping[str, Any], release: str | None
) -> Iterator[str]:
    """Yield the loads, the conditions of TransferShedder, and whether it sheds.

    If `release` is None, the rules of the newest known release are used, and one line lists the
    releases that decide differently.
    """
    at = release or known_releases()[-1]
    settings = _settings_in(given_settings, at)
    state = _first_state(data, settings, at)
    newest = "" if release else ", the newest known release"
    yield from paragraph(
        f"load data of the extensible load manager, by the rules of {TRANSFER_SHEDDER} of Pulsar "
        f"{at}{newest}"
    )
    if not release and (others := _deciding_otherwise(data, given_settings, at)):
        verb = "decides" if len(others) == 1 else "decide"
        yield from paragraph(f"Pulsar {enumerated(others)} {verb} otherwise (see --release)")
    yield ""
    yield from _load_lines(state.data, settings)
    yield ""
    yield from _condition_lines(state)
    yield ""
    yield from _answer_lines(state, settings)


def changed_lines(
    data: LoadData,
    given_settings: Mapping[str, Any],
    before: Mapping[str, Any],
    release: str | None,
) -> Iterator[str]:
    """Yield the leader's decision under `before`, the settings without the changes.

    If the decision under `given_settings`, which include the changes, is the same, yield only a
    remark that the changes do not affect it.
    """
    at = release or known_releases()[-1]
    if _decision_key(data, given_settings, at) == _decision_key(data, before, at):
        yield from ("", *paragraph("the changed settings do not affect which bundles go"))
        return
    settings = _settings_in(before, at)
    yield from ("", "without the changed settings")
    yield from _answer_lines(_first_state(data, settings, at), settings)


def _settings_in(settings: Mapping[str, Any], version: str) -> Mapping[str, Any]:
    """Return the settings in force in a version, defaults included."""
    known = broker_settings()
    default = {name: default_in_version(one, version) for name, one in known.items()}
    own = {
        name: one
        for name, one in settings.items()
        if one is not None and (name not in known or has_setting(known[name], version))
    }
    return {**default, **own}


def _first_state(data: LoadData, settings: Mapping[str, Any], version: str) -> LoadState:
    """Return the state at the start of a cycle in a version."""
    return LoadState.first(_with_outdated_brokers(data, settings), _rules_in(settings, version))


def _with_outdated_brokers(data: LoadData, settings: Mapping[str, Any]) -> LoadData:
    """Return `data` with `outdated` set to the names of the brokers whose load data are too old."""
    old = frozenset(name for name in data.loads if data.age(name) > settings[LIFETIME])
    return replace(data, outdated=old)


def _rules_in(settings: Mapping[str, Any], version: str) -> TransferRules:
    """Return the rules of TransferShedder in a version, with these settings."""
    return TransferRules(
        target=float(settings[TRANSFER_TARGET]),
        overload=float(settings[OVERLOAD_THRESHOLD]),
        brokers=int(settings[MAX_SHEDDING_BROKERS]),
        transfers=bool(settings[TRANSFER_ENABLED]),
        debug=bool(settings[DEBUG_MODE]),
        excluded=excluded_namespaces(settings[EXCLUDED] or ""),
        with_policies=bool(settings[WITH_POLICIES]),
        by_busiest=has_revision(version, UNDERLOAD),
        moves_idle=not has_revision(version, IDLE),
    )


def _deciding_otherwise(data: LoadData, settings: Mapping[str, Any], version: str) -> list[str]:
    """Return the known releases, and `EARLIEST`, that decide differently from `version`."""
    mine = _decision_key(data, settings, version)
    return [
        one for one in (EARLIEST, *known_releases()) if _decision_key(data, settings, one) != mine
    ]


def _decision_key(data: LoadData, given_settings: Mapping[str, Any], version: str) -> Any:
    """Return the moves on which a version decides, as a value that is equal for equal decisions."""
    settings = _settings_in(given_settings, version)
    if _why_off(settings):
        return []
    pairs = load_pairs(_with_outdated_brokers(data, settings), _rules_in(settings, version))
    return [
        (one.state.busy, one.state.idle, [row[:2] for row in one.rows if row.outcome != STAYS])
        for one in pairs
        if one.moves or not one.busier_traffic_known
    ]


def _load_lines(data: LoadData, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield each broker's load, the mean and the deviation."""
    ordered = sorted(data.loads, key=lambda name: -data.loads[name])
    yield from columns([(f"  {name}", _percent(data.loads[name])) for name in ordered])
    yield f"  mean {_percent(data.mean)}, standard deviation {data.deviation:.4g}"
    for name in sorted(data.outdated):
        yield from paragraph(
            f"computed without {name}: its data are {data.age(name):.0f} s older than the newest, "
            f"and {LIFETIME} is {settings[LIFETIME]:g}; it still counts as the busiest or least "
            "busy broker (TransferShedder.LoadStats.update)",
            2,
        )


def _condition_lines(state: LoadState) -> Iterator[str]:
    """Yield the conditions that hold, or why none holds, and the brokers with equal loads."""
    for text in _reasons(state) if state.uneven else _why_no_condition_holds(state):
        yield from paragraph(text, 4, "  ")
    for text in _tie_remarks(state):
        yield from paragraph(text, 4, "  ")


def _answer_lines(state: LoadState, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield whether brokers shed, and which top bundles of each shedding broker are unloaded."""
    off = _why_off(settings)
    pairs = [] if off else list(load_pairs(state.data, state.rules))
    first = next((one.state for one in pairs if one.moves or not one.busier_traffic_known), None)
    if first is None:
        busy = enumerated([one.state.busy for one in pairs])
        none = f"none of the top bundles of {busy} can go" if pairs else ""
        why = off or none
        yield from paragraph("answer: unload nothing" + (f", since {why}" if why else ""))
    else:
        to = f" to {first.idle}" if state.rules.transfers else ""
        free = _namespaces_under_policies(state, pairs)
        permitted = f", if the policies of {enumerated(free)} permit it" if free else ""
        yield from paragraph(
            f"answer: from {first.busy}{to} first{permitted}, at most "
            f"{counted(state.rules.brokers, 'broker')} per cycle, once this holds in more than "
            f"{settings[HITS]:g} cycles in a row ({HITS}) in which all registered brokers have "
            "load data"
        )
        if not state.rules.transfers:
            yield from paragraph(
                f"{TRANSFER_ENABLED} is false: bundles are unloaded without a destination, and "
                "none are swapped",
                2,
            )
    for number, one in enumerate(pairs):
        reason = next(_reasons(one.state))
        if one.busier_traffic_known and not one.moves:
            though = f", though {reason}" if number else ""
            yield from ("", *paragraph(f"nothing goes from {one.state.busy}{though}"))
        elif one.state != first:
            to = f" to {one.state.idle}" if one.state.rules.transfers else ""
            yield from ("", *paragraph(f"then from {one.state.busy}{to}, since {reason}"))
        yield from _pair_lines(one.state, one.rows)
    if pairs:
        for text in _policy_remarks(state):
            yield from paragraph(text, 2)


def _namespaces_under_policies(state: LoadState, pairs: Sequence[LoadPair]) -> list[str]:
    """Return the namespaces that are under policies and have bundles to unload.

    The list is empty if bundles of namespaces with policies may not be unloaded.
    """
    bound = state.data.bound or {} if state.rules.with_policies else {}
    moved = (row.bundle for one in pairs for row in one.rows if row.outcome != STAYS)
    return [*dict.fromkeys(one for one in map(namespace_of, moved) if one in bound)]


def _policy_remarks(state: LoadState) -> Iterator[str]:
    """Yield remarks on bundles under policies: whether they stay, and what limits their moves."""
    free, bound = state.rules.with_policies, state.data.bound
    of_namespaces = "of namespaces with an isolation policy or an anti-affinity group"
    fate = "go only where these permit it" if free else "stay"
    why = f"since {WITH_POLICIES} is {str(free).lower()}"
    if bound is None:
        yield (
            f"policies are unknown without --isolation and --groups: bundles {of_namespaces} "
            f"{fate}, {why}"
        )
    elif bound and not free:
        yield f"bundles {of_namespaces} {fate}, {why}"
    elif bound:
        named = enumerated([f"{namespace} ({policies})" for namespace, policies in bound.items()])
        yield f"bundles of {named} {fate}, {why}; if they stay, others go instead"


def with_policies(data: LoadData, constraints: Constraints) -> LoadData:
    """Return the load data with the policies of each namespace that has top bundles."""
    bundles = (name for top in data.top.values() for name in top)
    bound = {name: constraints.policies_and_group_of(name) for name in map(namespace_of, bundles)}
    return replace(data, bound={name: text for name, text in bound.items() if text})


def _pair_lines(state: LoadState, rows: Sequence[BundleRow]) -> Iterator[str]:
    """Yield how much traffic one broker may give to another, and whether each top bundle moves."""
    yield from paragraph(_amount_text(state), 2)
    top = state.data.top.get(state.busy)
    bundles = ", ".join(top) if top else f"save them as {state.busy}{SUFFIX}.json to list them"
    yield from paragraph(f"only the broker's top bundles can go: {bundles}", 2)
    yield from columns(
        [(f"  {one.outcome} {one.bundle}", format_rate(one.rate), one.why) for one in rows]
    )


def _why_off(settings: Mapping[str, Any]) -> str:
    """Return the setting, with its value, that turns shedding off entirely; empty if none does."""
    off = next((name for name in SWITCHES if settings[name] is False), None)
    if off is not None:
        return f"{off} is false"
    return (
        ""
        if settings[MAX_SHEDDING_BROKERS] > 0
        else f"{MAX_SHEDDING_BROKERS} is {settings[MAX_SHEDDING_BROKERS]}"
    )


def _amount_text(state: LoadState) -> str:
    high, low = (_percent(state.data.loads[one]) for one in (state.busy, state.idle))
    part = f"({high} - {low}) / 2 / {high} of {format_rate(state.data.carried[state.busy])}"
    return f"to move: {part} = {format_rate(state.amount)}"


def _reasons(state: LoadState) -> Iterator[str]:
    """Yield the conditions for shedding that hold, with their figures."""
    data, rules, busy, idle = state.data, state.rules, state.busy, state.idle
    if state.deviates:
        yield f"the deviation {state.deviation:.4g} is over {TRANSFER_TARGET}, {rules.target:g}"
    load, traffic = _underload_figures(state)
    if state.has_low_load:
        yield f"{idle} is underloaded: {load[0]} is under {load[1]}"
    elif state.has_low_traffic:
        yield f"{idle} is underloaded: its {traffic[0]} are under {traffic[1]}"
    if state.overloaded:
        yield (
            f"{busy} is overloaded: {_percent(data.loads[busy])} is over {rules.overload:g} % "
            f"({OVERLOAD_THRESHOLD}) and over the mean by more than {rules.target:g}"
        )


def _why_no_condition_holds(state: LoadState) -> Iterator[str]:
    """Yield a statement that no condition to shed holds, and the least loaded broker's figures."""
    yield "no condition to shed holds"
    load, traffic = _underload_figures(state)
    yield (
        f"{state.idle} is not underloaded: {load[0]} is not under {load[1]}, and its {traffic[0]} "
        f"are not under {traffic[1]}"
    )


def _underload_figures(state: LoadState) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the least loaded broker's load and traffic as text, each with its limit."""
    data, share = state.data, state.rules.share
    load = (
        _percent(data.loads[state.idle]),
        f"{share:g} of the mean, {_percent(share * data.mean)}",
    )
    if state.rules.by_busiest:
        busiest = f"{share:g} of the {format_rate(data.traffic[state.busy])} of {state.busy}"
        return load, (format_rate(data.traffic[state.idle]), busiest)
    method = f"{TRANSFER_SHEDDER}.isUnderLoaded before apache/pulsar#{UNDERLOAD}"
    return load, (f"{data.traffic[state.idle]:.4g} B/s", f"{ALMOST_NONE:g} B/s ({method})")


def _tie_remarks(state: LoadState) -> Iterator[str]:
    """Yield a remark if several brokers have the highest load, or several have the lowest."""
    for end, role in ((state.busy, "busiest"), (state.idle, "least busy")):
        load = state.data.loads[end]
        tied = [name for name in state.order if state.data.loads[name] == load]
        traffic = {state.data.traffic[name] for name in tied}
        if len(tied) > 1 and (state.uneven or len(traffic) > 1):
            yield (
                f"{enumerated(tied)} have the same load, {_percent(load)}: which of them counts as "
                f"the {role} depends on the order of the leader's load data; here it is {end}, by "
                "name (TransferShedder.LoadStats.setLoadDataStore)"
            )


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
