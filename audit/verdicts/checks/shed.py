"""Checks of the SHED rules, about every shedding strategy."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import shedding
from pulsar_conformance.audit.tables.formatting import plain
from pulsar_conformance.audit.verdicts.checks.evidence import shed_text
from pulsar_conformance.audit.verdicts.checks.facts import (
    SHARE,
    any_broker,
    setting_in_force,
    sum_over_brokers,
    window_of_cycle,
)
from pulsar_conformance.audit.verdicts.checks.overload import sheds_enough, traffic_to_shed
from pulsar_conformance.audit.verdicts.checks.registry import (
    Readings,
    RuleColumns,
    certainly,
    combine_checks,
    may_not,
    must,
    register_check,
)
from pyspark.sql import Column
from pyspark.sql import functions as F

OWNER_UNKNOWN = (
    "no record shows who owned it then; an unload may be recorded later than it happened"
)
"""Why it is unknown whether a broker owned a bundle that it unloaded and no longer reports."""


def forbid_always(reached: Column, done: Column, evidence: Column) -> RuleColumns:
    """Return a result that is a violation wherever the forbidden action was taken, even if the rule
    does not apply.
    """
    return RuleColumns(certainly(reached), certainly(done), evidence, F.lit(False))


@register_check("SHED-01")
def nothing_is_shed_when_switched_off(_readings: Readings) -> RuleColumns:
    """With shedding disabled, nothing is unloaded."""
    off = ~certainly(setting_in_force(shedding.ENABLED))
    told = F.concat(shed_text(), F.lit("; shedding is switched off"))
    return may_not(off, F.col("answered") > 0, told)


def _any_broker_owns() -> Column:
    return F.col("enabled") & (sum_over_brokers(F.col("owned")) > 0)


@register_check("SHED-02")
def only_owned_bundles_go(_readings: Readings) -> RuleColumns:
    """Brokers shed only bundles that they own."""
    unknown = F.size("alien") == F.size("ownerless")
    told = F.concat(
        shed_text("alien"),
        F.lit(", not in its last report"),
        F.when(unknown, F.lit(f"; {OWNER_UNKNOWN}")).otherwise(F.lit("")),
    )
    return forbid_always(_any_broker_owns(), F.size("alien") > 0, told)


@register_check("SHED-03")
def each_bundle_goes_once(_readings: Readings) -> RuleColumns:
    """No bundle is unloaded twice in a cycle."""
    everywhere = F.flatten(F.collect_list("gone").over(window_of_cycle()))
    twice = F.size(F.array_distinct(everywhere)) < F.size(everywhere)
    told = F.concat(shed_text(), F.lit("; a bundle was unloaded more than once"))
    return forbid_always(_any_broker_owns(), twice, told)


@register_check("SHED-04")
def recently_unloaded_bundles_stay(_readings: Readings) -> RuleColumns:
    """A bundle unloaded within the grace period is not unloaded again."""
    stuck = F.flatten(F.collect_list("stuck").over(window_of_cycle()))
    again = F.array_distinct(F.filter(stuck, lambda one: F.array_contains("gone", one["bundle"])))
    reached = F.col("enabled") & any_broker(F.col("blocked") > 0)
    told = F.concat(
        F.col("broker"),
        F.lit(" shed "),
        F.array_join(F.transform(again, _last_unload), ", "),
        F.lit(", grace "),
        plain(setting_in_force(shedding.GRACE)),
    )
    return forbid_always(reached, F.size(again) > 0, told)


@register_check("SHED-17")
def bundles_of_excluded_namespaces_stay(_readings: Readings) -> RuleColumns:
    """No bundle of an excluded namespace is unloaded, whichever strategy sheds."""
    excluded = F.array_distinct(F.flatten(F.collect_list("excluded").over(window_of_cycle())))
    gone = F.array_intersect("gone", excluded)
    reached = F.col("enabled") & any_broker(F.size("excluded") > 0)
    told = F.concat(
        F.col("broker"),
        F.lit(" shed "),
        F.array_join(gone, ", "),
        F.lit(", whose namespace is excluded from shedding"),
    )
    return forbid_always(reached, F.size(gone) > 0, told)


def _last_unload(one: Column) -> Column:
    """Return text on a bundle: its name, and the time from its last unload to the cycle."""
    minutes = F.coalesce(plain(one["moved"]), F.lit("some"))
    return F.concat(
        one["bundle"], F.lit(", unloaded "), minutes, F.lit(" minutes before the cycle")
    )


@register_check("SHED-07")
def bundles_with_more_traffic_go_first(readings: Readings) -> RuleColumns:
    """A broker sheds no bundle while it keeps a movable one with more traffic."""
    several = F.lit(readings["overload-amount"] != "one")
    return busiest_bundles_first().restricted_to(F.col("strategy") == "OverloadShedder", several)


def busiest_bundles_first() -> RuleColumns:
    """Return a check that a broker sheds no bundle while it keeps a movable one with more traffic.

    It applies under any strategy.
    """
    given = F.filter("out", lambda one: one["movable"])
    least = F.array_min(F.transform(given, lambda one: one["traffic"]))
    both = (F.size(given) > 0) & (F.col("kept") > 0)
    told = F.concat(shed_text(), F.lit("; a movable bundle with more traffic stayed"))
    judged = forbid_always(both, certainly(least < F.col("most_kept") * (1 - SHARE)), told)
    return judged.restricted_to(F.col("first"), F.col("enabled"))


@register_check("SHED-08")
def overloaded_brokers_shed_under_every_strategy(readings: Readings) -> RuleColumns:
    """An overloaded broker sheds its excess, whichever strategy is set."""
    sure = certainly(F.col("overloaded") & F.col("can"))
    some = must(sure & F.col("loaded"), F.col("answered") > 0, shed_text())
    amount = F.lit(readings["overload-amount"] != "one")
    much = sheds_enough(readings, sure & amount, traffic_to_shed())
    excess = RuleColumns(F.lit(False), much.broken, much.evidence, much.lacking)
    other = F.col("strategy") != "OverloadShedder"
    return combine_checks(some, excess).restricted_to(F.col("first"), F.col("enabled"), other)
