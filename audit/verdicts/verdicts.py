"""`verdicts`: whether the suite's rules allow the unloads of each cycle."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark import shapes
from pulsar_conformance.adapters.spark.configuring import checkpointed_if_tiny
from pulsar_conformance.adapters.spark.threshold import LOWER_BOUNDARY, MIN_THROUGHPUT
from pulsar_conformance.audit.pipeline.plan import (
    ALL_DAYS_PREFIX,
    AuditPlan,
    GoldTables,
    Silver,
)
from pulsar_conformance.audit.tables import causes, cycles, streaks
from pulsar_conformance.audit.tables.decisions import decided_bundles
from pulsar_conformance.audit.tables.settings_at import in_force
from pulsar_conformance.audit.verdicts import cases, missing_settings, splits
from pulsar_conformance.audit.verdicts.checks import BOUND_CHECKS, CHECKS
from pulsar_conformance.audit.verdicts.checks.acts import summarize_brokers
from pulsar_conformance.audit.verdicts.checks.facts import facts
from pulsar_conformance.audit.verdicts.checks.held import with_bundles_that_may_stay
from pulsar_conformance.audit.verdicts.checks.open_readings import faults_under_all_readings
from pulsar_conformance.audit.verdicts.checks.registry import (
    ALLOWED,
    NOT_DONE,
    UNDECIDED,
    VIOLATED,
    is_fault,
)
from pulsar_conformance.audit.verdicts.checks.shed import OWNER_UNKNOWN
from pulsar_conformance.audit.verdicts.judging import BY_ORDER, SIDE, judge_cycles
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEY = ("cluster", "cycle", "moment")
UNUSED_COLUMNS = ("cluster", "moment", "day", "decisions")
"""Columns of `broker_decisions` that `facts` does not use."""

ALLOWED_AT_OTHER_MOMENT = (
    "it is allowed with the reports known at another moment at which the cycle may have run"
)
ALLOWED_BY_OTHER_REPORTS = (
    "it is allowed if the leader knew other reports: one that is recorded at about the time of the "
    "cycle may have been read late, or timed by another clock"
)
UNCERTAIN_UNLOAD = "whether it is allowed depends on the uncertain cause of an unload"
IN_ANOTHER_VIEW = "it may be allowed, because the state of the cluster is uncertain: "
MAY_HAVE_TO_STAY = (
    "a bundle of the broker may have to stay, because of its namespace or its next owner"
)
SETTINGS_JUST_CHANGED = "the settings changed shortly before, and may not have been in force"
BOUNDARY_UNRECORDED = f"{LOWER_BOUNDARY} is not recorded, and may be enabled"
FORMER_LEADERS = "no document says whether a new leader knows what former leaders knew"
MAYBE_NOT_RESTARTED = "the strategy changed, and nothing shows that the leader was restarted: "


def rules_of(plan: AuditPlan) -> tuple[str, ...]:
    """Return the rules that apply and have a check; empty if the profile has no such rule."""
    rules = {rule.id for rule in specs.load().rules_of(plan.profile) if rule.applies(plan.readings)}
    return tuple(rule for rule in CHECKS if rule in rules)


def checks_for_strategies(strategies: Sequence[str], plan: AuditPlan) -> tuple[str, ...]:
    """Return the rules about all strategies, and those about any of these strategies."""
    about = (None, *strategies)
    return tuple(rule for rule in rules_of(plan) if missing_settings.strategy_of(rule) in about)


def broker_decisions(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table `broker_decisions`: a row per broker and moment."""
    rows = summarize_brokers(
        with_bundles_that_may_stay(silver, decided_bundles(made, plan), plan), ("cycle", "broker")
    )
    key = (F.col(f"cycle.{name}").alias(name) for name in KEY)
    return rows.select(*key, *rows.columns[1:])


SPLITS = "cluster string, cycle timestamp, rule string, verdict string, evidence string"
"""Columns of findings about splits."""


