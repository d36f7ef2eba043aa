"""The history of one bundle or broker, with the arithmetic of the cycles that decided about it.

Only rows about the bundle or broker are read. The arithmetic is the model's for the case of a
cycle, in the form in which `pulsar-conformance explain` shows it.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from pulsar_conformance.adapters.spark.shedding import STRATEGY
from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.audit.pipeline import leaders
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.steps import tables_by_documents
from pulsar_conformance.audit.tables import causes, cycles
from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.audit.tables.last_reports import RHYTHM_INTERVALS, SILENT_AFTER
from pulsar_conformance.audit.verdicts import cases, extensible, transfers
from pulsar_conformance.audit.verdicts.arithmetic import (
    UnloadDifference,
    arithmetic_lines,
    difference_from_recorded,
)
from pulsar_conformance.audit.verdicts.moves import moment_before_move
from pulsar_conformance.audit.verdicts.omissions import may_stay_text
from pulsar_conformance.audit.verdicts.verdict_lines import (
    assumption_lines,
    judging_rules_text,
    verdict_lines,
)
from pulsar_conformance.conformance.cases.load_reports import TOP
from pulsar_conformance.conformance.cases.setting_types import Entry
from pulsar_conformance.conformance.cases.settings import read_entries
from pulsar_conformance.conformance.explain.balance import balance_lines
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.saved_loads import parse_load_data
from pulsar_conformance.specs.text import counted, paragraph
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]

MAX_EVENTS = 20
"""Maximum number of events shown; earlier events are omitted."""

SPLIT, UNLOADED, ASSIGNED, LED = range(4)
"""Order in which events with the same time are shown, by kind."""

DERIVED_CYCLES = 3
"""Number of cycles whose arithmetic is shown if no time is given."""


@dataclass(frozen=True)
class Inquiry:
    """An inquiry about a bundle, a broker or both.

    With `at`, later events are left out; with `cluster`, all other clusters are left out.
    """

    bundle: str | None = None
    broker: str | None = None
    at: datetime | None = None
    cluster: str | None = None

    def __bool__(self) -> bool:
        return self.bundle is not None or self.broker is not None

    @property
    def subject(self) -> str:
        """Names of the bundle and broker that the inquiry is about."""
        both = {"bundle": self.bundle, "broker": self.broker}
        return " of ".join(f"{what} {name}" for what, name in both.items() if name)

    def select(self, rows: DataFrame) -> DataFrame:
        """Return the rows about this bundle and broker; rows without such a column are not filtered
        by it.
        """
        if self.bundle is not None and "bundle" in rows.columns:
            rows = rows.where(F.col("bundle") == self.bundle)
        if self.broker is not None and "broker" in rows.columns:
            rows = rows.where(F.col("broker") == self.broker)
        return rows


def inquiry_lines(tables: Tables, plan: AuditPlan, asked: Inquiry) -> Iterator[str]:
    """Yield lines on the events, then on the verdicts and the arithmetic of cycles. Errors:
    `AuditError`.
    """
    clusters = _clusters_with_subject(tables, asked)
    if not clusters:
        of = f" of cluster {asked.cluster}" if asked.cluster is not None else ""
        problem = f"no load report or unload{of} names it"
        raise AuditError(f"{asked.subject}: {problem}; give a name from the load reports")
    for number, cluster in enumerate(clusters):
        yield from ("",) if number else ()
        yield f"{asked.subject}, {cluster}"
        yield from _event_lines(tables, asked, cluster)
        yield from _owner_lines(tables, plan, asked, cluster)
        yield from _transfer_lines(tables, asked, cluster)
        for cycle in _relevant_cycles(tables, asked, cluster):
            yield from ("", *_cycle_lines(tables, plan, asked, cluster, cycle))


def _clusters_with_subject(tables: Tables, asked: Inquiry) -> list[str]:
    samples = "bundle_samples" if asked.bundle else "broker_samples"
    found = {
        row[0]
        for kind in (samples, "unloads", "actions")
        for row in asked.select(tables[kind]).select("cluster").distinct().collect()
    }
    return sorted(found if asked.cluster is None else found.intersection({asked.cluster}))


def _event_lines(tables: Tables, asked: Inquiry, cluster: str) -> Iterator[str]:
    """Yield a line per unload, assignment, split or other event, in time order."""
    mine = F.col("cluster") == cluster
    unloads = asked.select(tables["unloads"].where(mine)).select(
        "at",
        F.concat_ws(
            "",
            F.concat_ws(" ", F.lit("unloaded by"), "broker"),
            F.lit(", "),
            _cause_text(),
            F.lit(": "),
            "basis",
            _bundle_suffix(asked),
        ).alias("text"),
    )
    done = tables["actions"].where(mine & F.col("kind").isin("assigned", "split"))
    if asked.bundle is not None:
        done = done.where(
            (F.col("bundle") == asked.bundle) | F.array_contains("into", F.lit(asked.bundle))
        )
    if asked.broker is not None:
        done = done.where((F.col("broker") == asked.broker) & (F.col("kind") == "assigned"))
    assigned = F.col("kind") == "assigned"
    who = F.coalesce(F.concat(F.lit(": "), F.col("cause")), F.lit(""))
    told = F.when(
        assigned, F.concat(F.lit("assigned to "), "broker", _bundle_suffix(asked))
    ).otherwise(F.concat(F.col("bundle"), F.lit(" split into "), F.array_join("into", ", "), who))
    turn = F.when(assigned, ASSIGNED).otherwise(SPLIT)
    rows = unloads.withColumn("turn", F.lit(UNLOADED)).unionByName(
        done.select("at", told.alias("text"), turn.alias("turn"))
    )
    if asked.bundle is None:
        for others in (
            leaders.changes_of_broker(tables, cluster, asked.broker),
            _silences(tables["broker_samples"].where(mine & (F.col("broker") == asked.broker))),
            _strategy_changes(tables["contexts"].where(mine & (F.col("kind") == "settings"))),
        ):
            rows = rows.unionByName(others.withColumn("turn", F.lit(LED)))
    rows = rows.distinct()
    if asked.at is not None:
        rows = rows.where(F.col("at") <= F.lit(asked.at))
    latest = rows.orderBy(F.desc("at"), F.desc("turn"), F.desc("text")).limit(MAX_EVENTS)
    last = latest.select(_utc_text("at"), "text").collect()
    many = rows.count() if len(last) == MAX_EVENTS else len(last)
    if many > MAX_EVENTS:
        yield f"  the last {MAX_EVENTS} of {counted(many, 'event')}"
    for row in reversed(last):
        yield f"  {row['time']}  {row['text']}"
    if not many:
        yield (
            "  no event is recorded: it was not unloaded, assigned or split"
            if asked.bundle
            else "  no event is recorded"
        )


def _silences(samples: DataFrame) -> DataFrame:
    """Return `at` and `text` of each report that follows an unusually long silence of a broker.

    The broker may have been stopped during the silence.
    """
    course = Window.orderBy("at")
    rows = samples.select("at").distinct().withColumn("former", F.lag("at").over(course))
    rows = rows.withColumn("passed", (F.unix_millis("at") - F.unix_millis("former")) / 1000)
    usual = F.max("passed").over(course.rowsBetween(-RHYTHM_INTERVALS, -1))
    late = rows.withColumn("usual", usual).where(F.col("passed") > F.col("usual") * SILENT_AFTER)
    told = F.format_string("reports again after %.0f s of silence", "passed")
    return late.select("at", told.alias("text"))


def _strategy_changes(settings: DataFrame) -> DataFrame:
    """Return `at` and `text` of each change of the strategy in the settings."""
    rows = settings.select("at", F.col(f"settings.{STRATEGY}").alias("to"))
    rows = rows.withColumn("former", F.lag("to").over(Window.orderBy("at")))
    words = (F.lit(f"{STRATEGY} is set to "), F.substring_index("to", ".", -1))
    told = F.concat(*words, F.lit("; it applies from the next leader on"))
    return rows.where("to != former").select("at", told.alias("text"))


def _cause_text() -> Column:
    either = F.concat(F.col("cause"), F.lit(" or shedding"))
    known = F.when(F.col("cause") == "shedding", "perhaps shedding").otherwise(either)
    return F.when(F.col("open"), known).otherwise(F.col("cause"))


def _bundle_suffix(asked: Inquiry) -> Column:
    """Return text that names an event's bundle; empty if the inquiry is about a bundle."""
    none = F.lit("")
    return none if asked.bundle is not None else F.concat(F.lit("; "), F.col("bundle"))


