"""The rules as predicates: importing this package registers every check."""

from pulsar_conformance.conformance.checks import (
    answer,
    anti,
    bundle,
    config,
    data,
    manager,
    overload,
    place,
    report,
    shed,
    split,
    split_candidates,
    threshold,
    uniform,
    usage,
)

__all__ = [
    "answer",
    "anti",
    "bundle",
    "config",
    "data",
    "manager",
    "overload",
    "place",
    "report",
    "shed",
    "split",
    "split_candidates",
    "threshold",
    "uniform",
    "usage",
]
