"""An audit of generated fleets finds the planted violations, under their rules, and no others."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import islice

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance import specs
from pulsar_conformance.audit.fleet import bundles, simulated
from pulsar_conformance.audit.fleet.plants.plants import (
    PLANTED_VIOLATIONS,
    readings_for,
    settings_for,
    strategy_for,
)
from pulsar_conformance.audit.fleet.size import Fleet
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.report import build_audit_tables
from pulsar_conformance.audit.verdicts.checks.registry import CHECKS
from pulsar_conformance.audit.verdicts.splits import SPLIT_JUDGES
from standins.sparks import spark

pytestmark = pytest.mark.spark
assert spark

PROFILE = "documented-3.0"
JAVA = "sample:java"
STRATEGIES = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder")
FLEET = Fleet(99, 4, 10, 5)
"""The fleet that determines the size of the histories; each is about one of its clusters."""

USUAL = tuple(
    rule for rule in PLANTED_VIOLATIONS if rule in CHECKS and not PLANTED_VIOLATIONS[rule].readings
)
TOGETHER = tuple(rule for rule in USUAL if not PLANTED_VIOLATIONS[rule].settings)
ALONE = tuple(rule for rule in USUAL if PLANTED_VIOLATIONS[rule].settings)
SPLITS = tuple(rule for rule in PLANTED_VIOLATIONS if rule in SPLIT_JUDGES)
OTHER_ALTERNATIVES = {
    "overload-amount": "one",
    "overload-scope": "all",
    "threshold-order": "traffic",
}


USUALLY = 2 * len(STRATEGIES)
"""The number of groups that need no special settings; `groups` yields them first."""


def groups():
    """Yield the strategy of each history, and the rules to break in it.

    First, no rule is broken; then, for each strategy, all of its rules that need no special
    settings; then each other rule alone.
    """
    yield from ((strategy, ()) for strategy in STRATEGIES)
    for strategy in STRATEGIES:
        yield strategy, tuple(one for one in TOGETHER if strategy_for([one], None) == strategy)
    for rule in (*ALONE, *SPLITS):
        yield strategy_for([rule], None), (rule,)


@pytest.fixture(scope="module")
def carried(spark):
    """Return the load of each bundle of a cluster, which is the same for all clusters."""
    one = replace(FLEET, clusters=1)
    rows = bundles.bundle_ranges(one, spark.session.range(one.initial_bundles))
    return simulated.simulated_bundles(one, rows).toPandas()


def written(carried, folder, histories, first=0, cycles=True):
    """Write histories; return the broken rules with the times of their cycles, by cluster."""
    folder.mkdir(exist_ok=True)
    expected = defaultdict(Counter)
    for number, (adapter, (strategy, rules)) in enumerate(histories, first):
        given, readings = settings_for(rules, {}), readings_for(rules, {})
        own = {"strategy": strategy, "given": given, "readings": readings, "cycles": cycles}
        fleet = replace(FLEET, **own)
        rows = simulated.simulate_history(fleet, number, carried, adapter, rules)
        kinds = zip(rows["kind"], rows["value"], strict=True)
        lines = []
        for kind, value in kinds:
            if kind.startswith("planted "):
                rule, at = kind.split()[1], json.loads(value)
                found = (rule, *PLANTED_VIOLATIONS[rule].implies)
                expected[at["cluster"]].update((one, at["at"]) for one in found)
            else:
                lines.append(value)
        assert len(expected[fleet.cluster(number)]) >= len(rules)
        (folder / f"{number}.json").write_text("\n".join(lines) + "\n")
    return expected


def verdicts(spark, folder, readings=None):
    """Audit the histories in a folder by the readings that their clusters follow; return cluster,
    cycle, rule and verdict of each row.
    """
    chosen = {**specs.load().default_readings(PROFILE), **(readings or {})}
    plan, output = AuditPlan.of(PROFILE, chosen), folder.with_name("audit")
    found = build_audit_tables(spark.session, str(folder), str(output), plan, None)["verdicts"]
    at = "date_format(cycle, \"yyyy-MM-dd'T'HH:mm:ss'Z'\")"
    return found.selectExpr("cluster", at, "rule", "verdict").collect()


def wrong(rows):
    """Return the broken rules with their cycles, by cluster.

    Check that only rules whose planted violations may be undecided are undecided.
    """
    found = defaultdict(Counter)
    for cluster, cycle, rule, verdict in rows:
        assert verdict != "undecided" or PLANTED_VIOLATIONS[rule].undecided_because, (
            cluster,
            cycle,
            rule,
        )
        if verdict != "allowed":
            found[cluster][rule, cycle] += 1
    return found


DECIDERS = [
    pytest.param(False, id="reference"),
    pytest.param(True, id="and Java", marks=pytest.mark.thorough),
]
"""Whether the Java sample decides as well; the usual tests below use only the reference."""


@pytest.fixture(scope="module", params=DECIDERS)
def audited(request, spark, carried, tmp_path_factory):
    """Audit histories with records of cycles, and histories without.

    For each kind, return the rules that every cluster breaks, and the rows of the verdicts.
    """
    folder = tmp_path_factory.mktemp("fleet") / "histories"
    of_each = {"reference": list(groups())}
    if request.param:
        of_each[JAVA] = list(islice(groups(), USUALLY))
    histories = [(adapter, group) for adapter, some in of_each.items() for group in some]
    honest = [(adapter, (strategy, ())) for adapter in of_each for strategy in STRATEGIES]
    told = written(carried, folder, histories)
    some = [*honest, *(("reference", one) for one in islice(groups(), len(STRATEGIES), USUALLY))]
    # A history's number is the seed of its draws; it is equal in usual and thorough tests.
    first = len(of_each["reference"]) + USUALLY
    untold = written(carried, folder, some, first=first, cycles=False)
    rows = verdicts(spark, folder)
    return {
        "with cycles": (told, [row for row in rows if row[0] not in untold]),
        "without": (untold, [row for row in rows if row[0] in untold]),
    }


def test_what_was_planted_is_found_and_nothing_else(audited):
    """Exactly the planted violations are found; some histories have none.

    The model decides; in thorough tests, the Java sample also decides histories with usual
    settings.
    """
    expected, rows = audited["with cycles"]
    assert wrong(rows) == {cluster: those for cluster, those in expected.items() if those}
    assert {cluster for cluster, *_ in rows} == set(expected)
    planted = {rule for those in expected.values() for rule, _ in those}
    assert planted == set(TOGETHER) | set(ALONE) | set(SPLITS)


def test_each_plant_is_found_or_says_why_none_is():
    told = {rule for rule, plant in PLANTED_VIOLATIONS.items() if plant.why_undetected(cycles=True)}
    assert told == set(PLANTED_VIOLATIONS) - set(CHECKS) - set(SPLIT_JUDGES) | {"SHED-03"}
    assert "may leave it undecided: " in PLANTED_VIOLATIONS["OVERLOAD-01"].why_undetected(
        cycles=False
    )
    assert PLANTED_VIOLATIONS["OVERLOAD-02"].why_undetected(cycles=False) == ""


def test_histories_without_cycles(audited):
    """In correct histories, no violation is found, and at most 5 % of the verdicts are undecided.

    Verdicts are undecided if they depend on the time within an interval at which a cycle ran. A
    planted violation is found, or undecided if its kind may be.
    """
    expected, rows = audited["without"]
    honest = {cluster for cluster, planted in expected.items() if not planted}
    assert len(honest) == len(expected) - len(STRATEGIES)
    found = Counter(verdict for cluster, *_, verdict in rows if cluster in honest)
    assert set(found) <= {"allowed", "undecided"}
    assert found["undecided"] <= 0.05 * found.total()
    assert {cluster for cluster, *_ in rows} == set(expected)
    accused = {tuple(row[:3]) for row in rows if row[3] not in ("allowed", "undecided")}
    planted = {(cluster, at, rule) for cluster in expected for rule, at in expected[cluster]}
    assert accused <= planted
    undone = {
        one
        for rule in PLANTED_VIOLATIONS
        if PLANTED_VIOLATIONS[rule].omits_due_action or PLANTED_VIOLATIONS[rule].undecided_because
        for one in (rule, *PLANTED_VIOLATIONS[rule].implies)
    }
    assert {rule for *_, rule in planted - accused} <= undone
    assert planted - accused <= {tuple(row[:3]) for row in rows if row[3] == "undecided"}


@pytest.mark.thorough
def test_rules_of_other_readings_are_found_under_them(spark, carried, tmp_path):
    """The Java sample does not shed overloaded brokers under every strategy, as SHED-08 demands."""
    one = ("OverloadShedder", ("OVERLOAD-05", "OVERLOAD-06"))
    everywhere = ("ThresholdShedder", ("SHED-08", "THRESHOLD-12"))
    histories = [("reference", one), (JAVA, one), ("reference", everywhere)]
    expected = written(carried, tmp_path / "histories", histories)
    assert wrong(verdicts(spark, tmp_path / "histories", OTHER_ALTERNATIVES)) == expected
    planted = {rule for those in expected.values() for rule, _ in those}
    assert {*planted, *USUAL} == {rule for rule in PLANTED_VIOLATIONS if rule in CHECKS}
