"""Simulations as text in 80 columns, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from pulsar_conformance.audit.simulation.course import SimulatedCourse
from pulsar_conformance.audit.simulation.measures import (
    Measures,
    match_with_recorded,
    measures_of,
    overload_percentage,
    random_placements,
    uncounted_overloads,
)
from pulsar_conformance.audit.simulation.rules import LoopFault, loop_faults
from pulsar_conformance.specs.text import WIDTH, columns, counted, first_of, paragraph, table

HEADINGS = ("", "rest", "unloads", "most", "back", "over", "spread")
LEGEND = (
    "rest: cycles until unloads end, or `never` with the number of cycles after which all owners "
    "repeat, or `ongoing` if there are too few cycles to tell; unloads have ended if none "
    "would follow until smoothed usage converges or, if loads vary or topics are added, if there "
    "are none in the last quarter of the cycles; most: unloads of the bundle that was unloaded "
    "most often; back: unloads that returned a bundle to the broker it had just left; over: "
    "minutes over the overload threshold, by usage without weights, summed over brokers; spread: "
    "percentage points between the least and the most used broker, in the first cycle and in the "
    "last. Resources with a weight of 0 count in neither over nor spread, and heap memory does not "
    "where the release leaves it out."
)
MAX_UNCOUNTED = 3
"""Maximum number of brokers named for a resource that does not count as load."""

MAX_NAME_WIDTH = 24
"""Maximum width of a variant's name in a table. Longer names are shortened, and given in full below
the table.
"""


def _cycles_phrase(course: SimulatedCourse) -> str:
    """Return a phrase about the number and the times of the cycles."""
    count, recorded = len(course.cycles), len(course.world.clock)
    phrase, apart = counted(count, "cycle"), f"{course.minutes:g} min"
    if not recorded:
        return f"{phrase} of {apart}"
    if count > recorded:
        return f"{phrase}, the first {recorded} at recorded times and then every {apart}"
    return f"{phrase} at {'its recorded time' if count == 1 else 'their recorded times'}"


def simulation_lines(courses: Sequence[SimulatedCourse]) -> Iterator[str]:
    """Yield a table for each world, each followed by the rules that are violated in it."""
    names = list(dict.fromkeys(course.variant for course in courses))
    short = short_names(names)
    for world in dict.fromkeys(course.world.name for course in courses):
        here = [course for course in courses if course.world.name == world]
        measured = [measures_of(course) for course in here]
        yield from paragraph(f"{world}: {here[0].world.title}")
        bundles = counted(len(here[0].world.bundles), "bundle")
        yield f"{_cycles_phrase(here[0])}, {bundles}"
        yield ""
        yield from table(
            HEADINGS, [(short[one.variant], *figures(one)) for one in measured], numbers=True
        )
        yield ""
        if here[0].world.topics_each_cycle:
            yield from (line for one in here for line in _split_lines(one, short[one.variant]))
            yield ""
        for course in here:
            yield from _likeness_lines(course, short[course.variant])
            yield from _next_unload_lines(course, short[course.variant])
            yield from _random_lines(course, short[course.variant])
            yield from _uncounted_lines(course, short[course.variant])
        yield from _fault_lines(here, short)
    for name, label in short.items():
        if name.replace("strategy=", "").replace("profile=", "") != label:
            yield from paragraph(f"{label}: {name}", 4, "")
    yield from paragraph(LEGEND)


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Return a short, distinct name for each variant.

    Words that all variants have are left out. If the names are still too long or not distinct, they
    consist of the values alone, otherwise of the strategy alone, and otherwise of numbers.
    """
    words = [name.split() for name in names]
    common = set(words[0]).intersection(*words[1:]) if len(words) > 1 else set()
    own = [[word for word in each if word not in common] or each for each in words]
    plain = [" ".join(each).replace("strategy=", "").replace("profile=", "") for each in own]
    values = [" ".join(_value_in_word(word) for word in each) for each in own]
    alone = [
        " ".join(_value_in_word(word) for word in each if "strategy=" in word) for each in words
    ]
    numbers = [f"({number})" for number, _ in enumerate(names, 1)]
    for found in (plain, values, alone):
        if max(map(len, found)) <= MAX_NAME_WIDTH and len(set(found)) == len(found):
            return dict(zip(names, found, strict=True))
    return dict(zip(names, numbers, strict=True))


def _value_in_word(word: str) -> str:
    """Return the value in a word such as `NAME=VALUE`, or the version in `pulsar:VERSION`."""
    return word.rpartition("=")[2].removeprefix("pulsar:")


