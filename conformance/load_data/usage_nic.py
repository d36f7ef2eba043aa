"""`usage.nic`: how fast is a broker's network, in Gbit/s?"""

from __future__ import annotations

from math import isclose

from pulsar_conformance.conformance.core.expect import NotReached
from pulsar_conformance.conformance.core.likeness import SHARE
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.views import Plain
from pulsar_conformance.reference import Settings
from pulsar_conformance.reference.numbers import Fraction, exact
from pulsar_conformance.reference.usage import NIC_SPEED


def _legal(case: Json, settings: Settings) -> Problems:
    if len(case["nics"]) != 1:
        yield "case.nics: no document says what several network interfaces mean"
    override = settings.given.get(NIC_SPEED)
    if isinstance(override, bool) or (isinstance(override, str) and override != ""):
        yield f"case.settings.{NIC_SPEED}: {override!r} is not a number of Gbit/s"
    elif isinstance(override, int | float) and override <= 0:
        yield f"case.settings.{NIC_SPEED}: {override:g} Gbit/s is not a speed; leave it empty"
    if override in (None, "") and case["nics"][0].get("reportedGbps") is None:
        yield "case.nics: no speed is reported and none is set"


def _speed(_case: Plain, answer: Json) -> Fraction:
    if "refused" in answer:
        raise NotReached("the request was refused")
    return exact(answer["gbps"])


NIC = Operation(
    id="usage.nic",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=_speed,
    matches=lambda allowed, answer: isclose(allowed["gbps"], answer["gbps"], rel_tol=SHARE),
    examples=(
        {"settings": {}, "nics": [{"reportedGbps": 10}]},
        {"settings": {NIC_SPEED: 0.8}, "nics": [{"reportedGbps": 10}]},
    ),
    legal=_legal,
    refusable=True,
)
