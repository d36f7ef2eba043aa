"""Tables of areas and implementations, one per profile, from a verdict stream."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pulsar_conformance.specs import AREAS
from pulsar_conformance.specs.text import WIDTH, counted, first_of, paragraph, table
from rich.cells import cell_len

WORDS = {
    "error": "error",
    "fail": "FAIL",
    "unexpected_pass": "unexpected pass",
    "warning": "warn",
    "known_deviation": "deviation",
    "unexercised": "unexercised",
    "undecided": "undecided",
    "pass": "pass",
    "not_applicable": "-",
}
"""Words for the verdicts, the worst verdict first."""

BREAKING_VERDICTS = ("fail", "warning", "known_deviation")
"""Verdicts that mean that a rule is broken."""

KEPT_VERDICTS = ("pass", "unexpected_pass")

MAX_NAMED_RULES = 5
"""Maximum number of rules named in a line."""

MAX_LACKING = 8
"""Maximum number of strategies and operations that a line names as not offered."""

MAX_NAME_WIDTH = 24
"""Maximum width of a name in a heading, in characters; longer ones are wrapped.

An example is the name of an adapter that cannot be reached.
"""

GAP = 3
"""Number of spaces between two columns of the table."""

LACKING_REASON = "it does not offer "
"""Start of a verdict's reason if the implementation does not offer an operation."""

ASSUMED_REASON = " is assumed"
"""End of a verdict's reason if the rule depends on a reading that the answers did not decide."""

ONLY_DOCUMENTED = "the rule is about documented strategies"
"""Start of a verdict's reason if the rule does not judge a user's own strategy."""

GENERAL_ONLY = (
    "a strategy of your own is judged only by the rules for every strategy; its amounts, "
    "thresholds and order are judged only if its name has as=STRATEGY, as in as=OverloadShedder"
)

LISTED_REASON = "listed as a known deviation, but "
"""Start of a verdict's reason if a listed deviation is stale; a verdict follows this text."""

NOT_BREAKING = f"{LISTED_REASON}not applicable"

BUILT_IN = "org.apache.pulsar.broker.loadbalance.impl."
"""Package of the built-in strategies, which is left out of their names."""

BOUND = "\ue000"
"""Placeholder for a blank at which a line must not break, such as that after a number."""

COUNT = re.compile(r"[^\s;][^;]* breaks .*? to it")
"""Pattern of the part of the result that stays on one line for tools to find."""

Line = Mapping[str, Any]
ImplementationKey = tuple[str, str]
"""Adapter and profile of an implementation."""


def verdict_tables(stream: Sequence[Line]) -> list[str]:
    """Return the lines of tables and totals, and lines on every verdict other than a pass."""
    run, verdicts = stream[0], stream[1:]
    names = implementation_names(run["implementations"])
    found = [
        line for profile in run["profiles"] for line in _profile_lines(profile, names, verdicts)
    ]
    return [
        *found[1:],
        "",
        *_totals(run, verdicts),
        *_not_offered_lines(names, verdicts),
        *_other_verdict_lines(names, run["profiles"], verdicts),
        *_neutralized_lines(run),
    ]


def result_text(stream: Sequence[Line], unchosen: Iterable[str] = (), enough: bool = True) -> str:
    """Return a sentence on the applicable rules that each implementation violates, and why else the
    run fails.

    `unchosen` are broken rules that the run was not asked to judge. If `enough` is false, the run
    had too few cases, and rules that no case reached do not fail it.
    """
    result = _broken_text(stream)
    words = {word_of(line) for line in stream[1:]}
    reasons = list(_other_reasons(stream[1:], unchosen, enough))
    status = "" if words & {"fail", "error"} else ", so the exit status is 1"
    return f"{'; '.join([result, *reasons])}{status}" if reasons else result


def _other_reasons(
    verdicts: Sequence[Line], unchosen: Iterable[str], enough: bool
) -> Iterator[str]:
    """Yield the reasons why a run fails, other than broken rules and errors."""
    stale: dict[str, bool] = {}
    for line in verdicts:
        if line["verdict"] == "unexpected_pass":
            stale[line["rule"]] = str(line["why"]).startswith(NOT_BREAKING)
    for inapplicable, one, several in (
        (False, "no longer occurs", "no longer occur"),
        (True, "is about a rule that does not apply", "are about rules that do not apply"),
    ):
        if rules := [rule for rule, absent in stale.items() if absent is inapplicable]:
            says = one if len(rules) == 1 else several
            yield f"{counted(len(rules), 'listed deviation')} {says}: {_some_names(rules)}"
    unreached = [line["rule"] for line in verdicts if line["verdict"] == "unexercised"]
    if enough and (rules := list(dict.fromkeys(unreached))):
        were = "was" if len(rules) == 1 else "were"
        yield f"{counted(len(rules), 'rule')} {were} reached by no case: {_some_names(rules)}"
    if rules := list(dict.fromkeys(unchosen)):
        were = "was" if len(rules) == 1 else "were"
        count = counted(len(rules), "rule")
        yield f"cases break {count} that {were} not chosen: {_some_names(rules)}"


