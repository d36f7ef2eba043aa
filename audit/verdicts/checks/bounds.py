"""Checks of ThresholdShedder after a leader's first cycle, which hold for any weight of earlier
usage.

The documents say that earlier observations count, but not how much. The usage that counts is
therefore between a broker's lowest and highest observed usage, which gives bounds of everything
that depends on it. A decision is wrong if it is wrong at both bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pulsar_conformance.adapters.spark.shapes import or_zero
from pulsar_conformance.adapters.spark.threshold import BELOW_AVERAGE, IDLE_BOUND, LOWER_BOUNDARY
from pulsar_conformance.audit.tables.formatting import plain, plain_distinct_from
from pulsar_conformance.audit.verdicts.checks.evidence import amounts_text, shed_text
from pulsar_conformance.audit.verdicts.checks.facts import (
    POINTS,
    SHARE,
    exceeds_minimum_unload,
    max_over_brokers,
    no_broker,
    setting_in_force,
)
from pulsar_conformance.audit.verdicts.checks.overload import sheds_enough
from pulsar_conformance.audit.verdicts.checks.registry import (
    Readings,
    RuleColumns,
    certainly,
    certainly_not,
    may_not,
    register_bounded_check,
)
from pyspark.sql import Column
from pyspark.sql import functions as F


class ExcessBounds(NamedTuple):
    """The lowest and the highest possible number of percentage points by which a broker's usage
    exceeds some value.
    """

    least: Column
    most: Column


def excess_over_average(
    share: float = 1.0, least: str = "least", most: str = "most"
) -> ExcessBounds:
    """Return bounds of a broker's usage minus `share` times the average usage, in percentage
    points.

    `least` and `most` are the columns with each broker's lowest and highest possible usage.
    """
    count, low, high = F.col("brokers"), F.col(least), F.col(most)
    own = 1 - share / count
    return ExcessBounds(
        low * own - (F.col(f"{most}_total") - high) * share / count,
        high * own - (F.col(f"{least}_total") - low) * share / count,
    )


def _excess_over_target(
    readings: Readings, least: str = "least", most: str = "most"
) -> ExcessBounds:
    """Return bounds of a broker's usage minus its target, in percentage points."""
    if readings["threshold-target"] == "percent":
        return excess_over_average(1 - BELOW_AVERAGE / 100, least, most)
    plain = excess_over_average(least=least, most=most)
    return ExcessBounds(plain.least + BELOW_AVERAGE, plain.most + BELOW_AVERAGE)


TRAFFIC_SHARE_BY_READING: Mapping[str, Callable[[Column, Column], Column]] = {
    "traffic": lambda excess, _used: excess / 100,
    "usage": lambda excess, used: F.try_divide(excess, used),
}
"""Functions that convert percentage points over the target to a share of a broker's traffic, by the
reading `threshold-released`.
"""


def least_bytes_to_shed(readings: Readings, least: str = "least", most: str = "most") -> Column:
    """Return the least throughput, in bytes per second, that takes a broker to its target."""
    share = TRAFFIC_SHARE_BY_READING[readings["threshold-released"]]
    excess = _excess_over_target(readings, least, most).least
    return share(excess, F.col(least)) * F.col("carries.bytes")


def _traffic_bounds(readings: Readings) -> ExcessBounds:
    """Return bounds of the traffic that a broker above the limit must unload."""
    excess, released = (
        _excess_over_target(readings),
        TRAFFIC_SHARE_BY_READING[readings["threshold-released"]],
    )
    return ExcessBounds(
        released(excess.least, F.col("least")) * F.col("weight"),
        released(excess.most, F.col("most")) * F.col("weight"),
    )


