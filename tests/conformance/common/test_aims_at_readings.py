"""Each trial of an aim at a reading asks only the operation that the aim declares."""

import pytest
from pulsar_conformance.conformance.catalogue import aims_by_reading
from pulsar_conformance.conformance.drawing.drawing import draw

AIMS = [aim for aims in aims_by_reading().values() for aim in aims]


@pytest.mark.parametrize("aim", AIMS, ids=[f"{aim.reading}-{aim.operation}" for aim in AIMS])
def test_every_trial_asks_the_declared_operation(aim):
    for trial in draw(aim.strategy, 8, aim.reading):
        assert trial.operations == {aim.operation}
