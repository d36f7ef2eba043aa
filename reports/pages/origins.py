"""Sentences that say where the rules and the numbers of an example come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pulsar_conformance.fixtures as fixtures
from pulsar_conformance.fixtures import Example
from pulsar_conformance.specs import load
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


@cache
def stated_numbers() -> Mapping[str, Mapping[str, Sequence[float]]]:
    """Return the numbers that the documents state, by document and section. Errors: `SpecError`."""
    stated: Mapping[str, Mapping[str, Sequence[float]]] = read_sheet(
        Path(fixtures.__file__).parent, NUMBERS
    ).data
    return stated


def origin_sentences(example: Example) -> Iterator[str]:
    """Yield sentences on the example's section, its numbers, and rules that no document states."""
    rules = [load().rules[one] for one in example.rules]
    observed = [rule for rule in rules if rule.provenance == "observed" and not rule.sources]
    document = load().documents[example.document]
    section = f", section “{example.section}”" if example.section else ""
    stated_in = "Source of these rules, which are in the suite's own words"
    word = stated_in if len(observed) < len(rules) else "About"
    yield f"{word}: {document.title}, Pulsar {document.version}{section}, <{document.url}>."
    yield from (f"No document states {rule.id}. {as_sentence(rule.why or '')}" for rule in observed)
    for rule in rules:
        stating = [load().documents[one.document] for one in rule.sources]
        if rule.provenance == "observed" and stating and document not in stating:
            first = stating[0]
            yield f"{rule.id} is stated by {first.title}, Pulsar {first.version}, <{first.url}>."
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
