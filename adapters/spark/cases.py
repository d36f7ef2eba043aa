"""Converts cases to rows and rows to answers, for all operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.adapters.spark import settings
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Readings = Mapping[str, str]


@dataclass(frozen=True)
class PlanBasis:
    """The input of a plan besides the cases: documented defaults, and readings."""

    defaults: Mapping[str, Any]
    readings: Readings


@dataclass(frozen=True)
class SparkOperation:
    """How Spark answers an operation: the schema of its cases, and the plan of its job.

    The plan gets the fields of `shape`, and `cycle`, the number of the case. It returns one row per
    case, with `cycle` and `answer`, which is a struct or JSON text.
    """

    shape: str
    plan: Callable[[DataFrame, PlanBasis], DataFrame]
    settings: tuple[str, ...] = ()
    """Settings that the answer depends on.

    The plan gets them twice: with their types in the struct `settings`, and as text in the map
    `given`.
    """


def answers_as_json(texts: DataFrame, operation: SparkOperation, chosen: PlanBasis) -> DataFrame:
    """Answer cases; cases and answers are rows with the columns `cycle` and `text` (JSON)."""
    cases = parsed_cases(texts, operation.shape)
    if operation.settings:
        force = settings.in_force(F.col("settings"), operation.settings, chosen.defaults)
        cases = cases.withColumns({"given": F.col("settings"), "settings": force})
    return operation.plan(cases, chosen).select("cycle", F.col("answer").alias("text"))


def parsed_cases(texts: DataFrame, shape: str) -> DataFrame:
    """Parse the fields of each case; keep the number of the case."""
    case = F.from_json("text", f"struct<{shape}>").alias("case")
    return texts.select("cycle", case).select("cycle", "case.*")


def json_answer(**fields: Column) -> Column:
    """Format an answer as JSON, including null values."""
    made = F.struct(*(column.alias(name) for name, column in fields.items()))
    return F.to_json(made, {"ignoreNullFields": "false"})


def declined_answer(kind: str, why: Column) -> Column:
    """Return the answer `refused`, `unsupported` or `failed` with its reason as JSON; null without
    a reason.
    """
    return F.when(why.isNotNull(), json_answer(**{kind: why}))


def first_answer(*answers: Column) -> Column:
    """Return the first non-null answer."""
    return F.coalesce(*answers)
