"""In histories written by hand, right decisions pass, and violations that are certain are found."""

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from standins.sparks import spark

pytestmark = pytest.mark.spark

assert spark

PROFILE = "documented-3.0"
START = datetime(2026, 11, 20, tzinfo=UTC)
MEGABYTE = 1_000_000
SETTINGS = {
    "loadBalancerSheddingEnabled": True,
    "loadBalancerBrokerOverloadedThresholdPercentage": 85,
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerHistoryResourcePercentage": 0,
    "loadBalancerMsgRateDifferenceShedderThreshold": 50,
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 4,
    "loadBalancerSheddingGracePeriodMinutes": 30,
    "loadBalancerSheddingIntervalMinutes": 5,
    "lowerBoundarySheddingEnabled": False,
}
HISTORIES = [
    one
    for file in sorted(Path(__file__).parents[1].joinpath("histories").glob("*.yaml"))
    for one in yaml.safe_load(file.read_text("utf-8"))
]
WRONG = ("violated", "not done though due")


def bundle(word):
    """Return a bundle's name: `3` is a bundle, `3a` and `3b` are its halves, and `n3` is in another
    namespace.
    """
    space, number = ("other", word[1:]) if word[0] == "n" else ("ns", word)
    half = number[-1] if number[-1] in "ab" else ""
    first = int(number.removesuffix(half)) * 16
    ends = {"": (first, first + 16), "a": (first, first + 8), "b": (first + 8, first + 16)}[half]
    low, high = ends
    return f"t/{space}/0x{low:08x}_0x{high:08x}"


def bundles(words):
    """Yield bundle names and MB/s for words such as `0-3`, `7` or `5=40`; default: number + 1."""
    for word in words:
        number, _, rate = word.partition("=")
        first, _, last = number.partition("-")
        for one in [str(n) for n in range(int(first), int(last) + 1)] if last else [first]:
            weight = int("".join(filter(str.isdigit, one))) + 1
            yield bundle(one), float(rate or weight)


def report(words):
    """Return a report: `50 0-3 3/1001` means 50 % of CPU, four bundles, and 1001 topics in one."""
    percent, *carried = words
    topics = dict(word.split("/") for word in carried if "/" in word)
    carried = [word.partition("/")[0] for word in carried]
    topics = {bundle(word.partition("=")[0]): int(count) for word, count in topics.items()}
    stats = {}
    for name, megabytes in bundles(carried):
        stats[name] = {
            "msgRateIn": megabytes,
            "msgRateOut": 0,
            "msgThroughputIn": megabytes * MEGABYTE,
            "msgThroughputOut": 0,
            "topics": topics.get(name, 1),
        }
    sums = {
        name: sum(one[name] for one in stats.values())
        for name in ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
    }
    limit = {"usage": 0, "limit": 100}
    used = {"cpu": {"usage": float(percent), "limit": 100}, "memory": limit, "directMemory": limit}
    used |= {"bandwidthIn": limit, "bandwidthOut": limit}
    return {"report": {**used, **sums, "bundles": list(stats), "lastStats": stats}}


def said(event):
    """Yield the records of one event, such as `b1 unloads 3 admin`."""
    words = event.split()
    match words:
        case ["cycle"]:
            yield {"kind": "cycle"}
        case ["leads", broker]:
            yield {"kind": "leader", "broker": f"{broker}:8080", "anew": False}
        case ["leader", broker]:
            yield {"kind": "leader", "broker": f"{broker}:8080"}
        case ["split", one, *cause]:
            into = [bundle(f"{one}a"), bundle(f"{one}b")]
            told = {"cause": cause[0]} if cause else {}
            yield {"kind": "split", "bundle": bundle(one), "into": into, **told}
        case ["assigned", one, broker]:
            yield {"kind": "assigned", "bundle": bundle(one), "broker": f"{broker}:8080"}
        case ["owners", broker, *owned]:
            names = [name for name, _ in bundles(owned)]
            yield {"kind": "owners", "owners": {f"{broker}:8080": names}}
        case [broker, "unloads", *gone]:
            cause = {"cause": gone.pop()} if gone[-1].isalpha() else {}
            for one in gone:
                name = {"bundle": bundle(one), "broker": f"{broker}:8080"}
                yield {"kind": "unloaded", **name, **cause}
        case [broker, *told]:
            yield {"kind": "load_report", "broker": f"{broker}:8080", **report(told)}


