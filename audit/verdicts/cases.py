"""Cycles as cases of `shed.select`, in the format of `explain` and adapters.

AvgShedder counts hits over several cycles, so its cycles become cases of `shed.cycles`. Such a case
has the cycle itself, and the earlier cycles since the last unload that can count as hits.
"""

from __future__ import annotations

from pulsar_conformance import specs
from pulsar_conformance.adapters.spark import average, shedding
from pulsar_conformance.adapters.spark.settings import SETTING_PARSERS
from pulsar_conformance.adapters.spark.shapes import RATE_FIELDS, RESOURCES
from pulsar_conformance.adapters.spark.shedding import GRACE
from pulsar_conformance.audit.pipeline.plan import AuditPlan, GoldTables
from pulsar_conformance.audit.tables import causes, cycles, streaks
from pulsar_conformance.audit.tables.cycles import MICROS_OF_MINUTE
from pulsar_conformance.audit.tables.last_reports import PERHAPS, UNKNOWN
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

KEY = ["cluster", "cycle", "moment"]
MAX_LISTED_USAGES = 30
"""Maximum number of earlier usages that a case lists; older usages are combined into one number."""

AVERAGE = f"struct<{', '.join(f'{name} double' for name in RATE_FIELDS)}, numSamples bigint>"
BUNDLES = f"map<string, struct<shortTermData {AVERAGE}, longTermData {AVERAGE}>>"
AGO = "map<string, double>"


def cases_of_keys(
    keys: DataFrame, moments: DataFrame, made: GoldTables, plan: AuditPlan
) -> DataFrame:
    """Return a row for each key: the columns of `KEY`, and `case`, an input line for
    `pulsar-conformance ask`.

    A broker's incoming and outgoing traffic is added up and given as incoming. The case has all
    resources that the reports have, even if the plan's release ignores some of them.
    """
    rows = _cycle_rows(keys, moments, made)
    lines = rows.select(*KEY, F.to_json(_single_line(plan)).alias("case"))
    documented = average.NAME in shedding.documented_strategies(plan.defaults)
    if not documented or average.NAME not in cycles.strategies_followed(made, plan):
        return lines
    return _with_consecutive_cycles(lines, keys, made, plan)


def _cycle_rows(keys: DataFrame, moments: DataFrame, made: GoldTables) -> DataFrame:
    """Return a row for each key: the columns of `KEY`, `strategy`, `given` (settings), and the maps
    of a case.
    """
    days = F.broadcast(keys.select("cluster", F.to_date("cycle").alias("day")).distinct())
    owned = _rows_of_days(made["bundle_averages"], days).join(keys, KEY, "left_semi")
    counted = F.coalesce("standing", F.lit("")).isin("", PERHAPS, UNKNOWN)
    used = _rows_of_days(made["broker_usage"].where(counted), days).join(keys, KEY, "left_semi")
    reported = _rows_of_days(made["last_reports"], days).select(*KEY, "broker", "percent")
    used = used.drop("percent").join(reported, [*KEY, "broker"])
    settled = moments.withColumn("grace", F.col(f"settings.{GRACE}")).join(keys, KEY, "left_semi")
    settled = settled.select(*KEY, "strategy", "given", "grace")
    seen = _usage_histories(_rows_of_days(made["broker_usage"], days))
    brokers = _brokers_map(used.join(seen, ["cluster", "cycle", "broker"], "left"), owned)
    bundles = _bundle_maps(owned.join(settled.select(*KEY, "grace"), KEY))
    return settled.join(brokers, KEY).join(bundles, KEY, "left")


