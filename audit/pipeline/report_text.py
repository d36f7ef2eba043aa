"""The report of an audit, formatted in 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import json_text
from pulsar_conformance.adapters.spark.shedding import documented_strategies
from pulsar_conformance.adapters.spark.threshold import MIN_THROUGHPUT
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.summary import (
    RULES_AT_OTHER_TIMES,
    SIDES,
    fault_count,
)
from pulsar_conformance.audit.verdicts.checks.registry import ALLOWED, VERDICTS
from pulsar_conformance.audit.verdicts.open_points import (
    CLUSTER_OPTION,
    MAX_POINT_LENGTH,
    hint_lines,
    open_point,
    undecided_lines,
)
from pulsar_conformance.specs.text import WIDTH, counted, cut, first_of, in_number, paragraph, table

Json = dict[str, Any]
MEGABYTE = 1_000_000

MAX_LISTED_CLUSTERS = 5
"""Maximum number of clusters without a cycle that the report names; the summary names all."""


def report_lines(found: Json, faults: list[Json], cases: str) -> Iterator[str]:
    """Yield the lines of the report.

    `found` is the summary, `faults` are the first faults of each rule, and `cases` is the folder
    with the case files.
    """
    if not found["settings_recorded"]:
        yield from paragraph(NO_SETTINGS)
    for name, why in found["unknown_settings"].items():
        yield from paragraph(f"recorded setting {name} is not used: {why}", 2, "")
    for one in found["missing"]:
        yield from paragraph(_missing_setting_text(one), 2, "")
    yield from _input_lines(found["lines"])
    yield from _period_lines(found["from"], found["to"])
    unloads = found["unloads"]
    yield ", ".join((counted(found["clusters"], "cluster"), *_cycle_counts(found)))
    yield from _clusters_without_cycle_lines(found)
    broken = unloads["in_violation"]
    yield f"{counted(unloads['recorded'], 'unload')}, {broken} of them in cycles that break a rule"
    yield from _cause_lines(unloads)
    if found["omitted"]:
        often = _omitted_cycles(found["omitted"], found["profile"])
        yield from _difference_from_release_lines(often, found["omitted"], found)
    if found["excess"]:
        often = _excess_cycles(found["excess"], found["profile"])
        yield from _difference_from_release_lines(often, found["excess"], found)
    yield from _split_and_leader_lines(found["splits"], found["leaders"])
    yield from ("", *_rule_lines(found["rules"]))
    yield from _unjudged_lines(found)
    if found["undecided"]:
        yield from ("", *undecided_lines(found["undecided"]))
    if "documents" in found:
        yield from ("", *difference_lines(found["documents"], found["profile"]))
    if "asked" in found:
        yield from ("", *_comparison_lines(found["asked"], found["profile"]))
    for fault, following in zip_longest(faults, faults[1:]):
        yield from ("", *_fault_lines(fault))
        if following is None or following["rule"] != fault["rule"]:
            yield from _further_lines(fault)
    if faults:
        yield from ("", *case_file_lines(dict.fromkeys(one["rule"] for one in faults), cases))
    yield ""
    yield overall_verdict(found)


def _cycle_counts(found: Json) -> Iterator[str]:
    """Yield the number of shedding cycles, and of cycles with transfers by TransferShedder.

    The latter are known only by their unloads.
    """
    if found["cycles"] or not found["transfers"]:
        yield counted(found["cycles"], "shedding cycle")
    if found["transfers"]:
        yield f"{counted(found['transfers'], 'shedding cycle')} known by unloads"


def _clusters_without_cycle_lines(found: Json) -> Iterator[str]:
    """Yield lines that name recorded clusters of which nothing is judged."""
    names = found["clusters_without_cycle"]
    if names:
        noun = in_number("more cluster" if found["clusters"] else "cluster", len(names))
        problem = f"{len(names)} {noun} {'has' if len(names) == 1 else 'have'} no cycle or unload"
        yield from paragraph(
            f"{problem} that can be judged: {first_of(names, MAX_LISTED_CLUSTERS)}", 2, ""
        )


def _period_lines(since: str | None, until: str | None) -> Iterator[str]:
    """Yield a line with the period to which all later numbers are limited, if one is given."""
    ends = (
        (word, time)
        for word, time in (("from", since), ("to" if since else "before", until))
        if time
    )
    told = " ".join(f"{word} {time.replace('+00:00', 'Z')}" for word, time in ends)
    if told:
        yield f"period {told}"


NO_SETTINGS = (
    "no settings are recorded: the documents' defaults apply, and rules about settings without a "
    "default are not judged"
)


def case_file_lines(rules: Iterable[str], cases: str) -> Iterator[str]:
    """Yield lines on where the case files of violated rules are, and which of these rules have
    none.
    """
    without = [rule for rule in rules if rule in RULES_AT_OTHER_TIMES]
    others = [rule for rule in rules if rule not in without]
    if others:
        which = f"case files of {', '.join(others)}" if without else "case files"
        text = f"{which}, for pulsar-conformance explain: {cases}/*.json"
        yield from paragraph(text, 2, "")
    if without:
        yield from paragraph(f"no case files of {', '.join(without)}, {NO_CASE}", 2, "")


NO_CASE = "judged by the records of single events, whose numbers are given above"


def _missing_setting_text(missing: Json) -> str:
    """Return text on a missing setting: its name, and the rules that are undecided without it."""
    rules = ", ".join(missing["rules"])
    return (
        f"{missing['setting']} is not recorded, so in {counted(missing['cycles'], 'cycle')} "
        f"these rules are undecided: {rules}"
    )


def _cause_lines(unloads: Json) -> Iterator[str]:
    """Yield the number of unloads by cause, and sentences about unloads of uncertain cause."""
    for cause, count in unloads["causes"].items():
        uncertain = unloads["uncertain"].get(cause, 0)
        either = "perhaps shedding" if cause == SHEDDING else f"{cause} or shedding"
        for number, name in ((count - uncertain, cause), (uncertain, either)):
            if number:
                yield f"  {number:>8}  {name}"
    every, uncertain, unlike = (unloads[name] for name in ("recorded", "open", "unchosen"))
    if uncertain:
        one = uncertain == 1
        cycle, unload = ("its cycle", "it") if one else ("their cycles", "them")
        text = f"may or may not be by shedding, so {cycle} {'is' if one else 'are'} judged"
        yield from paragraph(
            f"{uncertain} of the {every} {text} with and without {unload}", 4, "  "
        )
    if unlike:
        one = unlike == 1
        has, kept, cycle = ("has", "is", "its cycle") if one else ("have", "are", "their cycles")
        text = f"{has} no recorded cause and {kept} not what the strategy would unload in {cycle}"
        why = "so shedding may not be the cause"
        yield from paragraph(f"{unlike} of the {every} {text}, {why}", 4, "  ")


def _difference_from_release_lines(often: str, counted_cycles: Json, found: Json) -> Iterator[str]:
    """Yield lines about cycles in which a broker unloaded nothing although the release would have
    unloaded some of its bundles, or the reverse.

    `often` gives the number of these cycles, and `counted_cycles` the first of them.
    """
    first = counted_cycles["first"]
    yield from paragraph(f"{often}; no rule of {found['profile']} forbids that", 2, "")
    where = f"first in {first['cluster']} at {first['at']}: {first['bundles'][0]}"
    if len(first["bundles"]) > 1:
        where += f" and {counted(len(first['bundles']) - 1, 'other bundle')}"
    yield from paragraph(f"{where} of {first['broker']}", 2, width=WIDTH - 2)
    named = f"{CLUSTER_OPTION} {first['cluster']} " if found["clusters"] > 1 else ""
    at = first.get("until", first["at"])
    yield from hint_lines(f"{named}--broker {first['broker']} --at {at}")


def _omitted_cycles(omitted: Json, profile: str) -> str:
    often = counted(omitted["cycles"], "cycle")
    least = "at least " if omitted["more"] else ""
    would = f"although {profile} would have unloaded some of its bundles"
    return f"{least}{often} in which a broker unloaded nothing {would}"


def _excess_cycles(excess: Json, profile: str) -> str:
    often = counted(excess["cycles"], "cycle")
    least = "at least " if excess["more"] else ""
    would = f"although {profile} would have unloaded none of its bundles"
    return f"{least}{often} in which a broker shed bundles {would}"


def _split_and_leader_lines(splits: int, leaders: Json) -> Iterator[str]:
    """Yield the number of splits and of leader changes, and the first leader changes."""
    if splits:
        yield counted(splits, "split")
    if leaders["count"]:
        yield counted(leaders["count"], "change") + " of the leader"
    for one in leaders["first"]:
        text = f"{one['at']}  {one['cluster']}: {one['told']}"
        yield from paragraph(text, 4, "  ")


def _unjudged_lines(found: Json) -> Iterator[str]:
    """Yield lines about strategies, cycles and rules that were not judged."""
    for strategy, cycles in found["unknown_strategies"].items():
        ran = counted(cycles, "shedding cycle")
        why = _why_unjudged(strategy, found["profile"], "documents" in found)
        yield from paragraph(f"{strategy}, {ran}: {why}", 2, "")
    silent = found["cycles"] - found["cycles_judged"]
    if silent > 0:
        yield f"{counted(silent, 'shedding cycle')} judged by no rule"
    observed = [one for one in found["rules_without_check"] if _is_observed(one)]
    others = [one for one in found["rules_without_check"] if one not in observed]
    if others:
        names = ", ".join(others)
        yield from paragraph(f"rules of shedding that no history can test: {names}", 2, "")
    if observed:
        text = "rules not judged, since no document states them and they describe what releases do"
        yield from paragraph(f"{text}: {', '.join(observed)}", 2, "")


def _why_unjudged(strategy: str, profile: str, compared: bool) -> str:
    """Return text on why a strategy is judged only by the rules for every strategy.

    With `compared`, the audit also judges by the documents of the profile's release.
    """
    rest = "and only rules for every strategy are judged"
    known = specs.load()
    describing = [
        name for name in known.profiles if strategy in documented_strategies(known.defaults(name))
    ]
    if not describing:
        return f"no document describes it, {rest}"
    documents = AuditPlan.of(profile).amounts_by
    if documents not in describing:
        return f"no document of {documents or profile} describes it, {rest}"
    where = "; its rules are judged there" if compared else ""
    return f"{profile} has no rule about it, {rest}; {documents} describes it{where}"


def _is_observed(rule: str) -> bool:
    return specs.load().rules[rule].provenance == "observed"


def difference_lines(compared: Json, profile: str) -> Iterator[str]:
    """Yield lines about verdicts that differ between the release and its documents."""
    by = f"by {compared['profile']}"
    if compared["differences"]:
        yield f"verdicts {by} that differ from those by {profile}:"
    else:
        yield f"{by}: the same faults as by {profile}"
    for one in compared["differences"]:
        often = counted(one["cycles"], "cycle")
        words = f"{one['documents']}, but {one['release']} by the release"
        where = f"first in {one['cluster']} at {one['at']}"
        text = f"{one['rule']}, {often}: {words}; {where}: {one['evidence']}"
        yield from paragraph(text, 4, "  ")
    alike: dict[tuple[int, str, str, str], list[str]] = {}
    for one in compared["undecided"]:
        key = one["cycles"], one["cluster"], one["at"], open_point(one["evidence"])
        alike.setdefault(key, []).append(one["rule"])
    for (cycles, cluster, at, point), rules in alike.items():
        where = f"first in {cluster} at {at}"
        text = f"{', '.join(rules)} undecided in {counted(cycles, 'cycle')}; {where}: {point}"
        yield from paragraph(f"{by}, {cut(text, MAX_POINT_LENGTH)}", 2, "")
    if compared["defaults"]:
        values = [f"{name} = {json_text(value)}" for name, value in compared["defaults"].items()]
        text = f"not recorded and without a documented default, so taken from {profile}"
        yield from paragraph(f"{text}: {', '.join(values)}", 2, "")


def overall_verdict(found: Json) -> str:
    """Return the last line of the report: the number of faults, or that there are none."""
    total, follow = fault_count(found), found["follow"]
    if total:
        more = f", {follow} of them consequences of others" if follow else ""
        return f"{counted(total, 'fault')}{more}"
    judged = any(counts[ALLOWED] for counts in found["rules"].values())
    if not found["cycles"] and not found["rules"]:
        return "nothing could be audited"
    if not judged:
        return "nothing could be judged"
    unlike = [
        told(found[name], found["profile"])
        for name, told in (("omitted", _omitted_cycles), ("excess", _excess_cycles))
        if found[name]
    ]
    return "; ".join(("no rule is broken", *unlike))


def _input_lines(counts: Json) -> Iterator[str]:
    lost = sum(counts["quarantined"].values())
    yield f"{counted(counts['read'], 'line')} read, {counts['used']} used, {lost} quarantined"
    for reason, count in counts["quarantined"].items():
        yield f"  {count:>8}  {reason}"


def _rule_lines(rules: Json) -> list[str]:
    if not rules:
        return ["no rule applies to these cycles"]
    rows = [
        (rule, *(str(counts[verdict] or "") for verdict in VERDICTS))
        for rule, counts in rules.items()
    ]
    return table(("rule", *VERDICTS), rows, numbers=True)


def _comparison_lines(asked: Json, profile: str) -> list[str]:
    headings = ("what would be unloaded", "by recorded settings", "by given settings")
    rows = [
        (unit, *(_format_amount(asked[side][name]) for side in SIDES))
        for name, unit in ROWS.items()
    ]
    told = (
        f"{counted(asked['both'], 'bundle')} by both, {asked['only_asked']} only by the given "
        "settings (those of --settings and --strategy; all others are as recorded)"
    )
    lines = [*table(headings, rows, numbers=True), *paragraph(told)]
    documents = AuditPlan.of(profile).amounts_by
    if documents is not None:
        lines += paragraph(_other_amounts_text(profile, documents), 2, "")
    return lines


def _other_amounts_text(release: str, documents: str) -> str:
    """Return text on how the release's amounts to shed differ from those in a comparison, which are
    by `documents`.
    """
    ways = specs.load().profile(release).ways
    differ = [text for way, text in OTHER_AMOUNTS.items() if way in ways]
    text = f"computed by the amounts of {documents}"
    if differ:
        text = f"{text}, from which {release} differs: {'; '.join(differ)}"
    return f"{text}; for the release's own decisions, use simulate --history FILE"


OTHER_AMOUNTS = {
    "threshold-amount": (
        "ThresholdShedder sheds the excess over average and threshold plus five points, instead of "
        "down to five points below the average"
    ),
    "threshold-least": f"ThresholdShedder sheds nothing if that is not above {MIN_THROUGHPUT}",
    "uniform-share": "UniformLoadShedder moves a share of the difference other than half",
}
"""Texts on how the amounts that releases shed differ from the documents, by the ID of the way."""


ROWS = {
    "bundles": "bundles",
    "cycles": "cycles that unload",
    "brokers": "brokers that unload",
    "bytes_per_second": "MB/s moved in all",
}


def _format_amount(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value / MEGABYTE:.1f}"


def _fault_lines(fault: Json) -> list[str]:
    first = f"{fault['rule']} {fault['verdict']}, {fault['cluster']} at {fault['cycle']}"
    return [
        *paragraph(first, 2, ""),
        *paragraph(fault["evidence"], 2, width=WIDTH - 2),
    ]


def _further_lines(last: Json) -> Iterator[str]:
    """Yield a line with the number of a rule's faults beyond `last`, the last one shown."""
    more = last["independent"] - last["nth"]
    if more:
        text = f"and {counted(more, 'further fault')} of {last['rule']}: see the table verdicts"
        yield from ("", *paragraph(text, 2, ""))