def records(history):
    """Yield the records of a history; the records of one event are a millisecond apart."""
    cluster = history["name"]
    begun = history.get("leader", START)
    if begun is not None:
        at = begun.astimezone(UTC).isoformat()
        yield {"kind": "leader", "cluster": cluster, "at": at, "broker": "b1:8080"}
    if history.get("settings", {}) is not None:
        strategy = {"loadBalancerLoadSheddingStrategy": history.get("strategy", "OverloadShedder")}
        given = {**SETTINGS, **strategy, **history.get("settings", {})}
        settings = {name: value for name, value in given.items() if value is not None}
        at = START.isoformat()
        yield {"kind": "settings", "cluster": cluster, "at": at, "settings": settings}
    for one in history["events"]:
        for minutes, event in one.items():
            for minute in str(minutes).split(","):
                at = START + timedelta(minutes=float(minute))
                for place, record in enumerate(said(event)):
                    time = at + timedelta(milliseconds=place)
                    yield {"cluster": cluster, "at": time.isoformat(), **record}


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    """Audit all histories together, each as a cluster; return rows by table and cluster."""
    folder = tmp_path_factory.mktemp("histories")
    lines = [json.dumps(one) for history in HISTORIES for one in records(history)]
    (folder / "history").mkdir()
    (folder / "history" / "all.json").write_text("\n".join(lines) + "\n")
    # The histories of test_spark_audit_kinds.py are judged by open readings.
    plan = AuditPlan.of(PROFILE, specs.load().default_readings(PROFILE))
    made = build_audit_tables(
        spark.session, str(folder / "history"), str(folder / "audit"), plan, None
    )
    assert made["quarantine"].collect() == []
    found = defaultdict(list)
    for table in ("verdicts", "unloads"):
        for row in made[table].collect():
            found[table, row["cluster"]].append(row)
    return found


def minute(time):
    return round((time.replace(tzinfo=UTC) - START) / timedelta(minutes=1), 3)


def by_cycle(rows, verdicts):
    found = defaultdict(set)
    for row in rows:
        if row["verdict"] in verdicts:
            found[minute(row["cycle"])].add(row["rule"])
    return found


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history["name"])
def test_what_is_wrong_is_found_and_nobody_else_is_accused(audited, history):
    rows = audited["verdicts", history["name"]]
    wrong = {float(at): set(rules) for at, rules in history.get("wrong", {}).items()}
    shown = [tuple(row) for row in rows if row["verdict"] != "allowed"]
    assert by_cycle(rows, WRONG) == wrong, shown
    undecided = by_cycle(rows, ("undecided",))
    for at, rules in history.get("undecided", {}).items():
        assert set(rules) <= undecided[float(at)], shown
    assert not undecided.keys() & set(history.get("certain", ())), shown
    for rule, root in history.get("follows", {}).items():
        assert {row["follows"] for row in rows if row["rule"] == rule and row["follows"]} == {root}


@pytest.mark.parametrize(
    "history", [one for one in HISTORIES if "causes" in one], ids=lambda history: history["name"]
)
def test_causes_are_reported(audited, history):
    rows = audited["unloads", history["name"]]
    for at, cause in history["causes"].items():
        told = {row["cause"] for row in rows if abs(minute(row["at"]) - float(at)) < 0.01}
        assert told == {cause}, rows


def test_there_are_as_many_histories_as_names():
    names = [one["name"] for one in HISTORIES]
    assert len(names) == len(set(names)) >= 60
