"""Cases and answers as checks see them: typed, exact, in the field's own terms."""

from __future__ import annotations

from pulsar_conformance.conformance.views.averages import Owning, Sampled
from pulsar_conformance.conformance.views.bundles import Chosen, Found, Locating, Parts
from pulsar_conformance.conformance.views.loads import Measured
from pulsar_conformance.conformance.views.managers import Chooses, Choosing
from pulsar_conformance.conformance.views.placement import Placed, Placing, Spreading
from pulsar_conformance.conformance.views.plain import Plain
from pulsar_conformance.conformance.views.reports import Reported, Said
from pulsar_conformance.conformance.views.shedding import Unloading, Unloadings
from pulsar_conformance.conformance.views.stories import Course, Scene, Story
from pulsar_conformance.conformance.views.world import Moment

__all__ = [
    "Chooses",
    "Choosing",
    "Chosen",
    "Course",
    "Found",
    "Locating",
    "Measured",
    "Moment",
    "Owning",
    "Parts",
    "Placed",
    "Placing",
    "Plain",
    "Reported",
    "Said",
    "Sampled",
    "Scene",
    "Spreading",
    "Story",
    "Unloading",
    "Unloadings",
]
