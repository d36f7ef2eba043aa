"""The rules that claim each sentence of the documents, and the sentences that no rule claims."""

from pulsar_conformance.specs.collection import Specs
from pulsar_conformance.specs.model import Where


def claiming_rules(specs: Specs) -> dict[Where, tuple[str, ...]]:
    """Return, for each sentence, the IDs of the rules that claim it, in the order of the rules."""
    found: dict[Where, tuple[str, ...]] = {}
    order = list(specs.rules)
    for rule in specs.rules.values():
        for source in rule.sources:
            for number in source.sentences:
                where = (source.document, source.section, number)
                found[where] = (*found.get(where, ()), rule.id)
    for document in specs.documents.values():
        for section in document.sections:
            for sentence in section.sentences:
                before = [(str(document.follows), section.title, one) for one in sentence.like]
                where = (document.id, section.title, sentence.number)
                rules = [rule for one in (*before, where) for rule in found.get(one, ())]
                if rules:
                    found[where] = tuple(sorted(dict.fromkeys(rules), key=order.index))
    return found


def unclaimed_sentences(specs: Specs) -> list[Where]:
    """Return the sentences that a rule should claim, but that no rule claims."""
    claimed = claiming_rules(specs)
    return [
        where
        for document in specs.documents.values()
        for section in document.sections
        for sentence in section.sentences
        if sentence.none is None
        and sentence.awaits is None
        and (where := (document.id, section.title, sentence.number)) not in claimed
    ]
