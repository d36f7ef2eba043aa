"""Who owns which bundle from when to when, where nobody unloads: restarts alone move them."""

from __future__ import annotations

from pulsar_conformance.audit.fleet.bundles import middle, name
from pulsar_conformance.audit.fleet.chance import whole
from pulsar_conformance.audit.fleet.shape import PARTS
from pulsar_conformance.audit.fleet.size import Fleet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

TURN = "struct<owner int, since int>"


def turns(fleet: Fleet) -> Column:
    """The owners of a bundle one after the other, each since a period.

    At first the bundles are dealt out in turn; those of a broker that goes down go to others.
    """
    first = F.struct(
        F.pmod("bundle", F.lit(fleet.brokers)).cast("int").alias("owner"), F.lit(0).alias("since")
    )

    def moved(before: Column, restart: Column) -> Column:
        now = F.element_at(before, -1)
        to = _another(fleet, restart["broker"], restart["down"])
        turn = F.struct(to.cast("int").alias("owner"), restart["down"].alias("since"))
        more = F.concat(before, F.array(turn.cast(TURN)))
        return F.when(now["owner"] == restart["broker"], more).otherwise(before)

    return F.aggregate("restarts", F.array(first.cast(TURN)), moved)


def _another(fleet: Fleet, broker: Column, period: Column) -> Column:
    """A broker of the same cluster, but not this one."""
    others = max(fleet.brokers - 1, 1)
    step = whole(fleet.seed, "owner", others, F.col("cluster"), F.col("bundle"), period) + 1
    return F.pmod(broker + step, F.lit(fleet.brokers))


def held(fleet: Fleet, bundles: DataFrame) -> DataFrame:
    """A row for each time that a broker owns a bundle, from one period up to another.

    `bundles` have their numbers, ranges and events. Added are `broker`, `since`, `until`, `part`
    (null for a whole bundle, else which part of it this is), `name`, and `moved`: whether it came
    from a broker that went down.
    """
    ends = F.col("splits")[F.col("bundle")]
    until = F.coalesce(ends, F.lit(fleet.periods))
    lower, upper, mid = F.col("lower"), F.col("upper"), middle(F.col("lower"), F.col("upper"))

    def life(begin: Column, end: Column, low: Column, high: Column, part: str | None) -> Column:
        return F.struct(
            begin.alias("begin"),
            end.alias("end"),
            name(F.col("bundle"), low, high).alias("name"),
            F.lit(part).alias("part"),
        )

    late = F.lit(fleet.periods)
    one, two = PARTS
    lives = F.array(
        life(F.lit(0), until, lower, upper, None),
        life(until, late, lower, mid, one),
        life(until, late, mid, upper, two),
    )
    alive = F.filter(lives, lambda life: life["begin"] < life["end"])
    rows = bundles.withColumns({"ends": ends, "turns": turns(fleet)})
    rows = rows.select("*", F.explode(alive).alias("life"))
    rows = rows.select("*", F.posexplode("turns").alias("nth", "turn"))
    after = F.try_element_at("turns", F.col("nth") + 2)["since"]
    rows = rows.withColumns(
        {
            "broker": F.col("turn.owner"),
            "moved": (F.col("turn.since") > 0) & (F.col("turn.since") >= F.col("life.begin")),
            "since": F.greatest("turn.since", "life.begin"),
            "until": F.least(F.coalesce(after, F.lit(fleet.periods)), F.col("life.end")),
            "name": F.col("life.name"),
            "part": F.col("life.part"),
        }
    )
    return rows.where(F.col("since") < F.col("until")).drop("turns", "nth", "turn", "life")


def up(fleet: Fleet, events: DataFrame) -> DataFrame:
    """A row for each time that a broker is up: `cluster`, `broker`, `since`, `until`."""
    brokers = F.explode(F.sequence(F.lit(0), F.lit(fleet.brokers - 1))).alias("broker")
    rows = events.select("cluster", "restarts", brokers)
    own = F.filter("restarts", lambda one: one["broker"] == F.col("broker"))
    starts = F.concat(F.array(F.lit(0)), F.transform(own, lambda one: one["up"]))
    stops = F.concat(F.transform(own, lambda one: one["down"]), F.array(F.lit(fleet.periods)))
    times = F.arrays_zip(starts.alias("since"), stops.alias("until"))
    rows = rows.select("cluster", "broker", F.inline(times))
    return rows.where(F.col("since") < F.col("until"))
