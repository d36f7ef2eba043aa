"""Histories of fleets are equal for equal seeds, consistent, and without violations unless some are
planted.
"""

import gzip
import json
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="needs the extra: nox -s spark")

from pulsar_conformance.audit.fleet import bundles, shape, simulated, writing
from pulsar_conformance.audit.fleet.cluster_history import ClusterHistory
from pulsar_conformance.audit.fleet.events import draw_events
from pulsar_conformance.audit.fleet.plants import moment
from pulsar_conformance.audit.fleet.plants.damage import KINDS
from pulsar_conformance.audit.fleet.plants.plants import (
    PLANTED_VIOLATIONS,
    THRESHOLD,
    readings_for,
    settings_for,
)
from pulsar_conformance.audit.fleet.size import (
    NO_ADAPTER,
    SHEDDING_ENABLED,
    START,
    Fleet,
    HistoryOptions,
)
from pulsar_conformance.conformance.commands.main import main
from pulsar_conformance.reference import reports
from standins.sparks import CORES, spark

pytestmark = pytest.mark.spark

assert spark

RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
SMALL = Fleet(2, 4, 6, 12)
JAVA = "sample:java"


def texts(spark, fleet, told):
    """Return the lines of a history, sorted."""
    rows = writing.record_lines(spark.session, fleet, told).select("value").collect()
    return sorted(row[0] for row in rows)


def records(lines):
    """Return the records in the lines, by kind."""
    found = defaultdict(list)
    for line in lines:
        record = json.loads(line)
        found[record["kind"]].append(record)
    return found


def seconds(record):
    return datetime.fromisoformat(record["at"]).timestamp() - START


@pytest.fixture(scope="module")
def lines(spark):
    """Return the lines of a history in which no implementation decides."""
    return texts(spark, SMALL, HistoryOptions(NO_ADAPTER))


@pytest.fixture(scope="module")
def undecided(lines):
    return records(lines)


@pytest.fixture(scope="module")
def decides(spark):
    return records(texts(spark, SMALL, HistoryOptions("reference")))