def _relevant_cycles(tables: Tables, asked: Inquiry, cluster: str) -> list[str]:
    """Return the times of the cycles to show.

    If the inquiry gives a time, only the last cycle up to that time is shown. Otherwise, the last
    cycles with unloads are shown; if there are none, the last cycle.
    """
    mine = F.col("cluster") == cluster
    known = tables["bundle_averages" if asked.bundle else "broker_usage"].where(mine)
    went = asked.select(tables["unloads"].where(mine & F.col("cycle").isNotNull()))
    if asked.at is not None:
        ran = asked.select(known).select("cycle").unionByName(went.select("cycle"))
        return _last_cycles(ran.where(F.col("cycle") <= F.lit(asked.at)), 1)
    return _last_cycles(went, DERIVED_CYCLES) or _last_cycles(asked.select(known), 1)


def _owner_lines(tables: Tables, plan: AuditPlan, asked: Inquiry, cluster: str) -> Iterator[str]:
    """Yield the verdicts on a bundle's owners and splits under the extensible load manager."""
    if asked.bundle is None:
        return
    mine = F.col("cluster") == cluster
    judged = tables["verdicts"].where(mine).select("rule").distinct()
    known = extensible.JUDGED_BY_BUNDLE.intersection(row["rule"] for row in judged.collect())
    if not known:
        return
    silver = Silver(**{one.name: tables[one.name] for one in fields(Silver)})
    rows = extensible.findings_about_owners(silver, plan, known, asked.bundle).where(mine)
    if asked.at is not None:
        rows = rows.where(F.col("cycle") <= F.lit(asked.at))
    last = rows.orderBy(F.desc("cycle"), F.desc("rule")).limit(MAX_EVENTS)
    found = last.select(_utc_text("cycle"), "rule", "verdict", "evidence").collect()
    yield from ("", "its owners") if found else ()
    for row in reversed(found):
        told = f"{row['time']}  {row['rule']} {row['verdict']}: {row['evidence']}"
        yield from paragraph(told, 4, "  ")