def _some_names(rules: Sequence[str]) -> str:
    """Return the names of the first rules, and how many rules remain."""
    return first_of(rules, MAX_NAMED_RULES)


def _broken_text(stream: Sequence[Line]) -> str:
    """Return text on how many applicable rules each implementation violates."""
    names = {one: name for (one, _), name in implementation_names(_runs(stream)).items()}
    words: dict[str, dict[str, str]] = defaultdict(dict)
    for line in stream[1:]:
        applies = not str(line["why"]).startswith(NOT_BREAKING)
        word = word_of(line) if applies else "not_applicable"
        words[names[line["implementation"]]][line["rule"]] = word
    found = {name: set(by_rule.values()) for name, by_rule in words.items()}
    if len(found) > 1 and not any(one & {*BREAKING_VERDICTS, "error"} for one in found.values()):
        return f"none of the {len(found)} implementations breaks a rule that applies to it"
    texts = "; ".join(broken_rules_text(name, by_rule) for name, by_rule in words.items())
    plugged = any(str(line.get("why")).startswith(ONLY_DOCUMENTED) for line in stream[1:])
    return f"{texts}; {GENERAL_ONLY}" if plugged else texts


def result_lines(
    stream: Sequence[Line], unchosen: Iterable[str] = (), enough: bool = True
) -> list[str]:
    """Return the text of the result, wrapped into lines."""
    text = result_text(stream, unchosen, enough)
    text = COUNT.sub(lambda found: found[0].replace(" ", BOUND), text)
    return [line.replace(BOUND, " ") for line in paragraph(text, 2, "")]


def _runs(stream: Sequence[Line]) -> Sequence[Line]:
    runs: Sequence[Line] = stream[0]["implementations"]
    return runs


def broken_rules_text(name: str, words: Mapping[str, str]) -> str:
    """Return a sentence on how many applicable rules an implementation violates.

    It also says how many of these are known deviations.
    """
    counts = Counter(words.values())
    broken, known = sum(counts[one] for one in BREAKING_VERDICTS), counts["known_deviation"]
    applying = broken + sum(counts[one] for one in KEPT_VERDICTS)
    rules = "rule that applies" if applying == 1 else "rules that apply"
    text = f"{name} breaks {broken} of {applying} {rules} to it"
    new = [rule for rule, word in words.items() if word in ("fail", "warning")]
    if new:
        only = "" if counts["fail"] else " (only warnings)" if new[1:] else " (only a warning)"
        text += f": {_some_names(new)}{only}"
    if known:
        text += f", {'and ' if new else ''}{'all' if known == broken else known} listed as known"
    if counts["error"]:
        text += f"; {counts['error']} could not be judged"
    return text


def word_of(line: Line) -> str:
    """Return the verdict in a line; a failure of a rule that is not a `must` is a warning."""
    if line["verdict"] == "fail" and line["level"] != "must":
        return "warning"
    return str(line["verdict"])


def implementation_names(implementations: Iterable[Line]) -> dict[ImplementationKey, str]:
    """Return the names of implementations; the adapter is appended to equal names."""
    called = {(one["adapter"], one["profile"]): str(one["name"]) for one in implementations}
    alike: dict[str, set[str]] = defaultdict(set)
    for (adapter, _), name in called.items():
        alike[name].add(adapter)
    return {
        (adapter, profile): f"{name} {adapter}" if len(alike[name]) > 1 else name
        for (adapter, profile), name in called.items()
    }


def _profile_lines(
    profile: str, names: Mapping[ImplementationKey, str], verdicts: Sequence[Line]
) -> Iterator[str]:
    """Yield the lines of a profile's table; many implementations are spread over several tables."""
    cells: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for line in verdicts:
        if line["profile"] == profile:
            cells[line["rule"].partition("-")[0], line["implementation"]][word_of(line)] += 1
    adapters = {adapter: name for (adapter, by), name in names.items() if by == profile}
    areas = [area for area in AREAS if any((area, adapter) in cells for adapter in adapters)]
    columns = {
        adapter: [name, *(count_cell(cells.get((area, adapter), Counter())) for area in areas)]
        for adapter, name in adapters.items()
    }
    if not areas:
        return
    yield from ("", f" Judged by {profile}")
    for together in _column_groups(areas, list(columns.values())):
        yield from ("", *_table(areas, together))


