"""Checks of the AVERAGE rules, about AvgShedder."""

from __future__ import annotations

from pulsar_conformance.adapters.spark.average import HIGH, HITS, LOW, NAME
from pulsar_conformance.adapters.spark.shapes import or_zero
from pulsar_conformance.adapters.spark.uniform import MAX_SHARE, MIN_UNLOAD
from pulsar_conformance.audit.tables.formatting import MEASURED, plain
from pulsar_conformance.audit.verdicts.checks.evidence import shed_text
from pulsar_conformance.audit.verdicts.checks.facts import (
    POINTS,
    setting_in_force,
    window_of_cycle,
)
from pulsar_conformance.audit.verdicts.checks.facts import SHARE as TOLERANCE
from pulsar_conformance.audit.verdicts.checks.registry import (
    Readings,
    RuleColumns,
    certainly,
    may_not,
    must,
    register_check,
)
from pulsar_conformance.audit.verdicts.checks.uniform import keeps_small_differences
from pyspark.sql import Column
from pyspark.sql import functions as F


def _pair_column(name: str) -> Column:
    return F.col(f"avgshedder.{name}")


def _for_avg_shedder(judged: RuleColumns, *more: Column) -> RuleColumns:
    named = F.col("strategy") == NAME
    return judged.restricted_to(
        F.col("first"), F.col("enabled"), named, ~F.col("sheds_under_85"), _is_pair_unique(), *more
    )


def _is_pair_unique() -> Column:
    """True if exactly one broker has the highest usage and exactly one has the lowest."""
    used = F.when(F.col("first"), _pair_column("usage"))
    ends = (F.min(used).over(window_of_cycle()), F.max(used).over(window_of_cycle()))
    near = (F.count_if(F.abs(used - end) <= POINTS).over(window_of_cycle()) == 1 for end in ends)
    return next(near) & next(near)


def _apart_text() -> Column:
    return F.concat(
        shed_text(),
        F.lit("; "),
        _pair_column("busy"),
        F.lit(" and "),
        _pair_column("idle"),
        F.lit(" are "),
        plain(_pair_column("apart")),
        F.lit(" points apart"),
    )


def _hits_text(threshold: str, hits: Column) -> Column:
    over, times = HITS[threshold]
    return F.concat(
        _apart_text(),
        F.lit(", over "),
        plain(setting_in_force(over)),
        F.lit(" in "),
        hits.cast("string"),
        F.lit(" cycles in a row of "),
        plain(setting_in_force(times)),
    )


def _share_of_difference(measure: str) -> Column:
    """Return the configured share of the traffic by which the most used broker exceeds the least
    used.
    """
    carried = F.when(F.col("first"), F.col(f"carries.{measure}"))
    ends = (
        F.max(F.when(F.col("broker") == _pair_column(end), carried)).over(window_of_cycle())
        for end in ("busy", "idle")
    )
    return (next(ends) - next(ends)) * setting_in_force(MAX_SHARE)


def _is_worthwhile() -> Column:
    """True if the configured share of the difference in messages exceeds the configured minimum
    for an unload.
    """
    return _share_of_difference("messages") > setting_in_force(MIN_UNLOAD["messages"]) * (
        1 + TOLERANCE
    )


def _must_unload_after_hits(threshold: str) -> RuleColumns:
    over, times = HITS[threshold]
    beyond = _pair_column("apart") > setting_in_force(over) + POINTS
    due = beyond & (_pair_column(threshold) >= setting_in_force(times)) & _pair_column("most_used")
    fits = F.col("fewest_messages") < _share_of_difference("messages") * (1 - TOLERANCE)
    judged = must(
        due & _is_worthwhile() & fits,
        F.col("answered") > 0,
        _hits_text(threshold, _pair_column(threshold)),
    )
    return _for_avg_shedder(judged)


@register_check("AVERAGE-01")
def enough_hits_over_the_low_threshold_unload(_readings: Readings) -> RuleColumns:
    """After enough consecutive cycles above the low threshold, the most used broker unloads."""
    return _must_unload_after_hits("low")


@register_check("AVERAGE-02")
def enough_hits_over_the_high_threshold_unload(_readings: Readings) -> RuleColumns:
    """After enough consecutive cycles above the high threshold, the most used broker unloads."""
    return _must_unload_after_hits("high")


def _most_hits(threshold: str) -> Column:
    """Return the largest number of hits of a threshold that any possible pair of brokers has."""
    over, _ = HITS[threshold]
    none = _pair_column("apart") < setting_in_force(over) - POINTS
    before = F.coalesce(F.col(f"perhaps_streak.{threshold}"), F.lit(0))
    return F.when(none, F.lit(0)).otherwise(before + 1)


@register_check("AVERAGE-03")
def too_few_hits_unload_nothing(_readings: Readings) -> RuleColumns:
    """Nothing is unloaded before a threshold is exceeded in enough consecutive cycles."""
    few = [_most_hits(one) < setting_in_force(times) for one, (_, times) in HITS.items()]
    beyond = _pair_column("apart") > setting_in_force(LOW) + POINTS
    reached = few[0] & few[1] & beyond & (F.col("owned") > 0)
    return _for_avg_shedder(
        may_not(reached, F.col("answered") > 0, _hits_text("low", _most_hits("low")))
    )


@register_check("AVERAGE-04")
def nothing_goes_within_the_low_threshold(_readings: Readings) -> RuleColumns:
    """Nothing is unloaded unless the difference in usage exceeds the low threshold."""
    low = setting_in_force(LOW)
    within = (_pair_column("apart") < low - POINTS) & (low <= setting_in_force(HIGH))
    told = F.concat(_apart_text(), F.lit(", within the threshold of "), plain(low))
    return _for_avg_shedder(may_not(within & (F.col("owned") > 0), F.col("answered") > 0, told))


@register_check("AVERAGE-05")
def no_more_than_the_share_goes(_readings: Readings) -> RuleColumns:
    """The unloaded bundles carry at most the configured share of the difference in messages."""
    gone = F.aggregate("out", F.lit(0.0), lambda total, one: total + or_zero(one["messages"]))
    most, written = _share_of_difference("messages"), MEASURED["message-rate"]
    told = F.concat(
        shed_text(),
        F.lit(", "),
        written(gone),
        F.lit(" together; "),
        plain(setting_in_force(MAX_SHARE)),
        F.lit(" of the difference to "),
        _pair_column("idle"),
        F.lit(" is "),
        written(most),
    )
    reached = _pair_column("most_used") & _is_worthwhile() & (gone > 0) & (F.col("unweighed") == 0)
    return _for_avg_shedder(may_not(reached, gone > most * (1 + TOLERANCE), told))


@register_check("AVERAGE-06")
def small_differences_stay(_readings: Readings) -> RuleColumns:
    """Nothing is unloaded if the configured share of the largest difference is below both
    minimums.
    """
    return _for_avg_shedder(keeps_small_differences())


@register_check("AVERAGE-07")
def the_least_used_broker_keeps_all(_readings: Readings) -> RuleColumns:
    """The least used broker unloads nothing."""
    reached = certainly(F.col("broker") == _pair_column("idle")) & (F.col("owned") > 0)
    told = F.concat(shed_text(), F.lit("; it is used the least"))
    return _for_avg_shedder(may_not(reached & (F.col("total") > 0), F.col("answered") > 0, told))
