"""Rules that cannot be judged, because a setting is not recorded and has no documented default."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark.shedding import ENABLED
from pulsar_conformance.adapters.spark.threshold import HISTORY_SHARE
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.verdicts.checks.registry import UNDECIDED
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NOT_RECORDED = "not recorded, and no document gives a default"

STRATEGY_OF: Mapping[str, str] = {
    "OVERLOAD": "OverloadShedder",
    "THRESHOLD": "ThresholdShedder",
    "UNIFORM": "UniformLoadShedder",
    "AVERAGE": "AvgShedder",
}
"""The strategy that the rules of each area are about."""

NAMED = "array<struct<rule string, names array<string>>>"

BY_HISTORY, BOUNDS = "THRESHOLD", "THRESHOLD-07"
"""The area whose rules depend on the share of earlier usage, and its only rule that does not."""


def strategy_of(rule: str) -> str | None:
    """Return the strategy that a rule is about; None if it is about all strategies."""
    return STRATEGY_OF.get(rule.partition("-")[0])


def settings_needed(rules: Iterable[str], plan: AuditPlan) -> Mapping[str, tuple[str, ...]]:
    """Return the settings that each rule depends on and that have no documented default.

    Switches are left out, because a switch without a value is off.
    """
    known, defaults = specs.load(), plan.defaults
    settings = {
        rule.id: tuple(
            name
            for name in rule.settings
            if name not in defaults and known.settings[name].type != "boolean"
        )
        for rule in known.rules_of(plan.profile)
    }
    return {rule: settings[rule] for rule in rules if strategy_of(rule)}


def may_lack_setting(rules: Iterable[str], plan: AuditPlan) -> bool:
    """True if a rule may depend on a setting with neither a recorded nor a documented value."""
    return plan.defaults.get(HISTORY_SHARE) is None or any(settings_needed(rules, plan).values())


def defaults_from_release(ran: DataFrame, plan: AuditPlan) -> dict[str, Any]:
    """Return the release's own defaults for settings with neither a recorded nor a documented
    value.

    Only settings that the rules about the strategies in use depend on are included.
    """
    about: dict[str, set[str]] = {}
    for rule in specs.load().rules_of(plan.profile):
        strategy = strategy_of(rule.id)
        for name in plan.lent.keys() & rule.settings if strategy else ():
            about.setdefault(name, set()).add(str(strategy))
    counts = [
        F.count_if(F.col("strategy").isin(*under) & ~F.map_contains_key("settings", name))
        for name, under in about.items()
    ]
    found = ran.agg(*counts).first() if counts else None
    absent = [name for name, count in zip(about, found or (), strict=False) if count]
    return {name: plan.lent[name] for name in sorted(absent)}


def undecided_rules(
    moments: DataFrame, usage: DataFrame, rules: Iterable[str], plan: AuditPlan
) -> DataFrame:
    """Return the cycles and rules that cannot be judged, with the missing settings as `lack`."""
    seen = usage.groupBy("cluster", "cycle").agg(
        F.bool_or("observed").alias("seen"), F.countDistinct("broker").alias("brokers")
    )
    ran = moments.where("cycle = moment").join(seen, ["cluster", "cycle"])
    ran = ran.where(F.col(f"settings.{ENABLED}") & (F.col("brokers") > 1))
    each = F.array(
        *(_rule_struct(rule, names) for rule, names in settings_needed(rules, plan).items())
    )
    each = each.cast(NAMED)
    rows = ran.select(
        "cluster", "cycle", F.inline(F.filter(each, lambda one: F.size(one["names"]) > 0))
    )
    told = F.concat(F.array_join("names", ", "), F.lit(f": {NOT_RECORDED}"))
    return rows.select("cluster", "cycle", "rule", told.alias("lack"))


def _rule_struct(rule: str, names: Iterable[str]) -> Column:
    area = rule.partition("-")[0]
    absent = [_is_absent(name) for name in names if name != HISTORY_SHARE]
    if area == BY_HISTORY and rule != BOUNDS:
        absent.append(F.when(F.col("seen"), _is_absent(HISTORY_SHARE)))
    under = F.col("strategy") == strategy_of(rule)
    lacking = F.array_compact(F.array(*absent)) if absent else F.array().cast("array<string>")
    return F.struct(
        F.lit(rule).alias("rule"),
        F.when(under, lacking).otherwise(F.array().cast("array<string>")).alias("names"),
    )


def _is_absent(name: str) -> Column:
    return F.when(F.col(f"settings.{name}").isNull(), F.lit(name))


def with_undecided(found: DataFrame, lacking: DataFrame) -> DataFrame:
    """Return the findings; where a setting is missing, allowed or absent ones are undecided."""
    both = found.join(lacking.hint("shuffle_hash"), ["cluster", "cycle", "rule"], "full_outer")
    open_one = F.col("lack").isNotNull() & F.coalesce(F.col("verdict") == "allowed", F.lit(True))
    return both.withColumns(
        {
            "verdict": F.when(open_one, F.lit(UNDECIDED)).otherwise(F.col("verdict")),
            "evidence": F.when(open_one, F.col("lack")).otherwise(F.col("evidence")),
        }
    )
