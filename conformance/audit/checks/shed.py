"""SHED: what holds for every shedding strategy."""

from __future__ import annotations

from pulsar_conformance.adapters.spark import shedding
from pulsar_conformance.conformance.audit.checks.facts import (
    SHARE,
    any_of,
    of_cycle,
    setting,
    total,
)
from pulsar_conformance.conformance.audit.checks.registry import (
    Judged,
    Readings,
    check,
    either,
    may_not,
    must,
    true,
)
from pulsar_conformance.conformance.audit.checks.telling import amounts, gave_up
from pulsar_conformance.conformance.audit.words import plain
from pyspark.sql import Column
from pyspark.sql import functions as F

ORDERED = ("OverloadShedder", "ThresholdShedder")


def not_allowed(reached: Column, done: Column, evidence: Column) -> Judged:
    """What is never allowed, where the rule is reached and where not."""
    return Judged(true(reached), true(done), evidence, F.lit(False))


@check("SHED-01")
def nothing_is_shed_when_switched_off(_readings: Readings) -> Judged:
    """With shedding switched off, nothing is unloaded."""
    off = ~true(setting(shedding.ENABLED))
    told = F.concat(gave_up(), F.lit("; shedding is switched off"))
    return may_not(off, F.col("answered") > 0, told)


def _owning() -> Column:
    return F.col("enabled") & (total(F.col("owned")) > 0)


@check("SHED-02")
def only_owned_bundles_go(_readings: Readings) -> Judged:
    """A broker gives up bundles that it owns."""
    told = F.concat(gave_up("alien"), F.lit(", which it did not report"))
    return not_allowed(_owning(), F.size("alien") > 0, told)


@check("SHED-03")
def each_bundle_goes_once(_readings: Readings) -> Judged:
    """No bundle is unloaded twice in one cycle."""
    everywhere = F.flatten(F.collect_list("gone").over(of_cycle()))
    twice = F.size(F.array_distinct(everywhere)) < F.size(everywhere)
    told = F.concat(gave_up(), F.lit("; a bundle was unloaded more than once"))
    return not_allowed(_owning(), twice, told)


@check("SHED-04")
def recently_unloaded_bundles_stay(_readings: Readings) -> Judged:
    """A bundle that was unloaded within the grace period is left where it is."""
    stuck = F.flatten(F.collect_list("stuck").over(of_cycle()))
    again = F.array_intersect("gone", stuck)
    reached = F.col("enabled") & any_of(F.col("blocked") > 0)
    told = F.concat(
        F.col("broker"),
        F.lit(" gave up "),
        F.array_join(again, ", "),
        F.lit(", unloaded within the last "),
        plain(setting(shedding.GRACE)),
        F.lit(" minutes"),
    )
    return not_allowed(reached, F.size(again) > 0, told)


@check("SHED-07")
def bundles_with_more_traffic_go_first(readings: Readings) -> Judged:
    """No bundle goes before, or instead of, one of its broker's that carries more."""
    given = F.filter("out", lambda one: one["movable"])
    first = F.struct(F.col("most_kept").alias("later"), F.lit(True).alias("ordered"))

    def before(rest: Column, one: Column) -> Column:
        enough = one["traffic"] >= rest["later"] * (1 - SHARE)
        return F.struct(
            F.greatest(rest["later"], one["traffic"]).alias("later"),
            (rest["ordered"] & F.coalesce(enough, F.lit(True))).alias("ordered"),
        )

    ordered = F.aggregate(F.reverse(given), first, before)["ordered"]
    more = (F.size(given) > 0) & (F.size(given) + F.col("kept") > 1)
    told = F.concat(gave_up(), F.lit("; one that carries more went later, or stayed"))
    judged = not_allowed(more, ~ordered, told)
    one = readings["overload-amount"] == "one"
    amount = ~((F.col("strategy") == "OverloadShedder") & F.lit(one))
    return judged.given(F.col("first"), F.col("enabled"), F.col("strategy").isin(*ORDERED), amount)


@check("SHED-08")
def overloaded_brokers_shed_under_every_strategy(readings: Readings) -> Judged:
    """An overloaded broker gives up its excess, whichever strategy is set."""
    sure, need = true(F.col("overloaded") & F.col("can")), F.col("overloadshedder.need")
    some = must(sure & F.col("loaded"), F.col("answered") > 0, gave_up())
    amount = F.lit(readings["overload-amount"] != "one")
    short = sure & amount & (F.col("movable_traffic") >= need)
    short = short & (F.col("shed") < need * (1 - SHARE))
    told = amounts(readings, "shed", F.col("shed"), need)
    excess = Judged(F.lit(False), true(short), told, F.lit(True))
    other = F.col("strategy") != "OverloadShedder"
    return either(some, excess).given(F.col("first"), F.col("enabled"), other)