def _with_consecutive_cycles(
    lines: DataFrame, keys: DataFrame, made: GoldTables, plan: AuditPlan
) -> DataFrame:
    """Return the cases; those of AvgShedder include all earlier cycles that can count as hits."""
    whole = streaks.with_all_days(made)
    moments = cycles.cycle_moments(whole, plan).where(F.col("strategy") == average.NAME)
    parts = _counting_cycles(keys, moments, whole)
    seen = parts.select("cluster", "part.*").distinct()
    rows = _cycle_rows(seen, moments, whole).withColumn("part", F.struct("cycle", "moment"))
    cycle = F.struct(
        F.col("part.cycle").alias("at"),
        F.transform_values(
            "brokers", lambda _name, report: report.dropFields("usageHistory")
        ).alias("brokers"),
        *_map_columns(),
    )
    rows = rows.select("cluster", "part", "strategy", "given", cycle.alias("seen"))
    together = parts.join(rows, ["cluster", "part"]).groupBy(*KEY)
    found = together.agg(
        F.any_value("strategy").alias("strategy"),
        F.max_by("given", "part").alias("given"),
        F.array_sort(F.collect_list("seen"), _compare_times).alias("seen"),
    )
    found = found.select(*KEY, F.to_json(_consecutive_line(plan)).alias("row"))
    both = lines.join(found, KEY, "left")
    return both.select(*KEY, F.coalesce("row", "case").alias("case"))


def _compare_times(one: Column, other: Column) -> Column:
    return F.when(one["at"] < other["at"], F.lit(-1)).otherwise(F.lit(1))


def _counting_cycles(keys: DataFrame, moments: DataFrame, made: GoldTables) -> DataFrame:
    """Return the cycles that can count as hits in each case of AvgShedder, as structs `part`."""
    went = causes.shed_unloads(made).select("cluster", "cycle").distinct()
    ran = moments.where("cycle = moment").join(went.withColumn("went", F.lit(1)), KEY[:2], "left")
    term = Window.partitionBy("cluster", "since").orderBy("cycle")
    before = term.rowsBetween(Window.unboundedPreceding, -1)
    hits = F.greatest(*(F.col(f"settings.{times}") for _, times in average.HITS.values()))
    ran = ran.select(
        *KEY[:2],
        "since",
        F.row_number().over(term).alias("nth"),
        F.count("went").over(before).alias("unloads"),
        F.least(hits, F.lit(MAX_LISTED_USAGES)).alias("hits"),
    )
    mine = keys.join(ran, KEY[:2])
    other = ran.select(
        "cluster", "since", "unloads", F.col("cycle").alias("earlier"), F.col("nth").alias("place")
    )
    counted = (F.col("place") < F.col("nth")) & (F.col("place") > F.col("nth") - F.col("hits"))
    same = mine.join(other, ["cluster", "since", "unloads"]).where(counted)
    at = F.col("earlier")
    earlier = same.select(*KEY, F.struct(at.alias("cycle"), at.alias("moment")).alias("part"))
    return earlier.unionByName(mine.select(*KEY, F.struct("cycle", "moment").alias("part")))


def _consecutive_line(plan: AuditPlan) -> Column:
    def cycle(one: Column, place: Column) -> Column:
        former = F.get("seen", place - 1)["at"]
        passed = (F.unix_micros(one["at"]) - F.unix_micros(former)) / MICROS_OF_MINUTE
        names = ("brokers", "bundles", "recentlyUnloaded")
        return F.struct(
            F.coalesce(passed, F.lit(0.0)).alias("minutes"),
            *(one[name].alias(name) for name in names),
        )

    case = F.struct(
        "strategy",
        _typed_settings(F.col("given")).alias("settings"),
        F.transform("seen", cycle).alias("cycles"),
    )
    return _question("shed.cycles", case, plan)


def _rows_of_days(table: DataFrame, days: DataFrame) -> DataFrame:
    """Return the rows of these days; only the partitions of these days are read."""
    dated = table if "day" in table.columns else table.withColumn("day", F.to_date("cycle"))
    return dated.join(days, ["cluster", "day"]).drop("day")


def _single_line(plan: AuditPlan) -> Column:
    case = F.struct(
        "strategy",
        _typed_settings(F.col("given")).alias("settings"),
        "brokers",
        *_map_columns(),
    )
    return _question("shed.select", case, plan)


