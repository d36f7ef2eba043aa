"""Sentences that say where the rules and the numbers of an example come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pulsar_conformance.fixtures as fixtures
from pulsar_conformance.fixtures import Example
from pulsar_conformance.specs import Alternative, Rule, load
from pulsar_conformance.specs.lines import read_sheet
from pulsar_conformance.specs.text import as_sentence, enumerated

NUMBERS = "document_numbers.yaml"
"""File of the numbers that the documents state, by section."""

DEFAULTS = "settings.defaults"
"""The operation whose answers contain only documented defaults as numbers."""

OWN = "this example's own or defaults"

MAX_COUNT = 4
"""Largest number that needs no source: small ones are counts, such as two brokers."""

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
    """Yield sentences on the sections of the example and its rules, and on its numbers."""
    rules = [load().rules[one] for one in example.rules]
    sourced = [rule for rule in rules if rule.sources]
    stating = {tuple(_sections_of(rule, example.document)) for rule in sourced}
    if len(stating) == 1 and all(_states_rule(example, one) for one in sourced):
        [sections] = stating
        place = _document_place(example.document, _with_own_first(example, sections))
        yield f"Source of these rules, {OWN_WORDS}: {place}."
    else:
        yield f"About: {_document_place(example.document, [example.section])}."
        found: dict[str, list[str]] = {}
        for rule in sourced:
            found.setdefault(_source_text(example, rule), []).append(rule.id)
        each = ";\n".join(f"for {enumerated(ids)}, {source}" for source, ids in found.items())
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
        stand = "stand" if both[1:] else "stands"
        yield f"{enumerated(both)} also {stand} in {_section_name(example)}{others}."
    elif max(used, default=0) > MAX_COUNT and not asks_defaults:
        yield f"The numbers are {OWN}."


def assumed_readings(example: Example, profile: str) -> Iterator[str]:
    """Yield a sentence on each assumed alternative that contradicts the wording of the quoted
    rules.
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
        places = enumerated([_document_place(*one) for one in sections.items()])
        why = f"; {closed}" if closed else ""
        yield (
            f"{assumes}: {reading.question} {taken.means}\n"
            f"This is a possible reading of {places}{why}.\n"
            "The rules below are meant in this sense:"
        )


def allowing_sections(profile: str, reading: str, alternative: Alternative) -> str:
    """Return text with the sections that allow an alternative.

    Sections of the profile's own documents are preferred. If implementations may not follow the
    alternative in the profile, the text also says why.
    """
    own = load().documents_of(profile)
    sources = [one for one in alternative.sources if one.document in own]
    sections: dict[str, list[str]] = {}
    for one in sources or alternative.sources:
        named = sections.setdefault(f"Pulsar {load().documents[one.document].version}", [])
        if one.section and one.section not in named:
            named.append(one.section)
    places = [f"{of}, {_sections(names)}" if names else of for of, names in sections.items()]
    closed = "" if alternative.observed else load().why_closed(profile, reading, alternative.value)
    return "; ".join([*places, *([closed] if closed else [])])


def _states_rule(example: Example, rule: Rule) -> bool:
    """True if the example's section, or its document if it names no section, states a rule."""
    return any(
        one.document == example.document and example.section in ("", one.section)
        for one in rule.sources
    )


def _source_text(example: Example, rule: Rule) -> str:
    """Return where a rule is stated: in the example's document, or else in another document.

    Another document of the same major version is preferred.
    """
    if _states_rule(example, rule):
        sections = _with_own_first(example, _sections_of(rule, example.document))
        others = _sections(sections[1:]) if example.section else ""
        return f"this section and {others}" if others else "this section"
    documents = [one.document for one in rule.sources]
    own = example.document in documents
    major = _major(example.document)
    alike = next((one for one in documents if _major(one) == major), documents[0])
    document = example.document if own else alike
    sections = _sections_of(rule, document)
    return _sections(sections) if own else _document_place(document, sections)


def _sections_of(rule: Rule, document: str) -> list[str]:
    """Return the sections of a document that state a rule, in the order of the rule's sources."""
    return [*dict.fromkeys(one.section for one in rule.sources if one.document == document)]


def _with_own_first(example: Example, sections: Sequence[str]) -> list[str]:
    """Return sections with the example's own section first."""
    return sorted(sections, key=lambda one: one != example.section)


def _major(document: str) -> str:
    return str(load().documents[document].version).partition(".")[0]


def _document_place(document: str, sections: Sequence[str]) -> str:
    """Return a document with its version, sections and address."""
    known = load().documents[document]
    within = f", {named}" if (named := _sections(sections)) else ""
    inside = "in the jar at " if known.headings == "annotations" else ""
    return f"{known.title}, Pulsar {known.version}{within}, {inside}<{known.url}>"


def _section_name(example: Example) -> str:
    """Return the example's section in quotes; "the document" if it names none."""
    return f"“{example.section}”" if example.section else "the document"


def _sections(names: Sequence[str]) -> str:
    """Return sections in quotes; empty for a document without sections."""
    quoted = [f"“{one}”" for one in names if one]
    return f"section{'s' if quoted[1:] else ''} {enumerated(quoted)}" if quoted else ""
