"""Answers to each operation, by area."""

from collections.abc import Mapping

from pulsar_conformance.reference.answers import (
    averages,
    bundles,
    managers,
    placement,
    reports,
    settings,
    shedding,
    stories,
    usage,
)
from pulsar_conformance.reference.context import Answer

ANSWERS: Mapping[str, Answer] = {
    **settings.ANSWERS,
    **bundles.ANSWERS,
    **usage.ANSWERS,
    **averages.ANSWERS,
    **shedding.ANSWERS,
    **placement.ANSWERS,
    **managers.ANSWERS,
    **reports.ANSWERS,
    **stories.ANSWERS,
}
"""Functions by operation, in the order of the protocol."""
