"""Checks of the UNIFORM rules, about UniformLoadShedder."""

from __future__ import annotations

from collections.abc import Callable

from pulsar_conformance.adapters.spark.shapes import or_zero
from pulsar_conformance.adapters.spark.uniform import (
    DIFFERENCES_TRIGGER,
    MAX_UNLOADED_BUNDLES,
    MIN_UNLOAD,
    RATE_THRESHOLD,
    THROUGHPUT_THRESHOLD,
)
from pulsar_conformance.adapters.spark.uniform import MAX_SHARE as MAX_SHARE
from pulsar_conformance.audit.tables.formatting import plain
from pulsar_conformance.audit.verdicts.checks.evidence import shed_text
from pulsar_conformance.audit.verdicts.checks.facts import (
    SHARE,
    any_broker,
    has_no_excluded,
    no_broker,
    setting_in_force,
    window_of_cycle,
)
from pulsar_conformance.audit.verdicts.checks.registry import (
    Readings,
    RuleColumns,
    certainly,
    certainly_not,
    may_not,
    must,
    register_check,
)
from pyspark.sql import Column
from pyspark.sql import functions as F

MEASURES = ("messages", "bytes")

MIN_COMPARED = 1.0
"""Minimum rate of the least loaded broker in comparisons, in messages or bytes per second.

Lower rates count as this rate, since no rate is a multiple of 0.
"""


def _for_uniform_shedder(judged: RuleColumns, *more: Column) -> RuleColumns:
    named = F.col("strategy") == "UniformLoadShedder"
    return judged.restricted_to(F.col("first"), F.col("enabled"), named, *more)


def _end_column(end: str, measure: str) -> Column:
    return F.col(f"uniformloadshedder.{end}.{measure}")


def _carries(measure: str) -> Column:
    return F.when(F.col("first"), F.col(f"carries.{measure}"))


def _least_loaded(measure: str) -> Column:
    """Return the broker with the least traffic, or the first of several that have it."""
    one = F.struct(_carries(measure).alias("carries"), F.col("turn"), F.col("broker"))
    return F.min(F.when(F.col("first"), one)).over(window_of_cycle())["broker"]


def _is_most_loaded() -> Column:
    carries = (_carries(measure) == _end_column("most", measure) for measure in MEASURES)
    return certainly(next(carries)) & certainly(next(carries))


def _is_least_loaded() -> Column:
    return F.col("broker") == _least_loaded("messages")


def _agreement_on_ends() -> tuple[Column, ...]:
    """Return conditions that are all true if messages, bytes and usage agree on the extreme
    brokers.

    They must agree on which broker is least loaded, and on a single most loaded broker.
    """
    alone = (
        F.count_if(_carries(measure) == _end_column("most", measure)).over(window_of_cycle()) == 1
        for measure in MEASURES
    )
    return (
        _least_loaded("messages") == _least_loaded("bytes"),
        any_broker(_is_most_loaded()),
        *alone,
        _usage_agrees_on_ends(),
    )


def _usage_agrees_on_ends() -> Column:
    """True if the most loaded broker has the highest usage and the least loaded broker the
    lowest.
    """
    used, known = F.when(F.col("first"), F.col("overloadshedder.usage")), F.col("first")
    most, least = F.min(F.when(_is_most_loaded(), used)), F.max(F.when(_is_least_loaded(), used))
    below = F.max(F.when(known & ~certainly(_is_most_loaded()), used))
    above = F.min(F.when(known & ~certainly(_is_least_loaded()), used))
    return (most.over(window_of_cycle()) > below.over(window_of_cycle())) & (
        least.over(window_of_cycle()) < above.over(window_of_cycle())
    )


def _clearly_exceeds(most: Column, bound: Column) -> Column:
    """True if an amount exceeds a bound; null if rounding could decide."""
    close = F.abs(most - bound) <= F.greatest(most, bound) * SHARE
    return F.when(~close, most > bound)


def _least_compared(measure: str) -> Column:
    return F.greatest(_end_column("least", measure), F.lit(MIN_COMPARED))


