"""The steps of an audit: which table is made of which, and of what else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.resources import files
from typing import Any

from pulsar_conformance.audit.input.records import quarantine
from pulsar_conformance.audit.input.silver import SILVER
from pulsar_conformance.audit.input.sources import AROUND
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import TABLES
from pulsar_conformance.audit.pipeline.writing import ASKED, PARTITION, from_day
from pulsar_conformance.audit.tables.gold import GOLD, NEEDS
from pulsar_conformance.audit.verdicts import splits
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
HISTORY = "pulsar_conformance.audit"
READING = ("pulsar_conformance.adapters.spark", f"{HISTORY}.input")
DECIDING = (*READING, f"{HISTORY}.tables", "pulsar_conformance.specs")
JUDGING = (
    *DECIDING,
    f"{HISTORY}.verdicts",
    f"{HISTORY}.verdicts.checks",
    "pulsar_conformance.conformance.common",
)
"""What decides what is in the tables, by how they come about: when it changes, they are made anew.

Tolerances are in `common`, and rules and documented defaults in `specs`.
"""

BY_RULE = ("split_findings", "findings", "verdicts")
"""The tables that have a row a rule."""

JUDGED = ("broker_decisions", *BY_RULE)

PASSING: Mapping[str, tuple[str, ...]] = {"cycles": ("until", "upto"), "unloads": ()}
"""The small gold tables, which are made whole and compared. The end of a leader's term changes
nothing of what was before; that of a cycle only what is unloaded in it, which is compared itself.
"""

AGAIN = tuple(name for name in GOLD if name not in PASSING)
"""The large ones, of which the days from that of a time on are made anew."""

GOING_ON = ("broker_usage",)
"""Those of them that go on from their own earlier rows, where these are all that there were."""

COMPARED = tuple(name for name in GOLD if name not in BY_RULE)
"""The tables that are made once more where other settings are asked about."""


@dataclass(frozen=True)
class TableStep:
    """A table, what it is made of, and how; `options` are all that it depends on besides."""

    table: str
    parents: tuple[str, ...]
    make: Callable[[Tables], DataFrame]
    options: str = ""
    otherwise: Callable[[Tables], DataFrame] | None = None
    """How it is made where that breaks."""

    again: Callable[[Tables, datetime], DataFrame] | None = None
    """How the days from that of a time on are made anew, if they can be without the others: of what
    it is made of, and itself."""

    dating: tuple[str, ...] = ()
    """Those of its parents that tell since when it is another one, if not all do."""

    reach: Callable[[Tables, datetime], DataFrame] | None = None
    """Of what it is made of, and itself: the rows that hang on what is of a time or later, by their
    `cycle`; that of the first is since when it is another one."""

    hindsight: timedelta = timedelta()
    """So long before it was recorded, what is another one in it says something of what was."""

    passing: tuple[str, ...] = ()
    """Of a table that is made whole and compared: columns that make no difference."""

    finish: Callable[[], None] | None = None
    """What is done when all of it is there."""

    renew: Callable[[Mark], tuple[int, datetime] | None] | None = None
    """Of a table without parents: makes anew what is another one in it, and tells how many rows and
    since when; None if it cannot."""

    @property
    def dated(self) -> bool:
        """Whether every row has a day."""
        return self.table.removeprefix(ASKED) in GOLD

    @property
    def method(self) -> str:
        """A fingerprint of how it is made, whatever it is made of."""
        name = self.table.removeprefix(ASKED)
        return digest(self.table, PARTITION, TABLES[name].schema, code(_made_by(name)))


def steps(source: TableStep, plan: AuditPlan, asked: AuditPlan | None) -> Iterator[TableStep]:
    """Every step after `source`, which makes `records`, in order."""
    yield source
    for name, rows in {"quarantine": quarantine, **SILVER}.items():
        yield TableStep(
            name,
            ("records",),
            partial(_silver, rows),
            again=partial(_silver_again, rows),
            hindsight=AROUND,
        )
    yield from _gold(plan, tuple(GOLD), "")
    if asked is not None:
        yield from _gold(asked, COMPARED, ASKED)


OfRecords = Callable[[DataFrame], DataFrame]


def _silver(rows: OfRecords, tables: Tables) -> DataFrame:
    return rows(tables["records"])


def _silver_again(rows: OfRecords, tables: Tables, since: datetime) -> DataFrame:
    return rows(from_day(tables["records"], since))


def _gold(plan: AuditPlan, names: tuple[str, ...], prefix: str) -> Iterator[TableStep]:
    for name in names:
        before = NEEDS[name]
        made_before = tuple(prefix + one for one in before)
        yield TableStep(
            prefix + name,
            (*SILVER, *made_before),
            partial(_made, name, prefix, before, plan),
            told(plan),
            again=None if name in PASSING else partial(_made_again, name, prefix, before, plan),
            dating=made_before,
            reach=partial(REACH[name], prefix + name) if name in REACH else None,
            passing=PASSING.get(name, ()),
        )


def _made(
    name: str, prefix: str, before: tuple[str, ...], plan: AuditPlan, tables: Tables
) -> DataFrame:
    silver = Silver(**{one: tables[one] for one in SILVER})
    made = {one: tables[prefix + one] for one in before}
    rows = GOLD[name](silver, made, plan)
    at = F.coalesce("cycle", "at") if "at" in rows.columns else F.col("cycle")
    return rows.withColumn("day", F.to_date(at))


def _made_again(
    name: str,
    prefix: str,
    before: tuple[str, ...],
    plan: AuditPlan,
    tables: Tables,
    since: datetime,
) -> DataFrame:
    """What is about cycles from a time on."""
    later = replace(plan, since=max(since, plan.since or since))
    goes_on = name in GOING_ON and plan.since is None
    by_day = AGAIN if name in GOING_ON and not goes_on else (*AGAIN, "cycles")
    recent = {
        prefix + one: from_day(tables[prefix + one], since) for one in before if one in by_day
    }
    own = tables[prefix + name].where(F.col("cycle") < F.lit(since))
    made_of = {**tables, **recent, prefix + name: own}
    going_on = (*before, name) if goes_on else before
    return _made(name, prefix, going_on, later, made_of).where(F.col("cycle") >= F.lit(since))


def _looked_at_later(own: str, tables: Tables, since: datetime) -> DataFrame:
    """Cycles that may have been at that time, or later."""
    return tables[own].where(F.array_max("moments") >= F.lit(since)).select("cycle")


def _split_lately(own: str, tables: Tables, since: datetime) -> DataFrame:
    """Splits that records from that time on may be about, and what is told of later ones."""
    split = splits.lately_split(Silver(**{one: tables[one] for one in SILVER}), since)
    return split.unionByName(tables[own].where(F.col("cycle") >= F.lit(since)).select("cycle"))


REACH: Mapping[str, Callable[[str, Tables, datetime], DataFrame]] = {
    "cycles": _looked_at_later,
    "split_findings": _split_lately,
}
"""By the name of a gold table that what was recorded dates, of its own name, and of itself and all
that it is made of. All others are dated by these."""


def told(plan: AuditPlan) -> str:
    """All that a plan says, as text."""
    return json.dumps(asdict(plan), default=str, sort_keys=True)


def fingerprints(every: Iterable[TableStep], first: str = "") -> dict[str, str]:
    """Of each table: all that goes into it, what its parents are made of included.

    `first` is the fingerprint of the first one, if that was made of something else than it would
    be now.
    """
    found: dict[str, str] = {}
    for step in every:
        of = digest(step.method, step.options, *(found[one] for one in step.parents))
        found[step.table] = first if first and not step.parents else of
    return found


def digest(*parts: Any) -> str:
    """A short text that is another one where anything is other."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _made_by(table: str) -> tuple[str, ...]:
    """The packages whose code makes a table."""
    if table in JUDGED:
        return JUDGING
    return DECIDING if table in GOLD else READING


@cache
def code(packages: tuple[str, ...]) -> str:
    """A fingerprint of the code and the data in packages."""
    texts = [
        (package, one.name, one.read_text("utf-8"))
        for package in packages
        for folder in (files(package), files(package) / "rules")
        if folder.is_dir()
        for one in folder.iterdir()
        if one.name.endswith((".py", ".yaml"))
    ]
    return digest(sorted(texts))
