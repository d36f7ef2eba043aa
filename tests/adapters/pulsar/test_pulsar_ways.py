"""Each release gives the same answers as its model to the cases in fixtures/ways."""

import json

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.adapters.pulsar.nearest import comparable_part
from pulsar_conformance.adapters.pulsar.versions import releases
from pulsar_conformance.conformance.cases.legality import matches
from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.reference import Model

pytestmark = pytest.mark.pulsar

CASES = {
    file.name: json.loads(file.read_text("utf-8"))
    for file in fixtures.bundled_path("fixtures/ways").glob("*.json")
}


@pytest.mark.parametrize("version", releases())
def test_each_release_decides_the_case_of_a_way_as_its_model(version):
    profile = profile_of(version)
    model = Model(profile)
    with connect(f"pulsar:{version}", profile, {}) as connection:
        for name, one in CASES.items():
            [answer] = connection.ask(one["ask"], [one["case"]])
            theirs, mine = (
                comparable_part(answer),
                comparable_part(model.answer(one["ask"], one["case"])),
            )
            decided = isinstance(theirs, dict) and isinstance(mine, dict)
            assert theirs == mine or (decided and matches(one["ask"], mine, theirs)), name
