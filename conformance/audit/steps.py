"""The steps of an audit: which table is made of which, and of what else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

from pulsar_conformance.conformance.audit.gold import GOLD
from pulsar_conformance.conformance.audit.plan import Plan, Silver
from pulsar_conformance.conformance.audit.records import quarantine
from pulsar_conformance.conformance.audit.silver import SILVER
from pulsar_conformance.conformance.audit.tables import TABLES
from pulsar_conformance.conformance.audit.writing import ASKED
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Tables = Mapping[str, DataFrame]
CODE = (
    "pulsar_conformance.adapters.spark",
    "pulsar_conformance.conformance.audit",
    "pulsar_conformance.conformance.audit.checks",
)
"""What decides what is in the tables: when it changes, they are made anew."""

COMPARED = tuple(GOLD)[: list(GOLD).index("decisions") + 1]
"""The tables that are made once more where other settings are asked about."""


@dataclass(frozen=True)
class Step:
    """A table, what it is made of, and how; `options` are all that it depends on besides."""

    table: str
    parents: tuple[str, ...]
    make: Callable[[Tables], DataFrame]
    options: str = ""
    otherwise: Callable[[Tables], DataFrame] | None = None
    """How it is made where that breaks."""


def steps(source: Step, plan: Plan, asked: Plan | None) -> Iterator[Step]:
    """Every step after `source`, which makes `records`, in order."""
    yield source
    yield Step("quarantine", ("records",), lambda made: quarantine(made["records"]))
    for name in SILVER:
        yield Step(name, ("records",), partial(_silver, name))
    yield from _gold(plan, tuple(GOLD), "")
    if asked is not None:
        yield from _gold(asked, COMPARED, ASKED)


def _silver(name: str, tables: Tables) -> DataFrame:
    return SILVER[name](tables["records"])


def _gold(plan: Plan, names: tuple[str, ...], prefix: str) -> Iterator[Step]:
    before: tuple[str, ...] = ()
    for name in names:
        parents = (*SILVER, *(prefix + one for one in before))
        yield Step(prefix + name, parents, partial(_made, name, prefix, before, plan), told(plan))
        before += (name,)


def _made(name: str, prefix: str, before: tuple[str, ...], plan: Plan, tables: Tables) -> DataFrame:
    silver = Silver(**{one: tables[one] for one in SILVER})
    made = {one: tables[prefix + one] for one in before}
    rows = GOLD[name](silver, made, plan)
    return rows.withColumn("day", F.to_date("cycle"))


def told(plan: Plan) -> str:
    """All that a plan says, as text."""
    return json.dumps(asdict(plan), default=str, sort_keys=True)


def fingerprints(every: list[Step]) -> dict[str, str]:
    """Of each table: all that goes into it, what its parents are made of included."""
    found: dict[str, str] = {}
    for step in every:
        of = [step.table, TABLES[step.table.removeprefix(ASKED)].schema, step.options, code()]
        found[step.table] = digest(of, *(found[one] for one in step.parents))
    return found


def digest(*parts: Any) -> str:
    """A short text that is another one where anything is other."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


@cache
def code() -> str:
    """A fingerprint of the code that makes the tables."""
    texts = [
        (one.name, one.read_text("utf-8"))
        for package in CODE
        for one in files(package).iterdir()
        if one.name.endswith(".py")
    ]
    return digest(sorted(texts))