def figures(record: Measures) -> tuple[str, ...]:
    """Return the figures of a simulation as strings, in the order of `HEADINGS`."""
    return (
        record.outcome,
        str(record.unloads),
        str(record.unloads_of_one),
        str(record.to_and_fro),
        f"{record.over_minutes:g}",
        f"{record.spread_first:.0f} → {record.spread_last:.0f}",
    )


def _split_lines(course: SimulatedCourse, name: str) -> Iterator[str]:
    """Yield lines with the number of splits and the final number of bundles."""
    parts = [len(parts) for cycle in course.cycles for parts in cycle.splits.values()]
    bundles = counted(len(course.world.bundles) + sum(parts) - len(parts), "bundle")
    splits = counted(len(parts), "split") if parts else "no splits"
    yield from paragraph(f"{name}: {splits}, {bundles} in the end")


def _likeness_lines(course: SimulatedCourse, name: str) -> Iterator[str]:
    """Yield lines on whether unloads match the recorded ones and, if not, the first difference."""
    found = match_with_recorded(course)
    if found is None:
        return
    unloads = f"{counted(found.unloads, 'unload')} in {counted(found.cycles, 'cycle')}"
    if found.alike == found.cycles:
        yield from paragraph(f"{name}: {unloads}, all as recorded")
    else:
        verb = "is" if found.unloads == 1 else "are"
        problem = f"the first cycle whose unloads differ is {course.world.cycle_text(found.alike)}"
        yield from paragraph(f"{name}: {unloads} {verb} recorded; {problem}, counted from 0:")
        for which, unloads_of in (("recorded", found.recorded), ("simulated", found.simulated)):
            moves = [f"{one.bundle}: {one.source} → {one.target}" for one in sorted(unloads_of)]
            yield from (f"  {which} {move}" for move in moves or ["nothing"])
    yield ""


def _next_unload_lines(course: SimulatedCourse, name: str) -> Iterator[str]:
    """Yield lines on the next unload after the last cycle, if it is known."""
    if course.next_unload is not None:
        when = f"the next unload would be in cycle {course.next_unload}"
        yield from paragraph(f"{name}: {when}; --cycles {course.next_unload + 1} includes it")
        yield ""


def _random_lines(course: SimulatedCourse, name: str) -> Iterator[str]:
    """Yield lines on the placements that the release decides at random."""
    if told := random_text(course):
        yield from paragraph(f"{name}: {told}")
        yield ""


def random_text(course: SimulatedCourse) -> str:
    """Return text on the placements that the release decides at random; empty if there are none."""
    found = random_placements(course)
    if not found:
        return ""
    count, first = found["placements"], found["first_cycle"]
    cycle = course.world.cycle_text(first)
    when = f"the first in {cycle}, were" if count > 1 else f"in {cycle}, was"
    told = f"{counted(count, 'placement')}, {when} among brokers that rank equally"
    return f"{told}; the release chooses one of them at random, so its result may differ"


def _uncounted_lines(course: SimulatedCourse, name: str) -> Iterator[str]:
    """Yield lines on resources that are over the overload threshold at the end, but do not count as
    load.
    """
    for resource, used in uncounted_overloads(course).items():
        threshold, why = overload_percentage(course), course.uncounted[resource]
        brokers = [f"{one} at {percent:.4g} %" for one, percent in used.items()]
        ends = f"{resource}, which does not count as load ({why}), ends over {threshold:g} %"
        yield from paragraph(f"{name}: {ends}: {first_of(brokers, MAX_UNCOUNTED)}")
        yield ""


def _fault_lines(courses: Sequence[SimulatedCourse], short: dict[str, str]) -> Iterator[str]:
    several = len(courses) > 1
    lines = [line for one in courses for line in _faults_of(one, short[one.variant] * several)]
    yield from lines
    if lines:
        yield ""


def _faults_of(course: SimulatedCourse, name: str) -> Iterator[str]:
    for fault in loop_faults(course):
        who = f"{name}: " if name else ""
        yield from paragraph(f"{fault.verdict} {who}{fault_text(fault, course)}", 2, "")


def fault_text(fault: LoopFault, course: SimulatedCourse) -> str:
    """Return a sentence about a violated rule and its first violation."""
    more = f" ({fault.count} times)" if fault.count > 1 else ""
    when = course.world.cycle_text(fault.cycle)
    return f"{fault.rule.id} {fault.rule.title}. In {when}, {fault.text}{more}."


def variant_table_lines(measured: Sequence[Measures]) -> Iterator[str]:
    """Yield tables of the number of unloads, and of the number of cycles until unloads end. Each
    variant has a row, and each world a column.
    """
    names = list(dict.fromkeys(one.variant for one in measured))
    short, worlds = short_names(names), list(dict.fromkeys(one.world for one in measured))
    cells = {(one.variant, one.world): variant_table_cell(one) for one in measured}
    widths = {
        world: max(len(world), *(len(cells[name, world]) for name in names)) for world in worlds
    }
    for shown in column_groups(widths, WIDTH - GAP - max(map(len, short.values()))):
        rows = [(short[name], *(cells[name, world] for world in shown)) for name in names]
        yield from table(("", *shown), rows, numbers=True)
        yield ""