def _map_columns() -> tuple[Column, Column]:
    """Return the columns `bundles` and `recentlyUnloaded` of a case: empty maps instead of null."""
    return (
        F.coalesce("bundles", F.from_json(F.lit("{}"), BUNDLES)).alias("bundles"),
        F.coalesce("ago", F.from_json(F.lit("{}"), AGO)).alias("recentlyUnloaded"),
    )


def _question(operation: str, case: Column, plan: AuditPlan) -> Column:
    readings = F.struct(*(F.lit(value).alias(name) for name, value in plan.readings.items()))
    return F.struct(
        F.lit(operation).alias("ask"),
        case.alias("case"),
        F.lit(plan.profile).alias("profile"),
        readings.alias("readings"),
    )


def _typed_settings(given: Column) -> Column:
    """Return the given settings, converted to their types, as a struct.

    Settings that are not given are null, which JSON omits. The struct includes settings that a
    release uses but no document describes, such as the minimum traffic of an unload.
    """
    known = specs.load()
    every = {**known.settings, **known.annotated}.items()
    return F.struct(
        *(
            SETTING_PARSERS.get(one.type, SETTING_PARSERS["string"])(given[name]).alias(name)
            for name, one in every
        )
    )


def _usage_histories(table: DataFrame) -> DataFrame:
    """Return `cluster`, `cycle`, `broker` and `usages`, the usage before each cycle, oldest first.

    Usages of the same day are listed. Earlier usages are combined into one number.
    """
    memory = ("cluster", "broker", "since", "back")
    earlier = Window.partitionBy(*memory, F.to_date("cycle")).orderBy("cycle")
    few = earlier.rowsBetween(-MAX_LISTED_USAGES, -1)
    first = F.first("before").over(few)
    presents = F.collect_list("present").over(few)
    none = F.array().cast("array<double>")
    seen = F.concat(F.when(first.isNotNull(), F.array(first)).otherwise(none), presents)
    rows = table.where("cycle = moment").withColumn("usages", seen)
    return rows.select("cluster", "cycle", "broker", "usages")


def _brokers_map(used: DataFrame, owned: DataFrame) -> DataFrame:
    """Return rows with the columns of `KEY` and the map `brokers`."""
    bundles = owned.groupBy(*KEY, "broker").agg(F.array_sort(F.collect_list("bundle")).alias("has"))
    rows = used.join(bundles, [*KEY, "broker"], "left")
    resources = (
        F.struct(F.col(f"percent.{name}").alias("usage"), F.lit(100).alias("limit")).alias(name)
        for name in RESOURCES
    )
    before = F.col("before")
    some = F.when(F.size("usages") > 0, F.col("usages"))
    history = F.when(before.isNotNull(), F.coalesce(some, F.array(before)))
    report = F.struct(
        *resources,
        F.col("messages").alias("msgRateIn"),
        F.col("bytes").alias("msgThroughputIn"),
        F.coalesce("has", F.array().cast("array<string>")).alias("bundles"),
        history.alias("usageHistory"),
    )
    named = F.struct("broker", report.alias("report"))
    return rows.groupBy(*KEY).agg(_map_by_name(named).alias("brokers"))


def _bundle_maps(owned: DataFrame) -> DataFrame:
    """Return rows with the columns of `KEY` and two maps by bundle: `bundles` (averages) and `ago`
    (minutes since the last unload).
    """
    data = F.struct(
        *(F.col(name).cast(AVERAGE).alias(name) for name in ("shortTermData", "longTermData"))
    )
    lately = F.col("moved") <= F.col("grace")
    each = owned.groupBy(*KEY, "bundle").agg(
        F.any_value(data).alias("data"), F.min(F.when(lately, F.col("moved"))).alias("ago")
    )
    ago = F.when(F.col("ago").isNotNull(), F.struct("bundle", "ago"))
    return each.groupBy(*KEY).agg(
        _map_by_name(F.struct("bundle", "data")).alias("bundles"), _map_by_name(ago).alias("ago")
    )


def _map_by_name(named: Column) -> Column:
    """Return a map from names to values, sorted by name."""
    return F.map_from_entries(F.array_sort(F.collect_list(named)))
