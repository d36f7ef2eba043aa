"""Every sentence is accounted for, and every claim is needed."""

from collections import Counter
from dataclasses import replace

import pytest
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.specs import Specs, load
from pulsar_conformance.specs.claims import Where, claiming_rules, unclaimed_sentences
from sampling import one_in

PARTS = 4
"""Number of parts of the claims that are left out in turn; the usual tests take one part."""


def test_every_sentence_is_claimed_or_accounted_for() -> None:
    assert unclaimed_sentences(load()) == []


def test_a_sentence_awaits_only_areas_without_rules() -> None:
    specs = load()
    with_rules = {rule.area for rule in specs.rules.values()}
    awaited = {
        sentence.awaits
        for document in specs.documents.values()
        for section in document.sections
        for sentence in section.sentences
        if sentence.awaits is not None
    }
    assert awaited.isdisjoint(with_rules)


def test_a_claimed_sentence_is_not_said_to_carry_none() -> None:
    specs = load()
    for document, title, number in claiming_rules(specs):
        section = specs.documents[document].section(title)
        assert section is not None
        sentence = section.sentences[number - 1]
        assert (sentence.none, sentence.awaits) == (None, None)


@pytest.mark.parametrize("part", one_in(PARTS, range(PARTS)))
def test_without_a_claim_a_gap_opens(part: int) -> None:
    specs = load()
    repeating = {one.id for one in specs.documents.values() if one.follows}
    alone = {where: rules[0] for where, rules in claiming_rules(specs).items() if len(rules) == 1}
    assert alone
    for where, rule in list(alone.items())[part::PARTS]:
        if where[0] not in repeating:
            gaps = unclaimed_sentences(_without(specs, rule, where))
            assert gaps[0] == where
            assert {document for document, *_ in gaps[1:]} <= repeating


def test_equal_sentences_are_claimed_alike() -> None:
    specs = load()
    claimed = claiming_rules(specs)
    said: dict[str, set[tuple[object, ...]]] = {}
    seen: Counter[str] = Counter()
    for document in specs.documents.values():
        within: Counter[str] = Counter()
        for section in document.sections:
            for sentence in section.sentences:
                # A sentence that a document repeats may mean another thing each time.
                within[sentence.sha256] += 1
                key = f"{sentence.sha256}/{within[sentence.sha256]}"
                rules = claimed.get((document.id, section.title, sentence.number), ())
                words = (sentence.none, sentence.awaits, sentence.besides)
                said.setdefault(key, set()).add((rules, *words))
                seen[key] += 1
    assert max(seen.values()) > 1
    assert [key for key, words in said.items() if len(words) > 1] == []


def _without(specs: Specs, rule_id: str, where: Where) -> Specs:
    document, title, number = where
    rule = specs.rules[rule_id]
    sources = tuple(
        replace(source, sentences=tuple(n for n in source.sentences if n != number))
        if (source.document, source.section) == (document, title)
        else source
        for source in rule.sources
    )
    return replace(specs, rules={**specs.rules, rule_id: replace(rule, sources=sources)})


def test_each_claim_names_a_check_or_why_there_is_none() -> None:
    specs = load()
    for where, rules in claiming_rules(specs).items():
        for rule in rules:
            untestable = specs.rules[rule].untestable
            assert untestable or checks()[rule].name, f"{rule}, which claims {where}, has no check"