GAP = 3
"""Number of spaces between two columns of a table."""


def column_groups(widths: Mapping[str, int], room: int) -> list[list[str]]:
    """Return groups of columns, each of which fits into `room` characters."""
    found: list[list[str]] = []
    left = 0
    for name, width in widths.items():
        if not found or width + GAP > left:
            found.append([])
            left = room
        found[-1].append(name)
        left -= width + GAP
    return found


def variant_table_page(records: Sequence[Mapping[str, Any]], command: str) -> str:
    """Return a Markdown page that compares strategies, given results of `course_as_json`."""
    names = [field.name for field in fields(Measures)]
    measured = [Measures(**{name: one[name] for name in names}) for one in records]
    worlds = {one["world"]: one["title"] for one in records}
    length = measured[0].cycles
    many = f"{counted(length, 'cycle')} {'is' if length == 1 else 'are'}"
    broken = [
        (one["world"], one["variant"], fault["rule"], fault["verdict"], str(fault["count"]))
        for one in records
        for fault in one["rules"]
    ]
    drawn = [
        (one["world"], one["variant"], *map(str, one["random"].values()))
        for one in records
        if "random" in one
    ]
    return "\n".join(
        [
            "# Strategies side by side",
            "",
            "Unloads of each strategy in each world, and the number of cycles until they end; "
            "`ongoing` means",
            f"that {many} too few to tell. Generated by:",
            "",
            f"    {command}",
            "",
            "```text",
            *"\n".join(variant_table_lines(measured)).rstrip().splitlines(),
            "```",
            "",
            *markdown_table(("world", "cluster"), worlds.items()),
            "",
            "Rules about the long run that are broken:",
            "",
            *markdown_table(("world", "variant", "rule", "verdict", "times"), broken),
            "",
            *(_random_section(drawn) if drawn else []),
        ]
    )


def _random_section(rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table of simulations in which a release chooses at random."""
    return [
        "Placements among brokers that rank equally. The release chooses one of them at random, so",
        "its result may differ:",
        "",
        *markdown_table(("world", "variant", "placements", "first in cycle"), rows),
        "",
    ]


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    every = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(row)} |" for row in every]


def variant_table_cell(record: Measures) -> str:
    """Return unloads, and cycles until they end, as a table cell: `10 in 4`, `0`, `150 ongoing`."""
    if not record.unloads:
        return "0"
    joint = " in " if record.rest is not None else " "
    return f"{record.unloads}{joint}{record.outcome}"


def moves_lines(courses: Sequence[SimulatedCourse]) -> Iterator[str]:
    """Yield a table of the bundles' moves for each simulation, in the order of cycles."""
    for course in courses:
        moves = [move for cycle in course.cycles for move in cycle.moves]
        who = f"{course.world.name}, {course.variant}: " if len(courses) > 1 else ""
        yield ""
        yield from paragraph(f"{who}{counted(len(moves), 'move')}")
        if moves:
            yield from columns(
                [
                    (
                        f"  cycle {move.cycle}",
                        f"{move.bundle}: {move.source or 'no broker'} → "
                        f"{move.target or 'no broker'} ({move.why})",
                    )
                    for move in moves
                ]
            )


def course_as_json(course: SimulatedCourse, with_moves: bool = False) -> dict[str, Any]:
    """Return a simulation's figures and violated rules as JSON. `with_moves` adds the moves."""
    rules = [
        {
            "rule": fault.rule.id,
            "level": fault.rule.level,
            "verdict": fault.verdict,
            "cycle": fault.cycle,
            "text": fault.text,
            "count": fault.count,
        }
        for fault in loop_faults(course)
    ]
    moves = [asdict(move) for cycle in course.cycles for move in cycle.moves]
    ends = {"usage_first": course.cycles[0].usage, "usage_last": course.cycles[-1].usage}
    world = {"title": course.world.title}
    notes = {"notes": list(course.world.notes)} if course.world.notes else {}
    found = {**measures_of(course).as_json(), **world, **notes, "rules": rules, **ends}
    further: dict[str, Any] = (
        {} if course.next_unload is None else {"next_unload": course.next_unload}
    )
    further |= {"uncounted": over} if (over := uncounted_overloads(course)) else {}
    further |= {"random": drawn} if (drawn := random_placements(course)) else {}
    return {**found, **further, "moves": moves} if with_moves else {**found, **further}