def _transfer_lines(tables: Tables, asked: Inquiry, cluster: str) -> Iterator[str]:
    """Yield the verdicts and the arithmetic of the last transfers by TransferShedder."""
    mine = F.col("cluster") == cluster
    judged = tables["verdicts"].where(mine & F.col("rule").isin(*transfers.TRANSFER_JUDGES))
    went = asked.select(tables["unloads"].where(mine & (F.col("cause") == SHEDDING)))
    if asked.at is not None:
        went = went.where(F.col("at") <= F.lit(asked.at))
    turns = went.select("at").join(
        judged.select(F.col("cycle").alias("turn")), F.expr("turn <= at")
    )
    turns = turns.groupBy("at").agg(F.max("turn").alias("cycle")).select("cycle").distinct()
    last = turns.orderBy(F.desc("cycle")).limit(DERIVED_CYCLES).select(_utc_text("cycle")).collect()
    for (time,) in reversed(last):
        yield from ("", f"transfer of {time}")
        at = F.col("cycle") == F.lit(time).cast("timestamp")
        yield from verdict_lines(judged.where(at))
        yield from (
            f"  {line}".rstrip() for line in _balance_at(tables["contexts"].where(mine), time)
        )


def _balance_at(contexts: DataFrame, time: str) -> Iterator[str]:
    """Yield lines about the load data that TransferShedder used at a time; none without data.

    Load data of the last seconds before that time are ignored, because they may already include the
    effect of the transfer.
    """
    before = contexts.where(F.col("at") <= F.lit(time).cast("timestamp"))
    passed = F.unix_seconds(F.lit(time).cast("timestamp")) - F.unix_seconds("at")
    last = before.where((F.col("kind") == "load_data") & (passed >= causes.MAX_SKEW)).groupBy(
        "broker"
    )
    rows = last.agg(F.to_json(F.max_by("load", "at")).alias("load")).collect()
    loads = {row["broker"]: json.loads(row["load"]) for row in rows}
    if not loads:
        return
    settled = before.where("kind = 'settings'").agg(F.max_by("settings", "at")).first()
    written = (settled and settled[0]) or {}
    entries = (Entry("the history", name, text) for name, text in written.items())
    given = read_entries(entries, as_broker=True).values
    top = {broker: one for broker, one in loads.items() if TOP in one}
    yield from balance_lines(parse_load_data(loads, top), given, None)


def _last_cycles(rows: DataFrame, count: int) -> list[str]:
    found = rows.select("cycle").distinct().orderBy(F.desc("cycle")).limit(count)
    return sorted(row[0] for row in found.select(_utc_text("cycle")).collect())


def _utc_text(time: str) -> Column:
    return precise_utc(time).alias("time")