def _is_triggered(readings: Readings) -> Column:
    """True if the differences exceed the thresholds, by the reading `uniform-trigger`; null if
    rounding decides.
    """
    least, threshold = _least_compared("messages"), setting_in_force(RATE_THRESHOLD)
    percent = readings["uniform-difference"] == "percent"
    bound = least * (100 + threshold) / 100 if percent else least + threshold
    rate = _clearly_exceeds(_end_column("most", "messages"), bound)
    more = F.lit(1.0 if readings["uniform-multiplier"] == "difference" else 0.0)
    multiple = setting_in_force(THROUGHPUT_THRESHOLD) + more
    size = _clearly_exceeds(_end_column("most", "bytes"), _least_compared("bytes") * multiple)
    triggers = DIFFERENCES_TRIGGER[readings["uniform-trigger"]]
    return triggers(rate, size)


def _difference(measure: str) -> Column:
    return _end_column("most", measure) - _end_column("least", measure)


def _room(measure: str) -> Column:
    """Return the rate that may leave the most loaded broker and that certainly evens out the load.

    It is the lesser of two amounts: half the difference between the most and the least loaded
    broker, and the excess of the most loaded broker over the mean of all brokers.
    """
    mean = F.avg(F.when(F.col("first"), or_zero(_carries(measure)))).over(window_of_cycle())
    return F.least(_difference(measure) / 2, _end_column("most", measure) - mean)


def _must_unload(readings: Readings, fits: Callable[[Column, str], Column]) -> RuleColumns:
    """Return a check that the most loaded broker unloads if the differences exceed the thresholds.

    It applies only if this broker has at least two bundles, and a movable bundle that `fits` in
    both measures.
    """
    mover = F.exists(
        "movers", lambda one: fits(one["messages"], "messages") & fits(one["bytes"], "bytes")
    )
    due = _is_most_loaded() & (F.col("owned") > 1) & mover & has_no_excluded()
    told = F.concat(shed_text(), F.lit("; it is the most loaded, and over the thresholds"))
    reached = certainly(_is_triggered(readings)) & due
    return _for_uniform_shedder(must(reached, F.col("answered") > 0, told), *_agreement_on_ends())


@register_check("UNIFORM-01")
def the_most_loaded_broker_unloads(readings: Readings) -> RuleColumns:
    """If the differences exceed the thresholds, the most loaded broker sheds."""
    return _must_unload(readings, lambda carried, measure: carried <= _room(measure))


@register_check("UNIFORM-08")
def the_most_loaded_broker_unloads_within_the_limits(readings: Readings) -> RuleColumns:
    """If the differences exceed the thresholds and a bundle is within the limits, a bundle is
    unloaded.
    """
    number = setting_in_force(MAX_UNLOADED_BUNDLES)
    thresholds = F.least(setting_in_force(RATE_THRESHOLD), setting_in_force(THROUGHPUT_THRESHOLD))
    limits = (_share().isNotNull(), thresholds > 0, (number == -1) | (number >= 1))
    judged = _must_unload(readings, _certainly_moves)
    return judged.restricted_to(*limits, no_broker(F.col("sheds_under_85")))


def _certainly_moves(carried: Column, measure: str) -> Column:
    """True if a bundle's rate is within all limits, however amounts are rounded to whole numbers.

    The rate is above the minimum, and at most the configured share of the difference and `_room`.
    """
    most = F.least(_difference(measure) * _share(), _room(measure)) * (1 - SHARE)
    least = F.greatest(setting_in_force(MIN_UNLOAD[measure]), F.lit(0))
    return (F.floor(carried) > least) & (F.ceil(carried) <= F.floor(most))


@register_check("UNIFORM-02")
def nothing_goes_within_the_thresholds(readings: Readings) -> RuleColumns:
    """If the differences are within the thresholds, nothing is unloaded."""
    loaded = (_end_column("least", measure) >= MIN_COMPARED for measure in MEASURES)
    told = F.concat(shed_text(), F.lit("; the difference is within the thresholds"))
    judged = may_not(certainly_not(_is_triggered(readings)), F.col("total") > 0, told)
    return _for_uniform_shedder(judged, *loaded, no_broker(F.col("sheds_under_85")))


