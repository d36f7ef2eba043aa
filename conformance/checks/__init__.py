"""The rules as predicates: importing this package registers every check."""

from pulsar_conformance.conformance.checks import (
    bundle,
    config,
    data,
    overload,
    report,
    shed,
    split,
    split_candidates,
    threshold,
    uniform,
    usage,
)

__all__ = [
    "bundle",
    "config",
    "data",
    "overload",
    "report",
    "shed",
    "split",
    "split_candidates",
    "threshold",
    "uniform",
    "usage",
]
