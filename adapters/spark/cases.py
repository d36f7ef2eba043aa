"""Conversion of cases to rows and of rows to answers, shared by all operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.adapters.spark import settings
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Readings = Mapping[str, str]


@dataclass(frozen=True)
class Basis:
    """The basis of a plan: the documented defaults of a profile, and the readings."""

    defaults: Mapping[str, Any]
    readings: Readings


@dataclass(frozen=True)
class SparkOperation:
    """How an operation is answered: the schema of its case, and the plan of its job.

    The plan takes cases with `cycle`, the case's number, and the fields of `shape`. It returns rows
    of `cycle` and `answer`, a struct or JSON text, one per case.
    """

    shape: str
    plan: Callable[[DataFrame, Basis], DataFrame]
    settings: tuple[str, ...] = ()
    """Settings that the answer depends on: with types in a struct `settings`, as given in a map
    `given`.
    """


def answers_as_json(texts: DataFrame, operation: SparkOperation, chosen: Basis) -> DataFrame:
    """Answer cases; both cases and answers are JSON in rows of `cycle` and `text`."""
    cases = parsed_cases(texts, operation.shape)
    if operation.settings:
        force = settings.in_force(F.col("settings"), operation.settings, chosen.defaults)
        cases = cases.withColumns({"given": F.col("settings"), "settings": force})
    return operation.plan(cases, chosen).select("cycle", F.col("answer").alias("text"))


def parsed_cases(texts: DataFrame, shape: str) -> DataFrame:
    """Parse the fields of each case, keeping its number."""
    case = F.from_json("text", f"struct<{shape}>").alias("case")
    return texts.select("cycle", case).select("cycle", "case.*")


def json_answer(**fields: Column) -> Column:
    """Format an answer as JSON, including null values."""
    made = F.struct(*(column.alias(name) for name, column in fields.items()))
    return F.to_json(made, {"ignoreNullFields": "false"})


def declined(kind: str, why: Column) -> Column:
    """Format `refused`, `unsupported` or `failed` with a reason; null if there is no reason."""
    return F.when(why.isNotNull(), json_answer(**{kind: why}))


def first_answer(*answers: Column) -> Column:
    """Return the first non-null answer."""
    return F.coalesce(*answers)
