"""Checks of the THRESHOLD rules, about ThresholdShedder."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import usage
from pulsar_conformance.adapters.spark.shapes import or_zero
from pulsar_conformance.adapters.spark.threshold import LOWER_BOUNDARY, MIN_THROUGHPUT
from pulsar_conformance.audit.tables.formatting import plain, throughput
from pulsar_conformance.audit.verdicts.checks.bounds import (
    excess_over_average,
    least_bytes_to_shed,
)
from pulsar_conformance.audit.verdicts.checks.evidence import shed_text, usage_text
from pulsar_conformance.audit.verdicts.checks.facts import (
    POINTS,
    any_broker,
    exceeds_minimum_unload,
    least_of_brokers,
    no_broker,
    points_to_shed,
    setting_in_force,
    sum_over_brokers,
    window_of_cycle,
)
from pulsar_conformance.audit.verdicts.checks.overload import sheds_enough, sheds_no_more
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
from pulsar_conformance.audit.verdicts.checks.shed import busiest_bundles_first
from pyspark.sql import Column
from pyspark.sql import functions as F


def _level_column(name: str) -> Column:
    return F.col(f"thresholdshedder.{name}")


def _for_threshold_shedder(
    judged: RuleColumns, *more: Column, without_history: bool = True
) -> RuleColumns:
    named = F.col("strategy") == "ThresholdShedder"
    sight = ~F.col("seen") if without_history else F.lit(True)
    return judged.restricted_to(F.col("first"), F.col("enabled"), named, sight, *more)


def _usage_evidence() -> Column:
    return usage_text(_level_column("usage"), "limit", _level_column("limit"))


def _must_shed(reached: Column) -> RuleColumns:
    return must(reached, F.col("answered") > 0, _usage_evidence())


def _must_keep(reached: Column) -> RuleColumns:
    return may_not(reached, F.col("answered") > 0, _usage_evidence())


def _is_over() -> Column:
    return certainly(F.col("over"))


def _must_keep_all() -> Column:
    """True if a broker is certainly not above the limit.

    A broker above the limit whose bundles carry too little traffic must keep them, too, but if it
    sheds, it breaks only THRESHOLD-20.
    """
    return certainly_not(F.col("above")) & ~F.col("sheds_under_85")


def _relieves_idle_brokers() -> Column:
    return certainly(setting_in_force(LOWER_BOUNDARY))


@register_check("THRESHOLD-01")
def a_broker_above_the_limit_sheds(_readings: Readings) -> RuleColumns:
    """A broker above the limit of average plus threshold sheds at least one bundle."""
    return _for_threshold_shedder(_must_shed(_is_over() & F.col("laden")))


@register_check("THRESHOLD-02")
def the_others_keep_all(_readings: Readings) -> RuleColumns:
    """A broker not above the limit of average plus threshold sheds nothing."""
    keeps = _must_keep_all() & (F.col("owned") > 0) & ~_may_relieve_idle_broker()
    return _for_threshold_shedder(_must_keep(keeps))


def _may_relieve_idle_broker() -> Column:
    """True if the broker may unload because another broker is idle.

    This is so if the lower boundary is enabled and no broker that can unload has a higher usage.
    """
    able = F.col("loaded") & (certainly(F.col("worthwhile")) | F.col("released"))
    highest = F.max(F.when(able, _level_column("usage"))).over(window_of_cycle())
    return _relieves_idle_brokers() & (
        _level_column("usage") >= F.coalesce(highest, F.lit(0.0)) - POINTS
    )


@register_check("THRESHOLD-03")
def sheds_enough_to_come_below_the_average(readings: Readings) -> RuleColumns:
    """A broker above the limit sheds until its usage is five percentage points below the average,
    if it can.
    """
    return _for_threshold_shedder(
        sheds_enough(readings, _is_over() & F.col("loaded"), _level_column("need"))
    )


@register_check("THRESHOLD-04")
def sheds_no_more_than_it_takes(readings: Readings) -> RuleColumns:
    """A broker stops shedding once it has shed enough."""
    apart = _is_over() & ~F.col("sheds_under_85")
    return _for_threshold_shedder(sheds_no_more(readings, apart, _level_column("need")))


@register_check("THRESHOLD-05")
def idle_brokers_count_in_the_average(_readings: Readings) -> RuleColumns:
    """A broker sheds even if it exceeds the limit only because idle brokers lower the average."""
    used, known = _level_column("usage"), F.col("first")
    busy = sum_over_brokers(F.when(known & (used != 0), 1).otherwise(0))
    without = sum_over_brokers(F.when(known, used)) / F.when(busy > 0, busy) + _level_column(
        "threshold"
    )
    only_so = used < without - POINTS
    some = (busy > 0) & (busy < F.col("brokers"))
    return _for_threshold_shedder(
        _must_shed(certainly(only_so) & _is_over() & F.col("loaded")), some
    )


@register_check("THRESHOLD-06")
def usage_is_weighted(_readings: Readings) -> RuleColumns:
    """Weighted usage determines which brokers are above the limit."""
    plainly = usage.maximum(F.col("percent"))
    limit = sum_over_brokers(F.when(F.col("first"), plainly)) / F.col("brokers") + _level_column(
        "threshold"
    )
    apart = plainly - limit
    sheds = _must_shed(_is_over() & certainly(apart < -POINTS) & F.col("loaded"))
    keeps = _must_keep(_must_keep_all() & certainly(apart > POINTS) & F.col("loaded"))
    return _for_threshold_shedder(combine_checks(sheds, keeps), ~_relieves_idle_brokers())


@register_check("THRESHOLD-07")
def history_lies_between(readings: Readings) -> RuleColumns:
    """The compared usage lies between the lowest and highest current or earlier usage."""
    return _check_range(readings, "least", "most")


@register_check("THRESHOLD-18")
def history_is_smoothed_exponentially(readings: Readings) -> RuleColumns:
    """The compared usage is the previous one times the weight, plus the new one times 1 -
    weight.
    """
    return _check_range(readings, "lower", "upper")


def _check_range(readings: Readings, least: str, most: str) -> RuleColumns:
    """Return a check that judges a broker only if its lowest and highest possible usage lead to the
    same decision.

    `least` and `most` are the columns with these usages.
    """
    lowest, highest = excess_over_average(least=least, most=most)
    threshold = _level_column("threshold")

    def evidence(word: str, points: Column) -> Column:
        above = F.lit(" points above the average; the threshold is ")
        return F.concat(
            shed_text(), F.lit(f"; it is {word} "), plain(points), above, plain(threshold)
        )

    answered = F.col("answered") > 0
    by_release = points_to_shed(lowest) / 100 * F.col("carries.bytes")
    by_documents = least_bytes_to_shed(readings, least, most)
    least_bytes = F.when(F.col("released"), by_release).otherwise(by_documents)
    worth = certainly(exceeds_minimum_unload(least_bytes))
    due = certainly(lowest > threshold + POINTS) & worth & F.col("loaded")
    sheds = must(due, answered, evidence("at least", lowest))
    owns = F.col("owned") > 0
    keeps = certainly(highest < threshold - POINTS) & ~F.col("sheds_under_85") & owns
    kept = may_not(keeps, answered, evidence("at most", highest))
    return _for_threshold_shedder(
        combine_checks(sheds, kept), F.col("seen"), ~_relieves_idle_brokers(), without_history=False
    )


def _no_broker_above() -> tuple[Column, Column]:
    above = F.col("first") & ~certainly_not(F.col("above"))
    return no_broker(above), no_broker(F.col("sheds_under_85"))


@register_check("THRESHOLD-12")
def bundles_with_more_traffic_go_first(readings: Readings) -> RuleColumns:
    """A broker sheds no bundle while it keeps a movable one with more traffic.

    The order is not judged if overloaded brokers shed their most expensive bundle first, whichever
    strategy is set.
    """
    other = readings["expensive-measure"] != readings["shed-measure"]
    dearest = F.lit(readings["overload-amount"] == "one" and other) & F.col("sheds_under_85")
    return busiest_bundles_first().restricted_to(F.col("strategy") == "ThresholdShedder", ~dearest)


@register_check("THRESHOLD-08")
def idle_brokers_trigger_nothing_by_default(_readings: Readings) -> RuleColumns:
    """With the lower boundary disabled, nothing is unloaded unless a broker is above the limit."""
    lowest = least_of_brokers(_level_column("usage"))
    far_below = lowest < _level_column("average") - _level_column("threshold") - POINTS
    told = F.concat(
        shed_text(), F.lit("; no broker is above "), plain(_level_column("limit")), F.lit(" %")
    )
    judged = may_not(far_below, F.col("total") > 0, told)
    return _for_threshold_shedder(judged, ~_relieves_idle_brokers(), *_no_broker_above())


@register_check("THRESHOLD-09")
def an_idle_broker_makes_the_busiest_unload(_readings: Readings) -> RuleColumns:
    """If a broker is below the lower boundary, the broker with the highest usage unloads."""
    known, used, answered = F.col("first"), _level_column("usage"), F.col("answered") > 0
    busiest = known & (used >= F.max(F.when(known, used)).over(window_of_cycle()) - POINTS)
    able = no_broker(busiest & ~F.col("loaded"))
    perhaps = answered | (F.col("perhaps") > 0)
    another = ~certainly(busiest) & answered
    sheds = any_broker(busiest & perhaps)
    who = F.when(sheds, another).otherwise(certainly(busiest))
    told = least_of_brokers(F.when(who, _highest_usage_text(certainly(busiest))))
    # The others are to blame, too, unless a bundle of the busiest may have to stay.
    free = no_broker(busiest & (F.coalesce("held", F.lit(0)) > 0))
    blamed = able & (certainly(busiest) | free)
    judged = must(blamed, sheds & no_broker(another), told)
    worth = no_broker(busiest & ~certainly(F.col("relief_worthwhile")))
    idle = any_broker(F.col("under"))
    return _for_threshold_shedder(
        judged, _relieves_idle_brokers(), *_no_broker_above(), idle, worth
    )


def _highest_usage_text(highest: Column) -> Column:
    rank = F.when(highest, F.lit("the highest usage")).otherwise("not the highest usage")
    at, under = F.lit("; it is at "), F.lit(", and a broker is under ")
    used, bound = plain(_level_column("usage")), plain(_level_column("bound"))
    return F.concat(shed_text(), at, used, F.lit(" %, "), rank, under, bound, F.lit(" %"))


@register_check("THRESHOLD-20")
def too_little_throughput_stays(_readings: Readings) -> RuleColumns:
    """A broker whose bundles carry no more than the minimum throughput sheds none."""
    little = certainly_not(exceeds_minimum_unload(F.col("carries.bytes"))) & ~F.col(
        "sheds_under_85"
    )
    least = setting_in_force(MIN_THROUGHPUT)
    most = throughput(F.greatest(F.col("carries.bytes"), or_zero(F.col("movable_bytes"))))
    told = F.concat(
        *(shed_text(), F.lit("; it can shed at most "), most),
        *(F.lit(", not over "), plain(least), F.lit(" MB/s")),
    )
    judged = may_not(little & (F.col("owned") > 0), F.col("answered") > 0, told)
    return _for_threshold_shedder(judged, ~_relieves_idle_brokers(), without_history=False)


@register_check("THRESHOLD-10")
def nothing_goes_while_nobody_is_idle(_readings: Readings) -> RuleColumns:
    """If no broker is below the lower boundary or above the limit, nothing is unloaded."""
    idle = any_broker(F.col("first") & ~certainly_not(F.col("under")))
    told = F.concat(
        shed_text(), F.lit("; no broker is under "), plain(_level_column("bound")), F.lit(" %")
    )
    judged = may_not(~idle, F.col("total") > 0, told)
    return _for_threshold_shedder(judged, _relieves_idle_brokers(), *_no_broker_above())
