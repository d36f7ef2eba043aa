"""Smoothed usage over many cycles equals usage that is smoothed cycle by cycle."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import isnan
from random import Random

import pytest
from pulsar_conformance.audit.pipeline.plan import AuditPlan, Silver
from pulsar_conformance.audit.pipeline.tables import SILVER, TABLES
from pulsar_conformance.audit.tables.last_reports import last_reports
from pulsar_conformance.audit.tables.usages import BLOCK, NAME, usage_after_cycles, usages
from standins.sparks import audit_session, spark

pytestmark = pytest.mark.spark

assert spark
assert audit_session

START = datetime(2026, 11, 20, tzinfo=UTC)
ROWS = (
    "cluster string, broker string, since timestamp, back timestamp, cycle timestamp, "
    "present double, kept double"
)


def by_hand(items):
    """Return the usage after each cycle; NaN if the share of earlier usage is unknown."""
    now, after = None, []
    for present, kept in items:
        if now is None or kept == 0:
            now = present
        elif kept is None:
            now = float("nan")
        else:
            now = now * kept + present * (1 - kept)
        after.append(now)
    return after


COURSES = {
    "always": lambda _random, _nth: 0.9,
    "never": lambda _random, _nth: 0.0,
    "changed": lambda random, _nth: random.choice([0.0, 0.5, 0.9, 1.0]),
    "unknown": lambda _random, _nth: None,
    "unknown-once": lambda _random, nth: None if nth == BLOCK + 3 else 0.5,
    "unknown-until-forgotten": lambda _random, nth: None if nth < 5 else 0.0 if nth == 9 else 0.5,
}


@pytest.mark.parametrize("length", [1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_history_is_carried_over_blocks_of_cycles(spark, length):
    random, rows, expected = Random(length), [], {}
    for name, share in COURSES.items():
        items = [(random.uniform(0, 100), share(random, nth)) for nth in range(length)]
        expected[name] = by_hand(items)
        for nth, (present, kept) in enumerate(items):
            cycle = START + timedelta(minutes=nth)
            rows.append(("c", name, START, START, cycle, present, kept))
    random.shuffle(rows)
    found = usage_after_cycles(spark.session.createDataFrame(rows, ROWS)).orderBy("broker", "cycle")
    carried = {name: [] for name in COURSES}
    for row in found.collect():
        carried[row["broker"]].append(row["after"])
    for name, after in expected.items():
        assert len(carried[name]) == length
        for mine, told in zip(after, carried[name], strict=True):
            assert isnan(mine) == isnan(told), name
            assert isnan(mine) or told == pytest.approx(mine, abs=1e-9), name


SHARE = "loadBalancerHistoryResourcePercentage"
WEIGHTS = {
    f"loadBalancer{resource}ResourceWeight": "1.0"
    for resource in ("CPU", "Memory", "DirectMemory", "BandwithIn", "BandwithOut")
}
SHARES = ("0.9", "0.9", "0.0", "0.5", None, "0.9", "0.9", "0.0", "0.9")
"""The share of earlier usage in each cycle; None if it is not recorded."""

BEFORE, NEXT = timedelta(minutes=2), timedelta(minutes=1)
EVERY, AGAIN = timedelta(minutes=10), 5
"""The time between cycles, and the number of the first cycle of another leader."""


def frame(session, table, rows):
    schema = TABLES[table].schema
    names = session.createDataFrame([], schema).columns
    return session.createDataFrame([[row.get(name) for name in names] for row in rows], schema)


@pytest.fixture(scope="module")
def recorded(audit_session):
    """Return reports and cycles; most brokers report between the two moments of each cycle."""
    random, cycles, samples = Random(9), [], []
    for nth, share in enumerate(SHARES):
        cycle = START + EVERY * nth
        shared = {"cluster": "c", "day": cycle.date()}
        since = START + EVERY * AGAIN if nth >= AGAIN else START
        settings = WEIGHTS | ({SHARE: share} if share is not None else {})
        moments = [cycle, cycle + 2 * NEXT]
        cycles.append(
            {**shared, "cycle": cycle, "moments": moments, "since": since, "settings": settings}
        )
        for broker in "abc":
            if random.random() < 0.2:
                continue
            for at in (cycle - BEFORE, cycle + NEXT):
                percent = tuple(100 * random.random() for _ in range(5))
                sample = {**shared, "at": at, "broker": broker, "percent": percent}
                rates = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
                samples.append({**sample, **dict.fromkeys(rates, 1.0), "bundles": []})
    tables = {"broker_samples": samples}
    silver = Silver(**{one: frame(audit_session, one, tables.get(one, [])) for one in SILVER})
    made = {"cycles": frame(audit_session, "cycles", cycles)}
    plan = AuditPlan.of("documented-2.10")
    return silver, {**made, "last_reports": last_reports(silver, made, plan)}


def table(rows):
    """Return rows with the column `day`, which rows have after they were written and read back."""
    return rows.selectExpr("*", "to_date(cycle) as day")


def plain(value):
    if isinstance(value, float):
        return f"{value:.10g}"
    return list(map(plain, value)) if isinstance(value, tuple) else value


def known(rows):
    names = sorted(rows.columns)
    return sorted(repr(plain(tuple(row[name] for name in names))) for row in rows.collect())


CUTS = [
    pytest.param(number, marks=() if number == 1 else pytest.mark.thorough)
    for number in range(len(SHARES))
]
"""Cycles from which an audit continues; ordinary runs try the one after the first share."""


@pytest.mark.parametrize("number", CUTS)
def test_a_leader_goes_on_from_what_it_remembers(recorded, number):
    silver, made = recorded
    plan, since = AuditPlan.of("documented-2.10"), START + EVERY * number
    whole = usages(silver, made, plan)
    earlier = table(whole).where(f"cycle < '{since.isoformat()}'")
    later = usages(silver, {**made, NAME: earlier}, replace(plan, since=since))
    assert known(later) == known(whole.where(f"cycle >= '{since.isoformat()}'"))


BACK = (START + EVERY * 3).replace(tzinfo=None)
"""The cycle in which a broker is back, as Spark returns it."""


def without(made, broker, number):
    """Return the tables, with last reports that lack a broker in one cycle."""
    gone = f"broker = '{broker}' and cycle = '{(START + EVERY * number).isoformat()}'"
    return {**made, "last_reports": made["last_reports"].where(f"not ({gone})")}


@pytest.mark.parametrize("number", [3, 4])
def test_a_leader_forgets_a_broker_that_was_away(recorded, number):
    """The broker is away in the third cycle; the audit continues from the next or a later one."""
    silver, made = recorded[0], without(recorded[1], "b", 2)
    plan, since = AuditPlan.of("released-4.2"), START + EVERY * number
    whole = usages(silver, made, plan)
    returned = whole.where("back > since").select("broker", "cycle", "before", "back").collect()
    assert {(row["broker"], row["back"]) for row in returned} == {("b", BACK)}
    assert all((row["before"] is None) == (row["cycle"] == row["back"]) for row in returned)
    earlier = table(whole).where(f"cycle < '{since.isoformat()}'")
    later = usages(silver, {**made, NAME: earlier}, replace(plan, since=since))
    assert known(later) == known(whole.where(f"cycle >= '{since.isoformat()}'"))


@pytest.mark.parametrize("profile", ["documented-4.2", "released-2.10"])
def test_documents_and_former_releases_keep_what_was_known_of_it(recorded, profile):
    silver, made = recorded[0], without(recorded[1], "b", 2)
    rows = usages(silver, made, AuditPlan.of(profile)).where("broker = 'b' and moment = cycle")
    found = {row["cycle"]: row for row in rows.collect()}
    back = found[BACK]
    assert back["back"] == back["since"]
    assert back["before"] is not None
    if profile == "documented-4.2":
        assert back["upper"] - back["used"] == pytest.approx(0.5 * 100)


def test_what_is_remembered_counts(recorded):
    silver, made = recorded
    plan, since = AuditPlan.of("documented-2.10"), START + EVERY
    whole = usages(silver, made, plan)
    later = usages(silver, {**made, NAME: table(whole).limit(0)}, replace(plan, since=since))
    assert known(later) != known(whole.where(f"cycle >= '{since.isoformat()}'"))
