"""Cases of one shedding cycle.

`cases(overload)` draws clusters around the overload threshold; `threshold`, `uniform`,
`lower_boundary_on` and others may be used alone or together. Usages are percentages of limits,
traffic is messages and bytes per second, times are minutes.
"""

from pulsar_conformance.conformance.shedding.draws.above_average import (
    threshold,
    threshold_near_the_limit,
    threshold_weighted,
    threshold_with_history,
    threshold_with_idle_brokers,
)
from pulsar_conformance.conformance.shedding.draws.changes import (
    after_splits,
    by_settings,
    unnamed,
    with_another_long_term,
    with_another_overload_threshold,
    with_other_brokers_changed,
)
from pulsar_conformance.conformance.shedding.draws.cycles import (
    any_strategy,
    cases,
    changed,
    cycles,
    lately_unloaded,
    others_without_ties,
    pairs,
    switched_off,
    threshold_without_ties,
    without_ties,
)
from pulsar_conformance.conformance.shedding.draws.lower_boundary import (
    level_cluster,
    lower_boundary_off,
    lower_boundary_on,
)
from pulsar_conformance.conformance.shedding.draws.overloaded import (
    overload,
    overload_by_default,
    overload_with_few_bundles,
    overloaded_under_others,
)
from pulsar_conformance.conformance.shedding.draws.unbalanced import uniform

__all__ = (
    "after_splits",
    "any_strategy",
    "by_settings",
    "cases",
    "changed",
    "cycles",
    "lately_unloaded",
    "level_cluster",
    "lower_boundary_off",
    "lower_boundary_on",
    "others_without_ties",
    "overload",
    "overload_by_default",
    "overload_with_few_bundles",
    "overloaded_under_others",
    "pairs",
    "switched_off",
    "threshold",
    "threshold_near_the_limit",
    "threshold_weighted",
    "threshold_with_history",
    "threshold_with_idle_brokers",
    "threshold_without_ties",
    "uniform",
    "unnamed",
    "with_another_long_term",
    "with_another_overload_threshold",
    "with_other_brokers_changed",
    "without_ties",
)
