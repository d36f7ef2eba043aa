"""From a fleet to the verdicts on it: what was planted is found, under its rule, and no more."""

import json
from collections import Counter, defaultdict
from dataclasses import replace

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.conformance.audit import checks
from pulsar_conformance.conformance.audit.checks.registry import CHECKS
from pulsar_conformance.conformance.audit.plan import Plan
from pulsar_conformance.conformance.audit.report import tables
from pulsar_conformance.conformance.fleet import bundles, decided
from pulsar_conformance.conformance.fleet.plants import PLANTS, settings_for, strategy_for
from pulsar_conformance.conformance.fleet.size import Fleet
from standins.sparks import spark

assert checks.__all__
assert spark

PROFILE = "documented-3.0"
ADAPTERS = ("reference", "sample:java")
STRATEGIES = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder")
ROOM = Fleet(99, 4, 10, 8)
"""Each history is a cluster of its own."""

TOGETHER = tuple(rule for rule in PLANTS if not PLANTS[rule].settings and rule in CHECKS)
ALONE = tuple(rule for rule in PLANTS if PLANTS[rule].settings and rule in CHECKS)


def groups():
    """Rules that are broken in one history: those of a strategy, and each that needs settings."""
    yield from ((strategy, ()) for strategy in STRATEGIES)
    for strategy in STRATEGIES:
        yield strategy, tuple(one for one in TOGETHER if strategy_for([one], None) == strategy)
    for rule in ALONE:
        yield strategy_for([rule], None), (rule,)


@pytest.fixture(scope="module")
def carried(spark):
    """What the bundles of a cluster carry: of each, since it is the same for all of them."""
    one = replace(ROOM, clusters=1)
    rows = bundles.whole(one, spark.session.range(one.of_cluster))
    return decided.carried(one, rows).toPandas()


def written(carried, folder, histories, cycles):
    """Histories as files; the rules that each cluster breaks, by the time of the cycle."""
    folder.mkdir()
    expected = defaultdict(Counter)
    for number, (adapter, (strategy, rules)) in enumerate(histories):
        given = settings_for(rules, {})
        fleet = replace(ROOM, strategy=strategy, given=given, cycles=cycles)
        rows = decided.history(fleet, number, carried, adapter, rules)
        kinds = zip(rows["kind"], rows["value"], strict=True)
        lines = []
        for kind, value in kinds:
            if kind.startswith("planted "):
                rule, at = kind.split()[1], json.loads(value)
                found = (rule, *PLANTS[rule].also)
                expected[at["cluster"]].update((one, at["at"]) for one in found)
            else:
                lines.append(value)
        assert len(expected[fleet.cluster(number)]) >= len(rules)
        (folder / f"{number}.json").write_text("\n".join(lines) + "\n")
    return expected


def verdicts(spark, source, output):
    """Cluster, cycle, rule and verdict of each row."""
    found = tables(spark.session, str(source), str(output), Plan.of(PROFILE), None)["verdicts"]
    at = "date_format(cycle, \"yyyy-MM-dd'T'HH:mm:ss'Z'\")"
    return found.selectExpr("cluster", at, "rule", "verdict").collect()


def test_what_was_planted_is_found_and_nothing_else(spark, carried, tmp_path):
    """Decided by the model, and by the Java sample; the honest ones are among them."""
    histories = [(adapter, group) for adapter in ADAPTERS for group in groups()]
    expected = written(carried, tmp_path / "histories", histories, cycles=True)
    rows = verdicts(spark, tmp_path / "histories", tmp_path / "audit")
    assert "undecided" not in {verdict for *_, verdict in rows}
    found = defaultdict(Counter)
    for cluster, cycle, rule, verdict in rows:
        if verdict != "allowed":
            found[cluster][rule, cycle] += 1
    assert found == {cluster: those for cluster, those in expected.items() if those}
    assert {cluster for cluster, *_ in rows} == set(expected)
    planted = {rule for those in expected.values() for rule, _ in those}
    assert planted == set(TOGETHER) | set(ALONE)


def test_honest_histories_without_cycles_are_found_honest(spark, carried, tmp_path):
    """Few verdicts depend on when within an interval a cycle ran."""
    histories = [(adapter, (strategy, ())) for adapter in ADAPTERS for strategy in STRATEGIES]
    expected = written(carried, tmp_path / "histories", histories, cycles=False)
    rows = verdicts(spark, tmp_path / "histories", tmp_path / "audit")
    found = Counter(verdict for *_, verdict in rows)
    assert set(found) <= {"allowed", "undecided"}
    assert found["undecided"] <= 0.05 * found.total()
    assert {cluster for cluster, *_ in rows} == set(expected)
