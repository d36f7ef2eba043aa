"""The operations that Spark answers, by their ID."""

from __future__ import annotations

from collections.abc import Mapping

from pulsar_conformance.adapters.spark import (
    answers_bundles,
    answers_loads,
    answers_placement,
    answers_shedding,
)
from pulsar_conformance.adapters.spark.cases import SparkOperation

OPERATIONS: Mapping[str, SparkOperation] = {
    **answers_bundles.OPERATIONS,
    **answers_loads.OPERATIONS,
    **answers_shedding.OPERATIONS,
    **answers_placement.OPERATIONS,
}
