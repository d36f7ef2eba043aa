"""The classes of 4.2.4 answer the examples of pages for 4.x as the documents allow, or as an
example notes for the release.
"""

import pytest
from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.catalogue import OPERATIONS

pytestmark = pytest.mark.pulsar

VERSION, PROFILE = "4.2.4", "documented-4.2"
SPECS = specs.load()
RULES = {rule.id for rule in SPECS.rules_of(PROFILE)}
EXAMPLES = [
    example
    for example in fixtures.examples()
    if example.required_answers
    and SPECS.documents[example.document].version.startswith("4")
    and RULES.intersection(example.rules)
    and example.holds_in(SPECS, PROFILE)
    and example.readings.items() <= SPECS.default_readings(PROFILE).items()
]


@pytest.fixture(scope="module")
def release():
    with connect(f"pulsar:{VERSION}", PROFILE, {}) as connection:
        yield connection


def agrees(operation, written, got):
    """True if an answer equals the expected one; of a failure, only the beginning is compared."""
    if "failed" in written:
        return got.get("failed", "").startswith(written["failed"])
    return "failed" not in got and OPERATIONS[operation].matches(written, got)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.id)
def test_an_example_is_answered_as_written_or_as_noted(release, example):
    operations = [operation for operation, _ in example.questions]
    answers = [release.ask(operation, [case])[0] for operation, case in example.questions]
    if any("unsupported" in one for one in answers):
        pytest.skip(f"{VERSION} cannot be asked that: {answers}")
    noted = example.released.get(VERSION)
    written = [noted.answers] if noted else example.required_answers
    assert any(all(map(agrees, operations, each, answers)) for each in written), answers