def split_findings(silver: Silver, _made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table `split_findings`: a row per rule and time at which a leader splits
    bundles.
    """
    made = checkpointed_if_tiny(splits.leader_splits(silver, plan))
    count = causes.bounded_count(made)
    if not count:
        return shapes.empty_frame(silver.actions, SPLITS)
    return splits.findings_about_splits(silver, made, plan, count)


def findings(silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table `findings`: a row for each cycle and each rule that applies to it.

    An assumed cycle is judged at each of its possible moments. A violation is undecided if moments
    disagree, if the column `doubt` says that the leader's knowledge is uncertain, or if another
    alternative of an open reading may allow it. `moment` is the first moment at which the rule is
    violated. If it is certain that one broker omits a required action and another takes a forbidden
    one, there are two rows. Findings about splits have the time of the split as `cycle`.
    """
    found = _cycle_findings(made, plan)
    found = faults_under_all_readings(found, plan, partial(_judge_again, silver, made))
    split = made["split_findings"].drop("day")
    found = found.unionByName(split, allowMissingColumns=True)
    return found.unionByName(made["transfer_findings"].drop("day"), allowMissingColumns=True)


def _judge_again(
    silver: Silver,
    made: GoldTables,
    ran: DataFrame,
    plan: AuditPlan,
    rules: Collection[str],
) -> DataFrame:
    """Return the findings of these rules about the cycles `ran` by a plan with other readings.

    The tables that depend on readings are rebuilt for these cycles only.
    """
    few = {
        name: made[name].join(ran, ["cluster", "cycle"], "left_semi")
        for name in ("cycles", "bundle_averages", "broker_usage")
    }
    whole = {f"{ALL_DAYS_PREFIX}{name}": table for name, table in made.items()}
    made = {**whole, **made, **few}
    decided = broker_decisions(silver, made, plan)
    return _cycle_findings({**made, "broker_decisions": decided}, plan, rules)


def _cycle_findings(
    made: GoldTables, plan: AuditPlan, only: Collection[str] = tuple(CHECKS)
) -> DataFrame:
    """Return the findings of the rules `only` about cycles, by the plan's readings."""
    moments = cycles.in_period_of(cycles.cycle_moments(made, plan), plan)
    strategies = cycles.strategies_followed(made, plan)
    moments = streaks.with_streaks(moments, made, plan, strategies)
    rules = [rule for rule in checks_for_strategies(strategies, plan) if rule in only]
    said = _facts(moments, made, plan, strategies)
    said = judge_cycles(said, rules, plan.readings, BOUND_CHECKS)
    said = said.select(*(F.col(f"cycle.{name}").alias(name) for name in KEY), *said.columns[1:])
    changed = F.when(F.col("former").isNotNull(), F.lit(SETTINGS_JUST_CHANGED))
    strategies = F.concat(F.lit(MAYBE_NOT_RESTARTED), "strategy", F.lit(" or "), "other_strategy")
    named = F.col("strategy") == "ThresholdShedder"
    off = F.col(f"settings.{LOWER_BOUNDARY}").isNull() & named
    switch = F.when(off, F.lit(BOUNDARY_UNRECORDED))
    looked = moments.groupBy("cluster", "cycle").agg(
        F.count(F.lit(1)).alias("looked"),
        F.any_value("doubt").alias("doubt"),
        F.any_value("logged").alias("logged"),
        F.max(F.concat_ws("; ", changed, strategies, switch)).alias("changed"),
    )
    notes = made["broker_usage"].where("standing is not null").groupBy("cluster", "cycle")
    notes = notes.agg(F.array_join(F.array_sort(F.collect_set("note")), "; ").alias("notes"))
    looked = looked.join(notes.hint("shuffle_hash"), ["cluster", "cycle"], "left")
    looked = looked.join(_memory_notes(moments, made), ["cluster", "cycle"], "left")
    found = _at_all_moments(said).join(looked, ["cluster", "cycle"])
    found = found.withColumns({"verdict": _verdict(), "evidence": _evidence()})
    found = found.withColumn("kept", _is_kept()).where("kept")
    columns = ("cluster", "cycle", "moment", "rule", "verdict", "evidence", "follows")
    found = found.select(*columns)
    if missing_settings.may_lack_setting(rules, plan):
        open_ones = missing_settings.undecided_rules(moments, made["broker_usage"], rules, plan)
        found = missing_settings.with_undecided(found, open_ones).select(*columns)
    return found


def verdicts(_silver: Silver, made: GoldTables, plan: AuditPlan) -> DataFrame:
    """Return the table `verdicts`: the findings, with the case of each violation.

    If several rules are violated at one moment, their case is only in the row of the first of these
    rules.
    """
    found = made["findings"].drop("day")
    first = F.min(F.struct("rule", "verdict")).alias("first")
    broken = found.where("moment is not null").groupBy(*KEY).agg(first).select(*KEY, "first.*")
    if broken.isEmpty():
        rows = found.withColumn("case", F.lit(None).cast("string"))
    else:
        moments = cycles.in_period_of(cycles.cycle_moments(made, plan), plan)
        lines = cases.cases_of_keys(broken.select(*KEY), moments, made, plan)
        lines = broken.join(lines, list(KEY))
        rows = found.join(lines, [*KEY, "rule", "verdict"], "left")
    return rows.select("cluster", "cycle", "rule", "verdict", "evidence", "follows", "case")


def _facts(
    moments: DataFrame, made: GoldTables, plan: AuditPlan, strategies: Sequence[str]
) -> DataFrame:
    key = F.struct(*KEY)
    acted = made["broker_decisions"].withColumn("cycle", key).drop(*UNUSED_COLUMNS)
    brokers = made["broker_usage"].select(
        key.alias("cycle"),
        "broker",
        F.col("broker").alias("turn"),
        "percent",
        F.col("used").alias("smoothed"),
        "observed",
        "least",
        "most",
        "lower",
        "upper",
        F.struct("messages", "bytes").alias("carries"),
        "standing",
        "if_kept",
    )
    settled = moments.select(
        key.alias("cycle"),
        _with_minimum_unload(F.col("settings"), F.col("given"), plan).alias("settings"),
        F.map_keys("given").alias("named"),
        "strategy",
        _other_settings(plan).alias("others"),
        F.lit(plan.released).alias("released"),
        *(name for name in streaks.COLUMNS if name in moments.columns),
    )
    return facts(acted, brokers, settled, plan.readings, strategies)


def _with_minimum_unload(settings: Column, given: Column, plan: AuditPlan) -> Column:
    """Add the minimum unload of a release's ThresholdShedder to the settings, so that smaller
    unloads are not required.

    It is added even if no document names this setting.
    """
    hidden = specs.load().profile(plan.profile).hidden.get(MIN_THROUGHPUT)
    if hidden is None:
        return settings
    recorded = given[MIN_THROUGHPUT].try_cast("double")
    return settings.withField(MIN_THROUGHPUT, F.coalesce(recorded, F.lit(float(hidden))))


def _other_settings(plan: AuditPlan) -> Column:
    """Return the settings and strategies that may apply to a cycle instead of the recorded ones."""
    named, strategy = F.map_keys("given"), F.col("strategy")
    former = _with_minimum_unload(in_force(F.col("former"), plan), F.col("former"), plan)
    own, other = F.col("settings"), F.col("other_strategy")
    own = _with_minimum_unload(own, F.col("given"), plan)

    def choice(settings: Column, names: Column, follows: Column) -> Column:
        return F.struct(settings.alias("settings"), names.alias("named"), follows.alias("strategy"))

    return F.array_compact(
        F.array(
            F.when(F.col("former").isNotNull(), choice(former, F.map_keys("former"), strategy)),
            F.when(other.isNotNull(), choice(own, named, other)),
            F.when(
                own[LOWER_BOUNDARY].isNull() & (strategy == "ThresholdShedder"),
                choice(own.withField(LOWER_BOUNDARY, F.lit(True)), named, strategy),
            ),
        )
    )


def _at_all_moments(said: DataFrame) -> DataFrame:
    """Combine the findings at all moments of a cycle into a row per rule, and a row per side on
    which the rule is broken.

    A side is an omission or a forbidden action; `side` is null in the row about both. `moment` is
    the moment of the first violation.
    """
    whole = F.struct(F.lit(None).cast("boolean").alias("side"), "broken", *SIDE)
    sides = F.transform(
        "sides",
        lambda one: F.struct(
            one["lacking"].alias("side"),
            F.lit(True).alias("broken"),
            *(one[name].alias(name) for name in SIDE),
        ),
    )
    each = F.inline(F.concat(F.array(whole), sides))
    said = said.select(*KEY, "rule", "brokers", each)
    unsure = (~F.col("surely")).alias("unsure")
    proof = F.struct(unsure, "moment", "evidence", "lacking", "follows", "excused")
    return (
        said.groupBy("cluster", "cycle", "rule", "side")
        .agg(
            F.count_if("broken").alias("times"),
            F.count_if("surely").alias("sure"),
            F.min(F.when(F.col("broken"), proof)).alias("proof"),
            F.max("brokers").alias("brokers"),
        )
        .select("cluster", "cycle", "rule", "side", "times", "sure", "brokers", "proof.*")
    )


def _depends_on_doubt() -> Column:
    """True if the verdict depends on the point that is in doubt about the cycle."""
    doubt, lacking, by_order = F.col("doubt"), F.col("lacking"), F.col("rule").isin(*BY_ORDER)
    amount = lacking & ~F.col("rule").isin(*SHEDS_SOME)
    return (
        F.when(doubt.isNull(), F.lit(False))
        .when(doubt == cycles.LEADER_NEWLY_ELECTED, lacking)
        .when(doubt == cycles.LOST_UNLOAD, lacking | by_order)
        .when(doubt == cycles.LOST_BEFORE, amount | by_order)
        .otherwise(F.lit(True))
    )


SHEDS_SOME = (
    *("OVERLOAD-01", "OVERLOAD-09", "OVERLOAD-10", "THRESHOLD-01"),
    *("UNIFORM-01", "UNIFORM-08", "AVERAGE-01", "AVERAGE-02"),
)
"""Rules that a broker keeps by shedding any bundle, even if another bundle must stay."""


def _verdict() -> Column:
    no_doubt = ~F.coalesce(_depends_on_doubt(), F.lit(False))
    sure = no_doubt & (F.col("sure") == F.col("looked"))
    word = F.when(F.col("lacking"), NOT_DONE).otherwise(VIOLATED)
    return F.when(F.col("times") == 0, ALLOWED).when(sure, word).otherwise(UNDECIDED)


def _is_kept() -> Column:
    """True for rows to keep: each side on which a fault is certain or, if there is none, the row
    about both sides.
    """
    certain = F.col("side").isNotNull() & is_fault()
    any_side = F.max(certain).over(Window.partitionBy("cluster", "cycle", "rule"))
    return F.when(F.col("side").isNull(), ~any_side).otherwise(certain)


def _memory_notes(moments: DataFrame, made: GoldTables) -> DataFrame:
    """Return the cycles in which the memory of former leaders matters, with a phrase about it as
    `memory`.
    """
    rows = made["broker_usage"].where("if_kept is not null").select("cluster", "cycle")
    if "kept_streak" in moments.columns:
        counted = moments.where("kept_streak is not null").select("cluster", "cycle")
        rows = rows.unionByName(counted)
    return rows.distinct().withColumn("memory", F.lit(FORMER_LEADERS)).hint("shuffle_hash")


def _view_difference() -> Column:
    """Return a phrase on how another view of the cycle differs."""
    parts = (F.nullif(name, F.lit("")) for name in ("changed", "notes", "memory"))
    known = F.nullif(F.concat_ws("; ", *parts), F.lit(""))
    return F.coalesce(F.concat(F.lit(IN_ANOTHER_VIEW), known), F.lit(UNCERTAIN_UNLOAD))


def _evidence() -> Column:
    count = F.col("brokers")
    about = F.when(count == 1, F.lit("1 broker")).otherwise(
        F.concat(count.cast("string"), F.lit(" brokers"))
    )
    by_moment = F.when(F.col("logged"), ALLOWED_BY_OTHER_REPORTS).otherwise(ALLOWED_AT_OTHER_MOMENT)
    doubt = (
        F.when(F.col("excused"), F.lit(MAY_HAVE_TO_STAY))
        .when(F.col("times") < F.col("looked"), by_moment)
        .when(F.col("sure") < F.col("looked"), _view_difference())
    )
    # No record of what is in doubt would decide a verdict that depends on the owner.
    why = F.when(~F.endswith("evidence", F.lit(OWNER_UNKNOWN)), F.coalesce("doubt", doubt))
    return F.when(F.col("times") == 0, F.concat(F.lit("as required of "), about)).otherwise(
        F.concat_ws("; ", "evidence", why)
    )
