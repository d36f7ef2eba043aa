"""`bundles.create`: into which ranges of hashes is a new namespace divided?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.views import Plain
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.ranges import HASHES

NUMBER = "defaultNumberOfNamespaceBundles"


def _legal(case: Json, settings: Settings) -> Problems:
    count, said = case["bundles"], "case.bundles"
    if count is None:
        count, said = settings.number(NUMBER), f"case.settings.{NUMBER}"
    if count != int(count) or not 1 <= count < HASHES:
        yield f"{said}: {float(count):g} bundles cannot be made of {HASHES} hashes"


def _boundaries(_case: Plain, answer: Json) -> list[str]:
    boundaries: list[str] = answer["boundaries"]
    return boundaries


CREATE = Operation(
    id="bundles.create",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=_boundaries,
    matches=same_field("boundaries"),
    examples=tuple({"bundles": number, "settings": {}} for number in (16, 2, None)),
    legal=_legal,
    said_by_case={NUMBER: "bundles"},
)
