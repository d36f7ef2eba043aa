"""Sentences that say where the rules and the numbers of an example come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pulsar_conformance.fixtures as fixtures
from pulsar_conformance.fixtures import Example
from pulsar_conformance.specs import Rule, load
from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.text import as_sentence, enumerated

NUMBERS = "document_numbers.yaml"
"""File with the numbers that the documents state, by section."""

DEFAULTS = "settings.defaults"
"""The operation whose answers contain documented defaults and no other numbers."""

OWN = "this example's own or defaults"

MAX_COUNT = 4
"""Highest number that needs no source, since small numbers are counts, such as two brokers."""

NUMBER = re.compile(r"(?<![\w.#])\d+(?:\.\d+)?(?![\w.]*_)")


OWN_WORDS = "which are in the suite's own words"


@cache
def stated_numbers() -> Mapping[str, Mapping[str, Sequence[float]]]:
    """Return the numbers that the documents state, by document and section. Errors: `SpecError`."""
    stated: Mapping[str, Mapping[str, Sequence[float]]] = read_sheet(
        Path(fixtures.__file__).parent, NUMBERS
    ).data
    return stated


def origin_sentences(example: Example) -> Iterator[str]:
    """Yield sentences on the example's section, on where its rules are stated, and on its
    numbers.
    """
    rules = [load().rules[one] for one in example.rules]
    sourced = [rule for rule in rules if rule.sources]
    place = _place(example.document, [example.section])
    if sourced and all(_states(example, one) for one in sourced):
        yield f"Source of these rules, {OWN_WORDS}: {place}."
    else:
        yield f"About: {place}."
        found: dict[str, list[str]] = {}
        for rule in sourced:
            found.setdefault(_source(example, rule), []).append(rule.id)
        each = "; ".join(f"for {enumerated(ids)}, {source}" for source, ids in found.items())
        if each:
            where = "in this document unless another is named"
            yield f"Source of these rules, {OWN_WORDS}, {where}: {each}."
    for rule in rules:
        if not rule.sources:
            yield f"No document states {rule.id}. {as_sentence(rule.why or '')}"
    used = {float(one) for line in example.arithmetic for one in NUMBER.findall(line)}
    stated = stated_numbers().get(example.document, {}).get(example.section, ())
    both = [f"{one:g}" if one < 10**6 else str(one) for one in stated if one in used]
    asks_defaults = any(operation == DEFAULTS for operation, _ in example.questions)
    if both:
        others = "" if asks_defaults else f"; the other numbers are {OWN}, or follow from these"
        occur = "occur" if both[1:] else "occurs"
        also = f"also {occur} in the section, perhaps with another meaning"
        yield f"{enumerated(both)} {also}{others}."
    elif max(used, default=0) > MAX_COUNT and not asks_defaults:
        yield f"The numbers are {OWN}."


def assumed_readings(example: Example, profile: str) -> Iterator[str]:
    """Yield sentences on each alternative that the answer assumes and that the quoted rules, taken
    literally, contradict.
    """
    for reading, taken, closed in load().assumed_readings(profile, example.readings):
        assumes = f"The answer assumes `{reading.id}={taken.value}`"
        if taken.observed:
            follows = "which releases follow and no document allows"
            yield f"{assumes}, {follows}. The document says otherwise:"
            continue
        sections: dict[str, list[str]] = {}
        for one in taken.sources:
            sections.setdefault(one.document, []).append(one.section)
        places = enumerated([_place(*one) for one in sections.items()])
        why = f"; {closed}" if closed else ""
        yield (
            f"{assumes}: {reading.question} {taken.means}\n"
            f"This is a possible reading of {places}{why}.\n"
            "The rules below are meant in this sense:"
        )


def _states(example: Example, rule: Rule) -> bool:
    """True if the example's section, or its document if it names no section, states a rule."""
    return any(
        one.document == example.document and example.section in ("", one.section)
        for one in rule.sources
    )


def _source(example: Example, rule: Rule) -> str:
    """Return where a rule is stated: in the example's section, elsewhere in its document, or in
    another document, if possible one of the same major version.
    """
    if _states(example, rule):
        return "this section"
    documents = [one.document for one in rule.sources]
    own = example.document in documents
    major = _major(example.document)
    alike = next((one for one in documents if _major(one) == major), documents[0])
    document = example.document if own else alike
    sections = [*dict.fromkeys(one.section for one in rule.sources if one.document == document)]
    return _sections(sections) if own else _place(document, sections)


def _major(document: str) -> str:
    return str(load().documents[document].version).partition(".")[0]


def _place(document: str, sections: Sequence[str]) -> str:
    """Return a document with its version, sections and address."""
    known = load().documents[document]
    within = f", {named}" if (named := _sections(sections)) else ""
    return f"{known.title}, Pulsar {known.version}{within}, <{known.url}>"


def _sections(names: Sequence[str]) -> str:
    """Return sections in quotes; empty for a document without sections."""
    quoted = [f"“{one}”" for one in names if one]
    return f"section{'s' if quoted[1:] else ''} {enumerated(quoted)}" if quoted else ""
