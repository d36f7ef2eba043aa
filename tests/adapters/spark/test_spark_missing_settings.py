"""If settings are missing, the engine answers, refuses or fails in the same cases as the model."""

from random import Random

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.engine.draw import draw_trials
from pulsar_conformance.reference import MissingSetting, Model
from standins.sparks import NAME, spark

assert spark
pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

EACH = 6
OPERATIONS = (
    "shed.select",
    "bundles.split_candidates",
    "place.select",
    "usage.max",
    "bundles.create",
)


def without_some(random, case):
    """Return the case without some of its settings; each is removed with a chance of 40 %."""
    settings = dict(case.get("settings") or {})
    return {**case, "settings": {n: v for n, v in settings.items() if random.random() < 0.6}}


def kind(answer):
    return next((one for one in ("failed", "refused", "unsupported") if one in answer), "answered")


def by_model(model, operation, case):
    try:
        return kind(model.answer(operation, case))
    except MissingSetting:
        return "failed"


USUAL, EVERYWHERE = {}, {"overload-scope": "all"}


@pytest.mark.parametrize(
    ("profile", "otherwise"),
    [
        ("documented-3.0", USUAL),
        ("documented-2.10", EVERYWHERE),
        pytest.param("documented-3.0", EVERYWHERE, marks=pytest.mark.thorough),
        pytest.param("documented-2.10", USUAL, marks=pytest.mark.thorough),
    ],
)
def test_settings_left_out_are_missed_alike(profile, otherwise):
    random, known = Random(3), specs.load()
    readings = {**known.default_readings(profile), **otherwise}
    asked = {operation: [] for operation in OPERATIONS}
    for rule in known.rules_of(profile):
        if rule.id not in checks() or not set(OPERATIONS) & set(rule.operations):
            continue
        for trial in draw_trials(rule.id, profile, 7, EACH):
            for question in trial.questions:
                if question.operation in asked:
                    asked[question.operation].append(without_some(random, question.case))
    model, kinds = Model(profile, readings), set()
    with connect(NAME, profile, otherwise) as connection:
        for operation, cases in asked.items():
            answers = connection.ask(operation, cases) if cases else []
            for case, answer in zip(cases, answers, strict=True):
                told = by_model(model, operation, case)
                assert kind(answer) == told, (operation, case, answer)
                kinds.add(told)
    assert {"answered", "failed"} <= kinds
