"""Pages of documents name, for each sentence, its rules and the documents that repeat it."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.reports.site import subjects


@pytest.mark.parametrize("document", specs.load().documents)
def test_each_sentence_of_a_document_has_its_rules_or_a_reason(document):
    claimed = subjects.claims_by_section(document)
    one = specs.load().documents[document]
    left = [
        (section.title, sentence.number)
        for section in one.sections
        for sentence in section.sentences
        if not (claimed.get((section.title, sentence.number)) or sentence.none or sentence.awaits)
    ]
    assert not left or one.copy_of


def test_a_rule_names_the_documents_that_repeat_its_sentences():
    found = subjects.repeated_sentences(specs.load().rules["OVERLOAD-02"])
    title = "Shed load automatically"
    assert found == {"load-balance-4.1": [(title, 3), (title, 4), (title, 5)]}
