"""Makes the page about how much the suite detects, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cache
from statistics import median

from pulsar_conformance import fixtures

from mutants.defects import Defect, Exhibit
from mutants.evaluations import EXAMPLES
from mutants.explained import Explained
from mutants.hunting import NO_START, UNREACHED
from mutants.making import code
from mutants.results import Fate

METHOD = f"""\
Each mutant is the model with one change: a number one up or one down, a unit, a switch, a name, a
comparison with its edge on the other side or the other way around, an operation of arithmetic or
logic, a condition or a filter forgotten, an order, an element of a set left out. It is judged as an
implementation that declares its readings: by the worked examples, and if those do not catch it, by
{EXAMPLES} drawn cases of every rule, under the usual readings and under the others; where it is
explained, only with `--explained`, as it takes minutes to ask one that lives. It is asked
until the first wrong answer, which counts against the rule that is broken, or against one that
none of its cases reaches any more, since no run passes such a rule. Derivations, texts that people
read, annotations and caches are no part of an answer, and are not changed; nor is what keeps out
illegal cases, of which none is asked, and what the suite alone asks of the model's parts.

Where the documents leave open what is right, a worked example says what the model does, and holds
no implementation to it. A mutant that nothing else tells apart is told by one of these, which are
asked last: no implementation fails for what such a mutant does.

The time is that of the CPU from the start of a mutant to its first wrong answer; what is drawn is
the same for all implementations and is not in it. `nox -s mutants` makes this page and
[mutants.jsonl](mutants.jsonl), one mutant a line. Mutants of the judge are on [a page of their
own](judge.md).
"""


MADE = """\
Made on {}, of the model as it was that day: modules, functions and rules that came later or got
another name are not in it.
"""
DRAWN = f"""\
Each mutant is the model with one change, as an implementation of its own: it shares no module with
the judge, which is unchanged. It is asked {EXAMPLES} drawn cases of every rule, under the usual
readings and under the others, and no worked example. Mutants that no rule tells from the model are
left out ([README](README.md)). A mutant lives if a minute of questions does not show it.

A mutant that survives is asked the worked examples: one that only an example of the model alone
tells is left open by the documents, so that no implementation may fail for it. `python -m mutants
--drawn` makes this page and [drawn.jsonl](drawn.jsonl), one mutant a line.
"""


def page(
    fates: Sequence[Fate],
    known: Mapping[str, Explained],
    seeded: Sequence[tuple[Defect, Exhibit | None]],
    of: tuple[int, int],
    drawn: bool = False,
    made: date | None = None,
) -> str:
    """Return the whole page.

    `of` has the numbers of all mutants and of all seeded defects. `made` is the day of the model
    that the page describes, by default today.
    """
    every, defects = of
    fates = sorted(fates, key=lambda one: one.id)
    tried = [] if len(fates) == every else [_sample(len(fates), every, "mutants")]
    parts = [
        ["# What drawn cases see alone" if drawn else "# How well the suite sees", ""],
        [DRAWN if drawn else METHOD, MADE.format(made or date.today()), *tried],
        ["## Generated mutants", "", *_counts(fates)],
        ["## By module of the model", "", *_by_module(fates)],
        ["## By rule", "", *_by_rule(fates)],
        ["## Those that live, and why", "", *_explained(fates, known)],
    ]
    if not drawn:
        some = [] if len(seeded) == defects else [_sample(len(seeded), defects, "defects"), ""]
        parts.append(["## Seeded defects", "", *some, *_seeded(seeded)])
    return "\n".join(line for part in parts for line in (*part, ""))[:-1]


def _sample(count: int, every: int, what: str) -> str:
    return f"Of {every} {what} these are {count}, drawn by a fixed seed."


def is_missed(fate: Fate) -> bool:
    """True if a mutant survives although it violates a document."""
    return fate.verdict == "survived" and fate.by not in _of_the_model()


def is_untold(fate: Fate) -> bool:
    """True if a mutant survives and no worked example is known that shows it."""
    return fate.verdict == "survived" and not fate.by


def killed_share(fates: Iterable[Fate]) -> float:
    """Return the share of killed mutants among those that violate a document."""
    killed, missed = 0, 0
    for one in fates:
        killed += one.verdict == "killed"
        missed += is_missed(one)
    return killed / max(1, killed + missed)


def summary(fates: Sequence[Fate]) -> dict[str, str]:
    """Return the number of mutants of each kind, and the median time to the first wrong answer."""
    verdicts = Counter(one.verdict for one in fates)
    times = [one.seconds for one in fates if one.verdict == "killed"]
    missed = sum(map(is_missed, fates))
    share = f" ({killed_share(fates):.1%} of those that documents tell apart)" if fates else ""
    return {
        "generated": str(len(fates)),
        "killed": f"{verdicts['killed']}{share}",
        "equivalent, explained": str(verdicts["explained"]),
        "left open by the documents": str(verdicts["survived"] - missed),
        "survived": str(missed),
        "median to the first wrong answer": f"{median(times):.2f} s of CPU" if times else "none",
    }


def _counts(fates: Sequence[Fate]) -> Iterator[str]:
    by = Counter(_way(one) for one in fates if one.verdict == "killed")
    yield from _table(["mutants", ""], ([name, what] for name, what in summary(fates).items()))
    yield ""
    yield from _table(["killed by", "mutants"], ([name, str(n)] for name, n in by.most_common()))


def _way(fate: Fate) -> str:
    known = {
        "drawn": "a drawn case",
        UNREACHED: "a rule that no case reaches",
        NO_START: "its own start",
        "no end": "the time limit",
    }
    if fate.by in _of_the_model():
        return "a worked example of the model alone"
    return known.get(fate.by, "a worked example")


@cache
def _of_the_model() -> frozenset[str]:
    """Return the examples that show the model's answer where the documents allow others."""
    return frozenset(one.id for one in fixtures.examples() if one.shows_model_answer)