@pytest.fixture(params=["undecided", "decides"])
def told(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def carried(spark):
    """Return the loads of one cluster's bundles, from which its history is simulated."""
    fleet = Fleet(1, 4, 10, 12)
    rows = bundles.bundle_ranges(fleet, spark.session.range(fleet.initial_bundles))
    return simulated.simulated_bundles(fleet, rows).toPandas()


@pytest.mark.parametrize("by", [NO_ADAPTER, "reference"])
def test_the_same_seed_gives_the_same_records_however_the_work_is_divided(spark, by):
    told, found = HistoryOptions(by, damaged=0.1), []
    for tasks in ("1", "5"):
        spark.session.conf.set("spark.sql.shuffle.partitions", tasks)
        found.append(texts(spark, SMALL, told))
    spark.session.conf.set("spark.sql.shuffle.partitions", "2")
    assert found[0] == found[1]
    assert found[0] != texts(spark, Fleet(2, 4, 6, 12, seed=1), told)


def test_every_report_is_one_of_pulsar_and_its_sums_are_those_of_its_bundles(told):
    for record in told["load_report"]:
        said = record["report"]
        read = reports.read(said)
        assert read.manager == "modular"
        stats = said["lastStats"].values()
        sums = {name: sum(one[name] for one in stats) for name in RATES}
        assert {name: said[name] for name in RATES} == sums
        assert said["bundles"] == sorted(said["lastStats"])
        assert said["numTopics"] == sum(one["topics"] for one in stats)
        used = shape.resource_percents(SMALL.bundles, sums)
        for name, percent in used.items():
            usage = said[name]
            assert usage["usage"] / usage["limit"] * 100 == pytest.approx(percent)


def test_nobody_owns_a_bundle_twice_and_none_is_lost(told):
    owned = defaultdict(list)
    for record in told["load_report"]:
        period = seconds(record) // SMALL.period_seconds
        owned[record["cluster"], period] += record["report"]["bundles"]
    assert len(owned) == SMALL.clusters * SMALL.periods
    split = defaultdict(dict)
    for record in told["split"]:
        split[record["cluster"]][record["bundle"]] = seconds(record) // SMALL.period_seconds
    for (cluster, period), names in owned.items():
        assert len(names) == len(set(names))
        before = sum(when <= period for when in split[cluster].values())
        assert len(names) == SMALL.initial_bundles + before
        gone = {name for name, when in split[cluster].items() if when <= period}
        assert not gone & set(names)


def test_a_broker_that_was_assigned_a_bundle_reports_it_next(told):
    """Reports list the bundles that follow from the records `owners`, `assigned` and `split`."""
    actions = [*told["owners"], *told["assigned"], *told["split"]]
    for number in range(SMALL.clusters):
        cluster = SMALL.cluster(number)
        course = [one for one in actions if one["cluster"] == cluster]
        course += [one for one in told["load_report"] if one["cluster"] == cluster]
        owner = {}
        for record in sorted(course, key=seconds):
            if record["kind"] == "owners":
                owner = {b: broker for broker, names in record["owners"].items() for b in names}
            elif record["kind"] == "assigned":
                owner[record["bundle"]] = record["broker"]
            elif record["kind"] == "split":
                whole = owner.pop(record["bundle"])
                owner.update(dict.fromkeys(record["into"], whole))
            else:
                mine = [b for b, broker in owner.items() if broker == record["broker"]]
                assert record["report"]["bundles"] == sorted(mine)


def test_a_broker_that_is_down_says_nothing_and_comes_back_empty(undecided):
    for number in range(SMALL.clusters):
        events = draw_events(SMALL, number)
        assert events.restarts
        said = defaultdict(dict)
        for record in undecided["load_report"]:
            if record["cluster"] == SMALL.cluster(number):
                said[record["broker"]][seconds(record) // SMALL.period_seconds] = record["report"]
        for restart in events.restarts:
            name = SMALL.broker(restart.broker)
            down = [p for p in range(SMALL.periods) if restart.covers(p)]
            assert down
            assert not set(down) & set(said[name])
            if restart.up < SMALL.periods:
                assert said[name][restart.up]["bundles"] == []
            mine = (one for one in undecided["assigned"] if one["cluster"] == SMALL.cluster(number))
            moved = [one["broker"] for one in mine if seconds(one) // SMALL.period_seconds in down]
            assert len(moved) == len(said[name][restart.down - 1]["bundles"])
            assert name not in moved


def test_there_is_as_much_as_was_asked_for(told):
    down = [
        sum(restart.covers(period) for period in range(SMALL.periods))
        for number in range(SMALL.clusters)
        for restart in draw_events(SMALL, number).restarts
    ]
    whole = SMALL.clusters * SMALL.brokers * SMALL.periods
    assert len(told["load_report"]) == whole - sum(down)
    led = sum(len(draw_events(SMALL, number).leaders) - 1 for number in range(SMALL.clusters))
    assert len(told["cycle"]) == SMALL.clusters * SMALL.periods - led
    assert len(told["leader"]) == SMALL.clusters + led
    assert {record["cluster"] for record in told["owners"]} == {"fleet-1", "fleet-2"}


def test_bundles_carry_the_same_whichever_implementation_decides(undecided, decides):
    def loads(told):
        return {
            (record["cluster"], seconds(record) // SMALL.period_seconds, name): [
                one[r] for r in RATES
            ]
            for record in told["load_report"]
            for name, one in record["report"]["lastStats"].items()
        }

    assert loads(undecided) == loads(decides)


def test_the_first_grace_period_is_not_the_last(told):
    graces = [one["settings"]["loadBalancerSheddingGracePeriodMinutes"] for one in told["settings"]]
    assert Counter(graces) == {30: SMALL.clusters, 20: SMALL.clusters}


def test_without_a_decision_nothing_is_unloaded_and_shedding_is_off(tmp_path, capsys):
    words = ["--clusters", "1", "--brokers", "3", "--bundles", "2", "--hours", "1"]
    path = tmp_path / "fleet"
    words += ["--decided-by", "none", "--spark", CORES, "--output", str(path), "--no-cycles"]
    assert main(["fleet", *words]) == 0
    shown = capsys.readouterr().out
    lines = [line for file in path.glob("part-*") for line in file.read_text().splitlines()]
    assert f"{len(lines)} lines" in shown
    found = records(lines)
    assert not found["unloaded"]
    assert not found["cycle"]
    assert not any(one["settings"]["loadBalancerSheddingEnabled"] for one in found["settings"])


@pytest.mark.parametrize("part", [0.05, 0.3])
def test_damaged_lines_are_copies_beside_the_whole_ones(spark, lines, part):
    whole = Counter(lines)
    both = Counter(texts(spark, SMALL, HistoryOptions(NO_ADAPTER, damaged=part)))
    assert not whole - both
    damaged = both - whole
    assert damaged.total() / both.total() == pytest.approx(part, abs=0.02)
    if part > 0.1:
        assert sum(line in whole for line in damaged) > 0  # These lines are recorded again.
        assert sum('"kind":"old_' in line for line in damaged) > 0
        assert sum("NaN" in line for line in damaged) > 0
        assert len(KINDS) == 11


@pytest.mark.parametrize("form", ["gzip", "parquet"])
def test_other_formats_hold_the_same_lines(spark, tmp_path, form):
    fleet = Fleet(1, 3, 2, 1)
    path = str(tmp_path / "fleet")
    written = writing.write_history(
        spark.session, fleet, HistoryOptions(NO_ADAPTER, format=form), path
    )
    read = spark.session.read
    rows = read.parquet(path) if form == "parquet" else read.text(path)
    assert sorted(row[0] for row in rows.collect()) == texts(
        spark, fleet, HistoryOptions(NO_ADAPTER)
    )
    assert written.lines == rows.count()


def course(fleet, carried, adapter, planted=()):
    """Return the cases and decisions of a history, and its rows."""
    found, asked = [], ClusterHistory.ask_adapter

    def ask(self, case):
        pairs = asked(self, case)
        found.append((case, pairs))
        return pairs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClusterHistory, "ask_adapter", ask)
        rows = simulated.simulate_history(fleet, 0, carried, adapter, planted)
    return found, list(rows.itertuples(index=False, name=None))


@pytest.mark.parametrize("adapter", ["reference", JAVA])
@pytest.mark.parametrize("strategy", ["ThresholdShedder", "OverloadShedder", "UniformLoadShedder"])
def test_a_history_without_violations_breaks_no_rule(carried, strategy, adapter):
    found, rows = course(Fleet(1, 4, 10, 12, strategy=strategy), carried, adapter)
    cycles = sum(kind == "cycle" for kind, _ in rows)
    assert len(found) == cycles
    assert any(pairs for _, pairs in found)
    for case, pairs in found:
        assert moment.PlantedCycle(case, "documented-3.0", {}, list).broken_rules(pairs) == set()
    unloaded = sum(
        kind == "unloaded" and json.loads(line)["cause"] == "shedding" for kind, line in rows
    )
    assert unloaded == sum(len(pairs) for _, pairs in found)


@pytest.mark.parametrize("rule", PLANTED_VIOLATIONS)
def test_each_rule_can_be_broken_in_one_cycle(carried, rule):
    strategy = (PLANTED_VIOLATIONS[rule].strategies or (THRESHOLD,))[0]
    given, readings = settings_for([rule], {}), readings_for([rule], {})
    fleet = Fleet(1, 4, 10, 12, strategy=strategy, given=given, readings=readings)
    _, rows = course(fleet, carried, "reference", [rule])
    assert [kind for kind, _ in rows if kind.startswith("planted")] == [f"planted {rule}"]


def test_several_rules_are_broken_one_after_the_other(carried):
    rules = ["SHED-02", "SHED-04", "THRESHOLD-03", "SPLIT-06"]
    _, rows = course(Fleet(1, 4, 10, 12), carried, "reference", rules)
    notes = [(kind, json.loads(text)["at"]) for kind, text in rows if kind.startswith("planted")]
    assert [kind for kind, _ in notes] == [f"planted {rule}" for rule in rules]
    assert len({at for _, at in notes}) == len(rules)


GIVEN = ["--clusters", "1", "--brokers", "3", "--bundles", "2", "--hours", "1", "--spark", CORES]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--brokers", "0"], "--brokers 0: give 1 or more"),
        (["--report-minutes", "0"], "--report-minutes 0: give 1 or more"),
        (["--interval", "7"], "--interval 7: it is not a multiple of --report-minutes 5"),
        (["--interval", "25"], "--interval 25: 1 hours are not a whole number of such intervals"),
        (["--damage", "0.9"], "--damage 0.9: give a share from 0 to 0.5"),
        (["--damage", "nan"], "--damage nan: give a share from 0 to 0.5"),
        (
            ["--plant", "SHED-99"],
            "--plant SHED-99: violations of this rule cannot be planted; choose from SHED-01,",
        ),
        (
            ["--plant", "SHED-02", "--decided-by", "none"],
            "--plant SHED-02: it needs an implementation that decides; give one, such as",
        ),
        (
            ["--plant", "OVERLOAD-01", "--strategy", "ThresholdShedder"],
            "--plant OVERLOAD-01: it needs --strategy OverloadShedder, not ThresholdShedder",
        ),
        (
            ["--plant", "THRESHOLD-09", "--setting", "lowerBoundarySheddingEnabled=false"],
            "--plant THRESHOLD-09: it needs --setting lowerBoundarySheddingEnabled=True",
        ),
        (["--decided-by", "spark"], "--decided-by spark: it cannot run within the Spark session"),
        (
            ["--decided-by", JAVA, "--plant", "SHED-08"],
            "--decided-by sample:java: it follows overload-scope=overload-shedder, not all",
        ),
        (["--decided-by", "nobody"], "'nobody' is not an adapter"),
        (["--setting", "noSuch=1"], "noSuch"),
        (
            ["--reading", "window=fading"],
            "--reading window=fading: the averages of a fleet always",
        ),
        (["--reading", "window"], "--reading window: write NAME=VALUE"),
        (
            ["--plant", "OVERLOAD-05", "--reading", "overload-amount=margin"],
            "--plant OVERLOAD-05: it needs --reading overload-amount=one",
        ),
        (
            ["--setting", "loadBalancerBrokerThresholdShedderPercentage="],
            "--decided-by: the answer to a cycle is not a list of unloads",
        ),
    ],
)
def test_what_cannot_be_is_reported_in_one_sentence(words, said, tmp_path, capsys):
    path = str(tmp_path / "fleet")
    assert main(["fleet", *GIVEN, "--output", path, *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert "Traceback" not in shown


def test_a_folder_that_is_there_is_left_alone(tmp_path, capsys):
    (tmp_path / "kept").write_text("mine")
    assert main(["fleet", *GIVEN, "--output", str(tmp_path)]) == 2
    assert "the folder is not empty; give another folder" in capsys.readouterr().err
    assert (tmp_path / "kept").read_text() == "mine"
    assert main(["fleet", *GIVEN, "--output", str(tmp_path / "kept" / "new")]) == 2
    assert "one of its parent folders is a file" in capsys.readouterr().err


def test_the_history_that_comes_with_the_project_is_what_the_page_says(spark):
    """The command in the guide gives the lines in the file."""
    file = Path(__file__).parents[2] / "fixtures" / "history" / "fleet-1.json.gz"
    told = HistoryOptions("reference", ("SHED-04",), 0.02)
    made = writing.record_lines(
        spark.session, Fleet(1, 4, 10, 6, given={SHEDDING_ENABLED: True}), told
    )
    rows = made.where("kind != 'planted SHED-04'").select("value").collect()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        assert sorted(lines.read().splitlines()) == sorted(row[0] for row in rows)
