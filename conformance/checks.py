"""The rules as predicates: importing this package registers every check."""

from pulsar_conformance.conformance.checks import (
    answer,
    bundle,
    config,
    data,
    manager,
    released,
    report,
    split,
    split_candidates,
    usage,
)
from pulsar_conformance.conformance.checks.placement import anti, assigning, place
from pulsar_conformance.conformance.checks.shedding import overload, rows, shed, threshold, uniform
from pulsar_conformance.conformance.checks.stories import (
    anti as anti_in_time,
)
from pulsar_conformance.conformance.checks.stories import (
    leaders,
    own,
    own_unloading,
    written,
)
from pulsar_conformance.conformance.checks.stories import (
    shed as shed_in_time,
)
from pulsar_conformance.conformance.checks.stories import (
    split as split_in_time,
)

__all__ = [
    "answer",
    "anti",
    "anti_in_time",
    "assigning",
    "bundle",
    "config",
    "data",
    "leaders",
    "manager",
    "overload",
    "own",
    "own_unloading",
    "place",
    "released",
    "report",
    "rows",
    "shed",
    "shed_in_time",
    "split",
    "split_candidates",
    "split_in_time",
    "threshold",
    "uniform",
    "usage",
    "written",
]