def _column_groups(areas: Sequence[str], columns: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Yield groups of columns that each fit into a terminal."""
    room = WIDTH - 2 - max(map(len, ("area", *areas)))
    group: list[list[str]] = []
    taken = 0
    for column in columns:
        needed = GAP + min(max(map(cell_len, column)), MAX_NAME_WIDTH)
        if group and taken + needed > room:
            yield group
            group, taken = [], 0
        group.append(column)
        taken += needed
    yield group


def _table(areas: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterator[str]:
    rows = [
        [text.replace(" ", BOUND).replace(f",{BOUND}", ", ") for text in row]
        for row in zip(areas, *(cells for _, *cells in columns), strict=True)
    ]
    names = ["area", *(name for name, *_ in columns)]
    yield from (line.replace(BOUND, " ") for line in table(names, rows, widest=MAX_NAME_WIDTH))


def count_cell(counts: Counter[str]) -> str:
    """Return the text of a cell: the number of rules for each verdict, the worst verdict first."""
    said = [f"{counts[word]} {shown}" for word, shown in WORDS.items() if counts[word]]
    if not counts:
        return ""
    if set(counts) == {"not_applicable"}:
        return "-"
    return ", ".join(one for one in said if not one.endswith(" -"))


def _totals(run: Line, verdicts: Sequence[Line]) -> Iterator[str]:
    counts = Counter(map(word_of, verdicts))
    said = (f"{counts[word]} {word.replace('_', ' ')}" for word in WORDS if counts[word])
    reached = sum(line["reached"] for line in verdicts)
    told = f"{counted(len(verdicts), 'verdict')}: {', '.join(said)}"
    told = f"{told}; {counted(reached, 'case')} judged"
    if any(line.get("saved") and line.get("drawn") for line in verdicts):
        saved = len(run["saved_cases"])
        verb = "was" if saved == 1 else "were"
        told += f"; {counted(saved, 'case')} saved by earlier runs {verb} asked, too"
    yield from paragraph(told, 2, "")


def _not_offered_lines(
    names: Mapping[ImplementationKey, str], verdicts: Iterable[Line]
) -> Iterator[str]:
    """Yield lines on what each implementation does not offer; such areas are `-` in tables."""
    reasons: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for line in verdicts:
        name = names[line["implementation"], line["profile"]]
        area = (name, f"{line['profile']} {line['rule'].partition('-')[0]}")
        counts[area][line["verdict"]] += 1
        reasons[area][_reason(line)] = True
    told: dict[str, dict[str, bool]] = defaultdict(dict)
    for area, words in counts.items():
        if set(words) == {"not_applicable"}:
            lacks = any(why.startswith(LACKING_REASON) for why in reasons[area])
            told[area[0]] |= {
                why: True for why in reasons[area] if not (lacks and why.endswith(ASSUMED_REASON))
            }
    for name, whys in told.items():
        lacking = [
            why.removeprefix(LACKING_REASON) for why in whys if why.startswith(LACKING_REASON)
        ]
        short = sorted(one.removeprefix(BUILT_IN) for one in {*", ".join(lacking).split(", ")})
        said = [LACKING_REASON + first_of(short, MAX_LACKING)] if lacking else []
        said += [why for why in whys if not why.startswith(LACKING_REASON)]
        text = f"  -: {name}: {'; '.join(said)}"
        yield from paragraph(text, 5, "")


def _other_verdict_lines(
    names: Mapping[ImplementationKey, str], profiles: Sequence[str], verdicts: Sequence[Line]
) -> Iterator[str]:
    """Yield lines about each verdict other than a pass.

    In areas with judged rules, also yield lines about rules that are not judged because a reading
    is assumed. Rules with equal reasons share a line, except deviations.
    """
    judged = {_place(line) for line in verdicts if word_of(line) != "not_applicable"}
    groups: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for line in verdicts:
        word = word_of(line)
        assumed = _reason(line).endswith(ASSUMED_REASON) and _place(line) in judged
        if word == "pass" or (word == "not_applicable" and not assumed):
            continue
        name = names[line["implementation"], line["profile"]]
        by = f"{name}, {line['profile']}" if len(profiles) > 1 else name
        apart = line["rule"] if word == "known_deviation" else ""
        groups[by, word, _reason(line), apart].append(line["rule"])
    for (by, word, why, _), rules in groups.items():
        label, hint = WORDS[word], ""
        if word == "not_applicable":
            label, hint = "not judged", "; --reading chooses another"
        yield from paragraph(f"  {label}: {_some_names(rules)} ({by}): {why}{hint}", 4, "")


def _place(line: Line) -> tuple[str, str, str]:
    """Return the implementation, the profile and the area of a verdict."""
    return line["implementation"], line["profile"], line["rule"].partition("-")[0]


def _reason(line: Line) -> str:
    """Return why a rule has its verdict, on one line: the failing case's file, or reason and
    advice.
    """
    if line["failure"] and line["verdict"] != "known_deviation":
        return str(line["failure"]["case_file"])
    first, _, rest = str(line["why"]).partition("\n")
    hint = rest.partition("\n")[0].strip()
    return f"{first}; {hint}" if hint.startswith("next: ") else first


def _neutralized_lines(run: Line) -> Iterator[str]:
    """Yield lines on the neutralized settings of each implementation.

    Only the stream has the reasons why they are neutralized.
    """
    told = {one["name"]: one.get("neutral", {}) for one in run["implementations"]}
    for implementation, settings in told.items():
        if settings:
            given = ", ".join(f"{name} = {why.partition(':')[0]}" for name, why in settings.items())
            said = f"  settings neutralized in {implementation}, as no document names them: {given}"
            yield from paragraph(said, 4, "")