def _cycle_lines(
    tables: Tables, plan: AuditPlan, asked: Inquiry, cluster: str, cycle: str
) -> Iterator[str]:
    """Yield the verdicts and the arithmetic of a cycle."""
    this = (F.col("cluster") == cluster) & (F.col("cycle") == F.lit(cycle).cast("timestamp"))
    yield f"cycle of {cycle}"
    found = tables["findings"].where(this)
    told = list(verdict_lines(tables["verdicts"].where(this), found))
    yield from told
    went = asked.select(tables["unloads"].where(this))
    shown, moment = moment_before_move(tables, went, cluster, cycle, asked.at) or (cycle, "")
    decided = this
    if shown != cycle:
        yield "  the reports of this cycle already show the move, so the previous cycle is shown:"
        at = F.col("cycle") == F.lit(shown).cast("timestamp")
        decided = (F.col("cluster") == cluster) & at
    unlike = yield from _arithmetic_lines(tables, plan, asked, decided, this, moment)
    if unlike and not told:
        who = judging_rules_text(tables["verdicts"].where(this))
        stay = may_stay_text(tables, this, unlike)
        yield from ("", *paragraph("; ".join(filter(None, (str(unlike), who, stay))), 2))


def _is_recorded(tables: Tables, this: Column) -> bool:
    """True if the history has a record of the cycle."""
    ran = tables["contexts"].where("kind = 'cycle'").select("cluster", F.col("at").alias("cycle"))
    return not ran.where(this).isEmpty()


def _arithmetic_lines(
    tables: Tables, plan: AuditPlan, asked: Inquiry, this: Column, moved: Column, moment: str
) -> Generator[str, None, UnloadDifference | None]:
    """Yield the derivation of a cycle's case, as far as it concerns the bundle or broker.

    The derivation is for `moment` or, if that is empty, for the recorded time of the cycle. There
    are two exceptions: the cycle is not recorded, or no report of the bundle or broker was known at
    that time. The derivation is then for the latest time at which the cycle may have run, just
    before its first unload. After the last line, return how a release's arithmetic differs from the
    recorded unloads that `moved` selects; None if it does not differ, or if the audit does not
    judge by a release.
    """
    made = {**tables, "cycles": tables["cycles"].where(this)}
    moments = cycles.cycle_moments(made, plan)
    seen = asked.select(tables["bundle_averages" if asked.bundle else "broker_usage"].where(this))
    if asked.at is not None:
        seen = seen.where(F.col("moment") <= F.lit(asked.at))
    recorded = _is_recorded(tables, this)
    itself = F.max(F.when(F.lit(recorded) & (F.col("moment") == F.col("cycle")), F.col("moment")))
    last = seen.agg(F.coalesce(itself, F.max("moment")).alias("moment"))
    moved_later = False
    if moment:
        shown = F.lit(moment).cast("timestamp").alias("moment")
        moved_later = not last.where(F.col("moment") > shown).isEmpty()
        last = last.select(shown)
    keys = moments.join(last, "moment").select(*cases.KEY)
    found = cases.cases_of_keys(keys, moments, tables, plan)
    row = found.select(
        "case", _utc_text("moment"), F.expr("moment = cycle").alias("itself")
    ).first()
    if row is None:
        yield f"  no report of {asked.subject} is recorded before that time"
        return None
    if moved_later:
        yield f"  computed from what was known at {row['time']}: later reports show the move"
    elif not row["itself"]:
        why = "no report precedes the cycle" if recorded else "the cycle itself is not recorded"
        yield f"  computed from what was known at {row['time']}, since {why}"
    yield from assumption_lines(tables["broker_usage"].where(this), row["time"])
    saved = json.loads(row["case"])
    if saved["case"].get("recentlyUnloaded"):
        yield f"  the minutes since an unload are counted up to {row['time']}"
    others = _documented_cases(tables, plan, keys)
    lines = arithmetic_lines(saved, Focus(asked.broker, asked.bundle), others)
    yield from (f"  {line}".rstrip() for line in lines)
    if not plan.released:
        return None
    went = asked.select(tables["unloads"].where(moved))
    if asked.at is not None:
        went = went.where(F.col("at") <= F.lit(asked.at))
    rows = went.select("broker", "bundle", "cause").distinct().collect()
    causes_of = {(row["broker"], row["bundle"]): row["cause"] for row in rows}
    return difference_from_recorded(saved, causes_of, Focus(asked.broker, asked.bundle))


def _documented_cases(tables: Tables, plan: AuditPlan, keys: DataFrame) -> list[dict[str, Any]]:
    """Return the cases of these moments with usage and averages as documented, not as in the
    release.

    Empty if the audit does not judge by the documents as well.
    """
    documents = plan.documents
    made = tables_by_documents(tables, plan, documents) if documents else {}
    if documents is None or not made:
        return []
    moments = cycles.cycle_moments(made, documents)
    found = cases.cases_of_keys(keys, moments, made, documents).select("case").collect()
    return [json.loads(row["case"]) for row in found]
