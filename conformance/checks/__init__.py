"""The rules as predicates: importing this package registers every check."""

from pulsar_conformance.conformance.checks import (
    bundle,
    config,
    overload,
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
    "overload",
    "shed",
    "split",
    "split_candidates",
    "threshold",
    "uniform",
    "usage",
]