def with_history(judged: RuleColumns, *, boundary: bool = False) -> RuleColumns:
    """Restrict a result to cycles of ThresholdShedder with earlier observations and the lower
    boundary enabled, or disabled if `boundary` is false.
    """
    named = F.col("strategy") == "ThresholdShedder"
    on = certainly(setting_in_force(LOWER_BOUNDARY))
    switched = on if boundary else ~on
    return judged.restricted_to(F.col("first"), F.col("enabled"), named, F.col("seen"), switched)


def _threshold() -> Column:
    return F.col("thresholdshedder.threshold")


def _is_surely_within() -> Column:
    """True if a broker is certainly not above the limit and need not shed as overloaded."""
    within = excess_over_average().most < _threshold() - POINTS
    return certainly(within) & ~F.col("sheds_under_85")


@register_bounded_check("THRESHOLD-02")
def only_the_busiest_sheds_for_an_idle_broker(readings: Readings) -> RuleColumns:
    """With the lower boundary enabled, a broker certainly not above the limit sheds nothing if the
    usage of another broker that can unload is certainly higher.
    """
    released = TRAFFIC_SHARE_BY_READING[readings["threshold-released"]]
    needed = released(_excess_over_target(readings).least, F.col("least")) * F.col("carries.bytes")
    able = F.col("loaded") & certainly(exceeds_minimum_unload(or_zero(needed)))
    highest = max_over_brokers(F.when(able, F.col("least")))
    outdone = certainly(F.col("most") < highest - POINTS)
    told = F.concat(
        shed_text(),
        F.lit("; it is at most "),
        plain(excess_over_average().most),
        F.lit(" points above the average; the threshold is "),
        plain(_threshold()),
        F.lit("; its usage is at most "),
        plain_distinct_from(F.col("most"), highest),
        F.lit(" %, and another broker's is at least "),
        plain_distinct_from(highest, F.col("most")),
        F.lit(" %"),
    )
    keeps = _is_surely_within() & outdone & (F.col("owned") > 0)
    return with_history(may_not(keeps, F.col("answered") > 0, told), boundary=True)


@register_bounded_check("THRESHOLD-10")
def nothing_goes_while_certainly_nobody_is_idle(readings: Readings) -> RuleColumns:
    """Nothing is unloaded if certainly no broker is below the lower boundary or above the limit."""
    bound = IDLE_BOUND[readings["lower-boundary"]](F.lit(0.0), _threshold())
    busy = certainly(excess_over_average().least > bound + POINTS)
    neither = no_broker(F.col("first") & ~(busy & _is_surely_within()))
    told = F.concat(
        shed_text(),
        F.lit("; no broker can be under the lower boundary, "),
        plain(-bound),
        F.lit(" points below the average"),
    )
    return with_history(may_not(neither, F.col("total") > 0, told), boundary=True)


@register_bounded_check("THRESHOLD-03")
def sheds_what_it_takes_at_least(readings: Readings) -> RuleColumns:
    """A broker certainly above the limit sheds at least the lower bound of the traffic to shed."""
    need, threshold = _traffic_bounds(readings).least, F.col("thresholdshedder.threshold")
    surely = exceeds_minimum_unload(least_bytes_to_shed(readings))
    over = certainly(excess_over_average().least > threshold) & F.col("loaded") & certainly(surely)
    return with_history(sheds_enough(readings, over & (F.col("answered") > 0), need))


@register_bounded_check("THRESHOLD-04")
def sheds_no_more_than_it_can_take(readings: Readings) -> RuleColumns:
    """A broker sheds no further bundle once it has shed the upper bound of the traffic to shed."""
    need, threshold = _traffic_bounds(readings).most, F.col("thresholdshedder.threshold")
    over = ~certainly_not(excess_over_average().most > threshold) & ~F.col("sheds_under_85")
    more = F.col("short") > F.greatest(need, F.lit(0.0)) * (1 + SHARE)
    enough = certainly(more & (need != 0))
    told = amounts_text(readings, "before the last bundle, it had shed", F.col("short"), need)
    return with_history(may_not(over & (F.size("out") > 0), enough, told))
