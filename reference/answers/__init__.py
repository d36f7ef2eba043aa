"""Answers to each operation, by area."""

from collections.abc import Mapping

from pulsar_conformance.reference.answers import (
    bundles,
    load_data,
    managers,
    placement,
    settings,
    shedding,
    stories,
)
from pulsar_conformance.reference.context import Answer

ANSWERS: Mapping[str, Answer] = {
    **settings.ANSWERS,
    **bundles.ANSWERS,
    **load_data.ANSWERS,
    **shedding.ANSWERS,
    **placement.ANSWERS,
    **managers.ANSWERS,
    **stories.ANSWERS,
}
"""Functions by operation, in the order of the protocol."""
