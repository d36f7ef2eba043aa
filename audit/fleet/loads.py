"""Bundles' traffic, as columns that depend only on seed, cluster, bundle and period.

Bytes are integers and messages are multiples of 1/8. Sums of them are therefore exact in any order.
"""

from __future__ import annotations

import math

from pulsar_conformance.audit.fleet.chance import random_integer, random_share
from pulsar_conformance.audit.fleet.size import Fleet
from pyspark.sql import Column
from pyspark.sql import functions as F

MIN_BYTES = 60_000
"""Incoming bytes per second of the quietest bundles, on average over the day."""

TAIL_EXPONENT = 1.4
"""Exponent of the power law of traffic, by which few bundles carry most of the traffic."""

MAX_TRAFFIC_FACTOR = 30
"""Maximum base traffic of a bundle, as a multiple of the minimum base traffic."""

SWING_SHARE = 0.5
"""Amplitude of the daily swing, as a share of a bundle's traffic."""

ZONES = (0, 1, 6, 8)
"""Offsets of the namespaces' time zones from UTC, in hours."""

HOT_SHARE = 0.02
"""Share of bundles that, for 1 to 4 hours a day, have 3 to 7 times their usual traffic."""

NOISE = 0.1
MAX_MESSAGES = 6_000.0
"""Maximum incoming messages per second of a bundle; too few to split it for its message rate."""

MAX_TOPICS = 400

DAY = 1440


def constant_columns(fleet: Fleet, cluster: Column, bundle: Column) -> dict[str, Column]:
    """Return the columns of a bundle that do not change over time; `bundle` is its number in the
    cluster.
    """

    def share(purpose: str) -> Column:
        return random_share(fleet.seed, purpose, cluster, bundle)

    def integer(purpose: str, count: int) -> Column:
        return random_integer(fleet.seed, purpose, count, cluster, bundle)

    heavy = F.pow(F.lit(1.0) - share("tail"), F.lit(-1 / TAIL_EXPONENT))
    zone = random_integer(fleet.seed, "zone", len(ZONES), cluster, F.floor(bundle / 16))
    begins = integer("hot hour", DAY)
    return {
        "base": F.lit(float(MIN_BYTES)) * F.least(heavy, F.lit(float(MAX_TRAFFIC_FACTOR))),
        "size": F.lit(800.0) + share("size") * 3000,
        "fanout": F.lit(0.5) + share("fanout"),
        "zone": F.element_at(F.array(*map(F.lit, ZONES)), (zone + 1).cast("int")) * 60,
        "hot_from": F.when(share("hot") < HOT_SHARE, begins),
        "hot_until": begins + 60 + integer("hot hours", 180),
        "hot_by": F.lit(3.0) + share("hot by") * 4,
        "topics": integer("topics", MAX_TOPICS) + 1,
    }


def rate_columns(
    fleet: Fleet, cluster: Column, bundle: Column, period: Column
) -> dict[str, Column]:
    """Return a bundle's traffic in a period, given the `constant_columns` in the same row."""
    minute = F.pmod(period * fleet.report, F.lit(DAY))
    hour = F.sin((minute + F.col("zone")) * (2 * math.pi / DAY))
    since = F.pmod(minute - F.col("hot_from"), F.lit(DAY))
    hot = since < F.col("hot_until") - F.col("hot_from")
    noise = random_share(fleet.seed, "noise", cluster, bundle, period) * 2 - 1
    now = F.col("base") * (1 + hour * SWING_SHARE) * (1 + noise * NOISE)
    now = now * F.when(hot, F.col("hot_by")).otherwise(F.lit(1.0))
    messages = F.least(F.round(now / F.col("size") * 8) / 8, F.lit(MAX_MESSAGES))
    bytes_in = F.round(messages * F.col("size"))
    return {
        "msgRateIn": messages,
        "msgRateOut": F.round(messages * F.col("fanout") * 8) / 8,
        "msgThroughputIn": bytes_in,
        "msgThroughputOut": F.round(bytes_in * F.col("fanout")),
    }