def _by_module(fates: Sequence[Fate]) -> Iterator[str]:
    words = ("killed", "explained", "survived")
    counts: dict[str, Counter[str]] = {}
    for one in fates:
        counts.setdefault(one.file, Counter())[one.verdict] += 1
    rows = ([file, *(str(count[word]) for word in words)] for file, count in counts.items())
    yield from _table(["module", *words], rows)


def _by_rule(fates: Sequence[Fate]) -> Iterator[str]:
    """Yield a table of the number of mutants that each rule was the first to catch, by operator."""
    kinds = sorted({one.operator for one in fates})
    counts: dict[str, Counter[str]] = {}
    for one in fates:
        if one.verdict == "killed":
            counts.setdefault(one.rule or "(does not start)", Counter())[one.operator] += 1
    rows = (
        [rule, *(str(counts[rule][kind] or "") for kind in kinds), str(counts[rule].total())]
        for rule in sorted(counts)
    )
    yield from _table(["rule", *kinds, "all"], rows)


def _explained(fates: Sequence[Fate], known: Mapping[str, Explained]) -> Iterator[str]:
    rows = (
        [f"`{one.id}`", f"{code(one.was)} → {code(one.becomes)}", _why(one, known)]
        for one in fates
        if one.verdict != "killed"
    )
    yield from _table(["mutant", "change", "why no rule tells it"], rows)


def _why(fate: Fate, known: Mapping[str, Explained]) -> str:
    if fate.id in known:
        return known[fate.id].why
    if not fate.by:
        return "**survived**"
    told = f"the worked example `{fate.by}` ({fate.rule}) tells it"
    return f"**survived**; {told}" if is_missed(fate) else f"documents leave it open; only {told}"


def _seeded(seeded: Sequence[tuple[Defect, Exhibit | None]]) -> Iterator[str]:
    found = [shown for _, shown in seeded if shown is not None]
    small = sum(one.small for one in found)
    yield f"{len(found)} of {len(seeded)} are found under their own rule, {small} of these by a"
    yield "case of at most 4 brokers and 4 bundles (of a story, 4 topics)."
    yield ""
    rows = ([one.name, one.stands_for, one.rule, _size(shown)] for one, shown in seeded)
    yield from _table(["defect", "stands for", "rule", "brokers, bundles"], rows)


def _size(shown: Exhibit | None) -> str:
    return "**not found**" if shown is None else f"{shown.brokers}, {shown.bundles}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
