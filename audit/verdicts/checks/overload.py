"""Checks of the OVERLOAD rules, about OverloadShedder."""

from __future__ import annotations

from pulsar_conformance.adapters.spark.overload import MIN_BUNDLES, OVERLOAD_THRESHOLD
from pulsar_conformance.adapters.spark.shapes import RESOURCES, SHEDDING_MEASURE
from pulsar_conformance.audit.tables.formatting import MEASURED
from pulsar_conformance.audit.verdicts.checks.evidence import (
    amounts_text,
    shed_text,
    usage_text,
)
from pulsar_conformance.audit.verdicts.checks.facts import SHARE, total_traffic
from pulsar_conformance.audit.verdicts.checks.registry import (
    Readings,
    RuleColumns,
    certainly,
    certainly_not,
    combine_checks,
    may_not,
    must,
    register_check,
)
from pyspark.sql import Column
from pyspark.sql import functions as F


def _for_overload_shedder(judged: RuleColumns, *more: Column) -> RuleColumns:
    named = F.col("strategy") == "OverloadShedder"
    return judged.restricted_to(F.col("first"), F.col("enabled"), named, *more)


def _usage_evidence() -> Column:
    level = F.col("overloadshedder")
    return usage_text(level["usage"], "threshold", level["threshold"])


def _is_over() -> Column:
    return certainly(F.col("overloaded"))


def _must_shed(reached: Column) -> RuleColumns:
    return must(reached, F.col("answered") > 0, _usage_evidence())


def _must_keep(reached: Column) -> RuleColumns:
    return may_not(reached, F.col("answered") > 0, _usage_evidence())


@register_check("OVERLOAD-01")
def an_overloaded_broker_sheds(_readings: Readings) -> RuleColumns:
    """A broker above the threshold sheds at least one bundle."""
    return _for_overload_shedder(_must_shed(_is_over() & F.col("loaded")))


@register_check("OVERLOAD-02")
def sheds_its_excess_plus_margin(readings: Readings) -> RuleColumns:
    """A broker sheds at least its excess plus five percentage points of its traffic, if it can."""
    return _for_overload_shedder(
        sheds_enough(readings, _is_over() & F.col("can"), traffic_to_shed())
    )


def traffic_to_shed() -> Column:
    """Return the traffic that an overloaded broker must shed.

    If it would have to shed all its bundles, the bundle with the least traffic may stay.
    """
    need, movable = F.col("overloadshedder.need"), F.col("movable_traffic")
    whole = (F.col("blocked") == 0) & (movable < need)
    return F.when(whole, movable - F.col("least_traffic")).otherwise(need)


def sheds_enough(readings: Readings, over: Column, to_shed: Column) -> RuleColumns:
    """Return a check that a broker sheds the traffic `to_shed` or, if its movable bundles carry
    less, all of them.
    """
    bound = F.least(to_shed, F.col("movable_traffic"))
    told = amounts_text(readings, "shed", F.col("shed"), bound)
    return must(over, F.col("shed") >= bound * (1 - SHARE), told)


@register_check("OVERLOAD-03")
def sheds_no_more_than_it_takes(readings: Readings) -> RuleColumns:
    """A broker stops shedding once it has shed enough."""
    need = F.col("overloadshedder.need")
    least = F.array_min(F.transform("out", lambda one: one["traffic"]))
    return _for_overload_shedder(
        sheds_no_more(readings, _is_over(), need, total_traffic(F.col("out")) - least)
    )


def sheds_no_more(
    readings: Readings, over: Column, to_shed: Column, short: Column | None = None
) -> RuleColumns:
    """Return a check that a broker sheds no further bundle once it has shed enough."""
    short = F.col("short") if short is None else short
    was_enough = ~((short < to_shed * (1 + SHARE)) | (to_shed == 0))
    told = amounts_text(readings, "before the last bundle, it had shed", short, to_shed)
    return may_not(over & (F.size("out") > 0), was_enough, told)


@register_check("OVERLOAD-04")
def other_brokers_keep_all(_readings: Readings) -> RuleColumns:
    """A broker that is not overloaded sheds nothing."""
    return _for_overload_shedder(
        _must_keep(certainly_not(F.col("overloaded")) & (F.col("owned") > 0))
    )


@register_check("OVERLOAD-05")
def sheds_at_most_one_bundle(_readings: Readings) -> RuleColumns:
    """An overloaded broker sheds at most one bundle."""
    return _for_overload_shedder(
        may_not(_is_over() & F.col("can"), F.col("answered") > 1, _usage_evidence())
    )


@register_check("OVERLOAD-06")
def the_one_is_the_most_expensive(readings: Readings) -> RuleColumns:
    """The first bundle that a broker sheds is its most expensive movable one."""
    measure = SHEDDING_MEASURE[readings["expensive-measure"]]
    given = F.filter("out", lambda one: one["movable"])
    at_once = F.filter(given, lambda one: one["at"] == given[0]["at"])
    first = F.array_max(F.transform(at_once, lambda one: one[measure]))
    most = F.col(f"most_{measure}")
    written = MEASURED[readings["expensive-measure"]]
    told = F.concat(
        *(shed_text(), F.lit("; the first carries "), written(first)),
        *(F.lit(", the most expensive "), written(most)),
    )
    judged = RuleColumns(
        certainly(first.isNotNull() & (F.col("able") > 1)),
        certainly(first < most * (1 - SHARE)) & (F.col("perhaps") == 0) & ~_shed_a_doubtful_one(),
        told,
        F.lit(False),
    )
    return _for_overload_shedder(judged)


def _shed_a_doubtful_one() -> Column:
    """True if the broker shed a bundle that may have had to stay."""
    stuck = F.transform("stuck", lambda one: one["bundle"])
    return F.exists("out", lambda one: ~one["movable"] & ~F.array_contains(stuck, one["bundle"]))


@register_check("OVERLOAD-07")
def a_single_bundle_stays(_readings: Readings) -> RuleColumns:
    """A broker with a single bundle keeps it."""
    few = (F.col("owned") < MIN_BUNDLES) & (F.col("able") > 0)
    return _for_overload_shedder(_must_keep(few & ~certainly_not(F.col("overloaded"))))


@register_check("OVERLOAD-09")
def any_one_resource_suffices(_readings: Readings) -> RuleColumns:
    """One resource above the threshold makes a broker overloaded, even if it uses little of the
    others.
    """
    threshold = F.col("overloadshedder.threshold")
    percents = F.array(*(F.col(f"percent.{name}") for name in RESOURCES))
    hot = F.size(F.filter(percents, lambda percent: percent >= threshold))
    return _for_overload_shedder(_must_shed((hot == 1) & _is_over() & F.col("loaded")))


@register_check("OVERLOAD-10")
def the_threshold_is_85_by_default(_readings: Readings) -> RuleColumns:
    """If no threshold is set, a broker sheds above 85 % and keeps its bundles below 85 %."""
    sheds = _must_shed(_is_over() & F.col("loaded"))
    keeps = _must_keep(certainly_not(F.col("overloaded")) & (F.col("owned") > 0))
    unset = ~F.array_contains("named", OVERLOAD_THRESHOLD)
    return _for_overload_shedder(combine_checks(sheds, keeps), unset)
