"""Why the first undecided cycle of each rule is undecided, and which options explain it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.pipeline.summary import RULES_AT_OTHER_TIMES, earliest_rows
from pulsar_conformance.audit.tables import cycles
from pulsar_conformance.audit.tables.formatting import precise_utc
from pulsar_conformance.audit.verdicts import extensible, transfers, verdicts
from pulsar_conformance.audit.verdicts.checks.open_readings import DEPENDS_ON_READING
from pulsar_conformance.audit.verdicts.checks.registry import UNDECIDED
from pulsar_conformance.audit.verdicts.checks.shed import OWNER_UNKNOWN
from pulsar_conformance.audit.verdicts.missing_settings import NOT_RECORDED
from pulsar_conformance.specs.text import NO_BREAK, WIDTH, cut, paragraph
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Json = dict[str, Any]

MAX_POINT_LENGTH = 4 * WIDTH
"""Maximum length of an open point in the report; a longer one is cut."""

OPEN_POINTS = (
    *(
        verdicts.ALLOWED_AT_OTHER_MOMENT,
        verdicts.ALLOWED_BY_OTHER_REPORTS,
        verdicts.UNCERTAIN_UNLOAD,
        verdicts.IN_ANOTHER_VIEW,
        verdicts.MAY_HAVE_TO_STAY,
        OWNER_UNKNOWN,
    ),
    *(
        cycles.NO_LEADER,
        cycles.CUT_SHORT,
        cycles.LEADER_JUST_BEGAN,
        cycles.NOTHING_RECORDED_AFTER,
        cycles.LEADER_NEWLY_ELECTED,
    ),
    *(cycles.LOST_SETTINGS, cycles.LOST_REPORT, cycles.LOST_UNLOAD, cycles.LOST_BEFORE),
    DEPENDS_ON_READING,
)
"""Texts with which an open point begins: the part of the evidence that says what is not known.

Evidence without any of these texts is an open point as a whole.
"""

OPTION_AND_VALUE = re.compile(r"(--\w+) ")

CLUSTER_OPTION = "--cluster"

BUNDLE = re.compile(r"[^\s,;:]+/0x[0-9a-f]+_0x[0-9a-f]+")


def first_undecided(tables: Mapping[str, DataFrame], several: bool = False) -> list[Json]:
    """Return the first undecided cycle of each rule: rule, cluster, cycle, open point and options.

    With `several` clusters, the options name the cluster.

    A rule that is undecided only because settings are not recorded is left out, since the report
    names these settings elsewhere.
    """
    open_ones = tables["verdicts"].where(F.col("verdict") == UNDECIDED)
    open_ones = open_ones.where(~F.col("evidence").endswith(NOT_RECORDED))
    first = earliest_rows(open_ones, 1).select("rule", "cluster", "cycle", "evidence")
    rows = first.join(_last_unloads(tables["unloads"]), ["cluster", "cycle"], "left")
    found = rows.select(
        "rule",
        "cluster",
        precise_utc("cycle").alias("cycle"),
        precise_utc(F.coalesce("until", "cycle")).alias("until"),
        "bundle",
        "evidence",
    )
    return [_described(row.asDict(), several) for row in found.orderBy("rule").collect()]


def _last_unloads(unloads: DataFrame) -> DataFrame:
    """Return the time of each cycle's last unload as `until`, and a bundle that was unloaded.

    An unload without a cycle, such as every unload by TransferShedder, has its own time as its
    cycle.
    """
    shed = unloads.where((F.col("cause") == SHEDDING) | F.col("open"))
    rows = shed.withColumn("cycle", F.coalesce("cycle", "at"))
    last = F.max("at").alias("until")
    return rows.groupBy("cluster", "cycle").agg(last, F.min("bundle").alias("bundle"))


def _described(row: Json, several: bool) -> Json:
    options = _options(row)
    if several and options:
        options = (CLUSTER_OPTION, row["cluster"], *options)
    return {
        **{name: row[name] for name in ("rule", "cluster", "cycle")},
        "open_point": open_point(row["evidence"]),
        "explained_by": " ".join(options),
    }


def open_point(evidence: str) -> str:
    """Return the open point of an undecided verdict: the part of its evidence that says what is not
    known.
    """
    places = [place for one in OPEN_POINTS if (place := evidence.find(one)) >= 0]
    return evidence[min(places, default=0) :]


def _options(row: Json) -> Sequence[str]:
    """Return the options with which `audit` explains an undecided verdict; empty if none do."""
    rule, evidence = row["rule"], row["evidence"]
    by_bundle = rule in extensible.JUDGED_BY_BUNDLE or rule not in RULES_AT_OTHER_TIMES
    if by_bundle and (named := BUNDLE.match(evidence)):
        return ("--why", named[0], "--at", row["until"])
    if rule in transfers.TRANSFER_JUDGES and row["bundle"]:
        return ("--why", row["bundle"], "--at", row["until"])
    if rule in RULES_AT_OTHER_TIMES:
        return ()
    return ("--broker", evidence.partition(" ")[0], "--at", row["until"])


def undecided_lines(found: Sequence[Json]) -> Iterator[str]:
    """Yield lines about the first undecided cycle of each rule.

    Rules with the same cycle and open point share an entry.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in sorted(found, key=itemgetter("cycle", "cluster", "rule")):
        key = itemgetter("cluster", "cycle", "open_point", "explained_by")(one)
        alike.setdefault(key, []).append(one["rule"])
    for (cluster, cycle, point, options), rules in alike.items():
        named = ", ".join(rules)
        yield from paragraph(f"{named} undecided, first in {cluster} at {cycle}", 2, "")
        yield from paragraph(cut(point, MAX_POINT_LENGTH), 2, width=WIDTH - 2)
        if options:
            yield from hint_lines(options)


def hint_lines(options: str) -> Iterator[str]:
    """Yield lines with the options that show more; an option and its value stay on one line."""
    kept = OPTION_AND_VALUE.sub(rf"\1{NO_BREAK}", options)
    yield from paragraph(f"see {kept}", 6, "  ")