@register_check("UNIFORM-04")
def the_two_do_not_change_places(_readings: Readings) -> RuleColumns:
    """The traffic that the most loaded broker sheds is less than the difference between its load
    and that of the least loaded broker, in messages or in bytes.
    """
    gone = {one: F.aggregate("out", F.lit(0.0), _adder_of(one)) for one in MEASURES}
    gaps = {one: _difference(one) for one in MEASURES}
    reached = _is_most_loaded() & (gone["messages"] > 0) & (gone["bytes"] > 0)
    too_much = [gone[one] >= gaps[one] * (1 + SHARE) for one in MEASURES]
    fits = [F.col(f"all_{one}") <= _end_column("most", one) * (1 + SHARE) for one in MEASURES]
    known = (F.col("unweighed") == 0) & fits[0] & fits[1]
    told = F.concat(shed_text(), F.lit("; that is more than its difference to the least loaded"))
    judged = may_not(reached, too_much[0] & too_much[1], told)
    overloaded = any_broker(_is_most_loaded() & F.col("sheds_under_85"))
    return _for_uniform_shedder(judged, *_agreement_on_ends(), known, ~overloaded)


def _adder_of(measure: str) -> Callable[[Column, Column], Column]:
    return lambda sum_, one: sum_ + or_zero(one[measure])


@register_check("UNIFORM-03")
def nothing_goes_from_the_least_loaded(_readings: Readings) -> RuleColumns:
    """The least loaded broker keeps its bundles: losing load would widen the difference."""
    overloaded = any_broker(_is_least_loaded() & F.col("sheds_under_85"))
    apart = _end_column("least", "messages") < _end_column("most", "messages")
    reached = _is_least_loaded() & apart & (F.col("able") > 0)
    told = F.concat(shed_text(), F.lit("; it is the least loaded"))
    return _for_uniform_shedder(
        may_not(reached, F.col("answered") > 0, told), *_agreement_on_ends(), ~overloaded
    )


@register_check("UNIFORM-05")
def no_more_than_the_share_moves(_readings: Readings) -> RuleColumns:
    """The most loaded broker sheds at most a configured share of the difference, in messages or in
    bytes.
    """
    gone = {one: F.aggregate("out", F.lit(0.0), _adder_of(one)) for one in MEASURES}
    most = {one: _difference(one) * _share() for one in MEASURES}
    reached = _is_most_loaded() & (gone["messages"] > 0) & (gone["bytes"] > 0)
    too_much = [gone[one] > most[one] * (1 + SHARE) for one in MEASURES]
    told = F.concat(
        shed_text(), F.lit("; that is more than the configured share of the difference")
    )
    judged = may_not(reached, too_much[0] & too_much[1], told)
    overloaded = any_broker(_is_most_loaded() & F.col("sheds_under_85"))
    return _for_uniform_shedder(judged, *_agreement_on_ends(), F.col("unweighed") == 0, ~overloaded)


def _share() -> Column:
    return setting_in_force(MAX_SHARE)


def keeps_small_differences() -> RuleColumns:
    """Return a check that nothing is unloaded if the configured share of the largest difference is
    below both minimums.
    """
    small = [_is_small(measure) for measure in MEASURES]
    told = F.concat(shed_text(), F.lit("; the largest difference in traffic is too small"))
    reached = small[0] & small[1] & (F.col("owned") > 0) & ~F.col("sheds_under_85")
    return may_not(reached, F.col("answered") > 0, told)


def _is_small(measure: str) -> Column:
    carried = _carries(measure)
    spread = F.max(carried).over(window_of_cycle()) - F.min(carried).over(window_of_cycle())
    return spread * _share() < setting_in_force(MIN_UNLOAD[measure]) * (1 - SHARE)


@register_check("UNIFORM-06")
def small_differences_are_left(_readings: Readings) -> RuleColumns:
    """Nothing is unloaded if the configured share of the largest difference is below both
    minimums.
    """
    return _for_uniform_shedder(keeps_small_differences())


@register_check("UNIFORM-07")
def no_more_bundles_than_the_limit(_readings: Readings) -> RuleColumns:
    """At most the configured number of bundles is unloaded in a cycle."""
    most = setting_in_force(MAX_UNLOADED_BUNDLES)
    told = F.concat(shed_text(), F.lit("; at most "), plain(most), F.lit(" may be unloaded"))
    reached = (most >= 0) & (F.col("answered") > 0)
    judged = may_not(reached, F.col("total") > most, told)
    return _for_uniform_shedder(judged, no_broker(F.col("sheds_under_85")))
