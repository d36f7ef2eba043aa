"""`manager.choose`: which load manager runs?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Operation
from pulsar_conformance.conformance.views import Chooses, Choosing
from pulsar_conformance.reference.managers import MODULAR, SIMPLE

CHOOSE = Operation(
    id="manager.choose",
    view=lambda case, _settings, _readings: Choosing(case["conf"], case["dynamic"]),
    read=lambda _case, answer: Chooses(answer.get("manager"), answer.get("refused")),
    matches=same_field("manager"),
    examples=tuple({"conf": None, "dynamic": name} for name in (MODULAR, SIMPLE)),
    refusable=True,
)
