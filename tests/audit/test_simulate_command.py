"""The command `simulate`: comparisons, sweeps, pages, real clusters and mistakes."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from pulsar_conformance.audit.commands.simulate import variants_of
from pulsar_conformance.audit.simulation.course import BundleMove
from pulsar_conformance.audit.simulation.page import write_simulation_page
from pulsar_conformance.audit.simulation.starts import Start
from pulsar_conformance.audit.simulation.variants import Variant, simulate_worlds
from pulsar_conformance.audit.simulation.worlds import named_world
from pulsar_conformance.conformance.commands.main import main, parser_of

GUIDES = Path(__file__).parents[2] / "reports/site/guides"

HISTORY = "loadBalancerHistoryResourcePercentage"
NEWEST = "released-3.0"


def run(capsys, *words):
    status = main(["simulate", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_comparison_has_a_row_for_each_variant_and_a_column_for_each_world(capsys):
    status, out, _ = run(
        capsys,
        *("--world", "ninety-ten", "--world", "five-and-idle", "--cycles", "60"),
        *("--profile", NEWEST, "--setting", f"{HISTORY}=0"),
        *("--compare", "strategy=ThresholdShedder", "--compare", "strategy=OverloadShedder"),
    )
    assert status == 0
    rows = [line.split() for line in out.splitlines()[2:4]]
    assert rows == [
        ["ThresholdShedder", "4", "in", "1", "0"],
        ["OverloadShedder", "1", "in", "1", "0"],
    ]
    assert max(map(len, out.splitlines())) <= 80


def test_the_world_of_a_public_issue_gives_the_table_shown(capsys, tmp_path):
    guide = (GUIDES / "what-if.md").read_text("utf-8")
    [(world, line, shown)] = re.findall(
        r"```yaml few-messages.yaml\n(.*?)```.*?```sh\n(.*?)```.*?```text\n(.*?)```",
        guide,
        re.DOTALL,
    )
    file = tmp_path / "few-messages.yaml"
    file.write_text(world, "utf-8")
    words = line.replace("few-messages.yaml", str(file)).split()[2:]
    _, out, _ = run(capsys, *words)
    assert out.startswith(shown)


# By --setting and in a file of a world, a setting that no document names counts in the same way.
@pytest.mark.parametrize("profile", ["released-3.0", "released-4.2"])
def test_a_world_of_a_file_keeps_its_undocumented_settings(capsys, tmp_path, profile):
    file = tmp_path / "quiet.yaml"
    data = {"brokers": [{"bundles": 12, "usage": 60, "capacity": 10}, {"bundles": 0, "usage": 0}]}
    words = ("--world", str(file), "--strategy", "UniformLoadShedder", "--cycles", "20")
    words = (*words, "--profile", profile, "--json")
    floors = {"minUnloadMessage": 0, "minUnloadMessageThroughput": 0}
    file.write_text(json.dumps({**data, "settings": floors}), "utf-8")
    _, written, _ = run(capsys, *words)
    file.write_text(json.dumps(data), "utf-8")
    by_option = [word for name in floors for word in ("--setting", f"{name}=0")]
    _, given, _ = run(capsys, *words, *by_option)
    _, without, _ = run(capsys, *words)
    of_file, of_option, none = (json.loads(out)[0]["unloads"] for out in (written, given, without))
    assert of_file == of_option > 0
    assert none == 0


def test_the_conf_of_a_real_cluster_keeps_its_undocumented_settings(capsys, tmp_path):
    reports = Path(__file__).parents[2] / "fixtures/reports/three-brokers/modular"
    conf = tmp_path / "broker.conf"
    words = ("--reports", str(reports), "--strategy", "ThresholdShedder", "--cycles", "3", "--json")
    words = (*words, "--conf", str(conf), "--setting", "loadBalancerHistoryResourcePercentage=0")
    found = []
    for floor in (0, 100_000):
        conf.write_text(f"loadBalancerBundleUnloadMinThroughputThreshold={floor}\n", "utf-8")
        _, out, _ = run(capsys, *words)
        found.append(json.loads(out)[0]["unloads"])
    assert found[0] > found[1] == 0


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"minUnloadMesage": 0}, "minUnloadMesage is not a setting; did you mean minUnloadMessage"),
        ({"minUnloadMessage": "many"}, "minUnloadMessage=many: it takes a whole number"),
        ({"lowerBoundarySheddingEnabled": 3}, "lowerBoundarySheddingEnabled=3: it takes"),
    ],
)
def test_a_wrong_setting_of_a_world_is_reported(capsys, tmp_path, setting, problem):
    file = tmp_path / "wrong.yaml"
    data = {"brokers": [{"bundles": 2, "usage": 60}], "settings": setting}
    file.write_text(json.dumps(data), "utf-8")
    status, out, err = run(capsys, "--world", str(file))
    assert (status, out) == (2, "")
    assert f"wrong: settings: {problem}" in err


def test_releases_are_compared_by_their_profiles(capsys):
    words = ("--world", "two-sizes", "--cycles", "80", "--compare", f"profile={NEWEST}")
    _, out, _ = run(capsys, *words)
    rows = [line.split() for line in out.splitlines() if "→" in line]
    assert [row[-8] for row in rows] == ["9", "ongoing"]


def test_a_sweep_has_a_row_for_each_value(capsys):
    threshold = "loadBalancerBrokerThresholdShedderPercentage"
    words = ("--world", "newcomer", "--cycles", "40", "--sweep", f"{threshold}=10..30/10")
    status, out, _ = run(capsys, *words)
    assert status == 0
    rows = [line.split()[:3] for line in out.splitlines() if line.strip()[:3] in ("10 ", "20 ")]
    assert len(rows) == 2


def test_json_has_the_measures_and_every_move(capsys):
    words = ("--world", "ninety-ten", "--cycles", "50", "--json", "--moves", "--profile", NEWEST)
    status, out, _ = run(capsys, *words, "--setting", f"{HISTORY}=0")
    [course] = json.loads(out)
    assert status == 0
    assert (course["unloads"], course["rest"]) == (4, 1)
    assert len(course["moves"]) == 4
    assert course["usage_last"] == {"broker-1": 54.0, "broker-2": 46.0}


def test_a_page_has_a_line_for_each_broker(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert run(capsys, "--world", "newcomer", "--cycles", "20", "--page", str(page))[0] == 0
    text = page.read_text("utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert [one["name"] for one in data["clusters"][0]["brokers"]] == [
        f"broker-{number}" for number in (1, 2, 3, 4)
    ]
    assert data["clusters"][0]["ends"][3][1] == "down"
    assert data["clusters"][0]["average"][0] == 72
    assert data["clusters"][0]["limit"][0] == 82
    assert "<title>Simulation</title>" in text


def drawn(page):
    text = page.read_text("utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    return data["clusters"][0]


# 72 % count as 0.9 x 72 = 64.8 %.
@pytest.mark.parametrize("history", [0, 0.5])
def test_a_page_draws_the_usage_and_the_limit_that_decide(history, capsys, tmp_path):
    page = tmp_path / "page.html"
    weights = ("Memory", "DirectMemory", "BandwithIn", "BandwithOut", "CPU")
    words = [f"--setting=loadBalancer{name}ResourceWeight=0.9" for name in weights]
    words += ["--setting", f"{HISTORY}={history}", "--profile", NEWEST, "--page", str(page)]
    threshold = "loadBalancerBrokerThresholdShedderPercentage=10"
    words += ["--setting", threshold, "--world", "newcomer", "--cycles", "20"]
    assert run(capsys, *words)[0] == 0
    chart = drawn(page)
    assert (chart["average"][0], chart["limit"][0]) == (64.8, 74.8)
    lines = {
        one["name"]: dict(zip(chart["times"], one["used"], strict=True)) for one in chart["brokers"]
    }
    limits = dict(zip(chart["times"], chart["limit"], strict=True))
    sheds = [mark for mark in chart["marks"] if mark[3].endswith("(shed)")]
    assert sheds
    assert all(lines[broker][at] >= limits[at] for at, _, broker, *_ in sheds)
    assert "the busiest resource by weight" in chart["about"]
    assert (f"= {history}" in chart["about"]) == bool(history)


def test_a_page_lists_only_bundles_that_returned_to_a_broker(tmp_path):
    variant = Variant("reference", NEWEST, "ThresholdShedder", {})
    [course] = simulate_worlds(variant, [named_world("newcomer")], 1, {})
    ways = {"to-and-fro": "abab", "round": "abca", "onward": "abc", "nowhere": "abNcN"}
    moves = [
        BundleMove(0, bundle, *(None if one == "N" else one for one in pair))
        for bundle, way in ways.items()
        for pair in pairwise(way)
    ]
    [first, *_] = course.cycles
    page = tmp_path / "page.html"
    write_simulation_page([replace(course, cycles=(replace(first, moves=tuple(moves)),))], page)
    assert drawn(page)["bundles"] == [
        ["round", 3, "a → b → c → a"],
        ["to-and-fro", 3, "a → b → a → b"],
    ]


def test_load_reports_and_a_history_can_be_simulated(capsys):
    reports = "fixtures/reports/three-brokers"
    words = ("--reports", f"{reports}/modular", "--bundle-data", f"{reports}/bundle-data")
    status, out, _ = run(capsys, *words, "--conf", f"{reports}/broker.conf", "--cycles", "40")
    assert status == 0
    assert "3 brokers as reported" in out
    assert "released-3.0" in out
    status, out, _ = run(capsys, "--history", "fixtures/histories/cluster-3.0.7.json.gz")
    assert status == 0
    assert "4 bundles" in out


def test_a_damaged_history_is_replayed_without_its_damage(capsys):
    words = ("--history", "fixtures/history/fleet-1.json.gz", "--cycles", "12", "--json")
    status, out, _ = run(capsys, *words)
    assert status == 0
    assert json.loads(out)[0]["unloads"] >= 0


def test_a_bundle_that_is_reported_no_more_carries_nothing():
    from pulsar_conformance.audit.simulation.recorded import NO_RATES, _fill_gaps

    rates = (1.0, 1.0, 10.0, 10.0)
    filled = _fill_gaps({1: rates, 3: rates}, 8)
    assert filled == [NO_RATES, *[rates] * 5, NO_RATES, NO_RATES]


def test_a_broker_without_traffic_grows_as_the_others_do():
    from pulsar_conformance.audit.simulation.snapshots import snapshot_world

    stats = {"msgThroughputIn": 50.0, "msgThroughputOut": 50.0}
    busy = {
        "cpu": {"usage": 50, "limit": 100},
        "memory": {"usage": 20, "limit": 100},
        **stats,
        "bundles": ["a/b/0x00000000_0xffffffff"],
        "lastStats": {"a/b/0x00000000_0xffffffff": stats},
    }
    idle = {"cpu": {"usage": 3, "limit": 100}, "bundles": []}
    world = snapshot_world("it", {"busy": busy, "idle": idle}, {}, {}, [])
    assert world.brokers[0].percents(200)["cpu"] == 100
    assert world.brokers[0].percents(200)["memory"] == 20
    assert world.brokers[1].percents(100)["cpu"] == 53


STRATEGY, THRESHOLD = (
    "loadBalancerLoadSheddingStrategy",
    "loadBalancerBrokerThresholdShedderPercentage",
)
MISTAKES = [
    ((), "give one of --world NAME, --reports DIR, --metrics FILE, --from URL"),
    (("--world", "nowhere"), "--world nowhere: there is no such world"),
    (("--world", "crash", "--reports", "x"), "give one of"),
    (("--world", "crash", "--cycles", "0"), "--cycles 0: give a number from 1"),
    (("--world", "crash", "--strategy", "Shedder"), "it does not offer Shedder; choose from"),
    (
        ("--world", "crash", "--compare", "strategy=TransferShedder"),
        "UniformLoadShedder, or give profile=documented-4.0 or documented-4.2",
    ),
    (
        ("--world", "crash", "--strategy", "TransferShedder", "--profile", "released-4.2"),
        "UniformLoadShedder, or give --profile documented-4.0 or documented-4.2",
    ),
    (
        ("--world", "crash", "--compare", "profile=documented-4.2,strategy=TransferShedder"),
        "separate with spaces, not commas: 'profile=documented-4.2 strategy=TransferShedder'",
    ),
    (("--world", "crash", "--sweep", "x"), "write SETTING=FIRST..LAST/STEP"),
    (("--world", "crash", "--sweep", "x=1..2/0"), "it has 0 values"),
    (
        ("--world", "crash", "--sweep", f"{THRESHOLD}=10..20/10", "--setting", f"{THRESHOLD}=50"),
        f"{THRESHOLD}=10..20/10: {THRESHOLD}=50 is given as well; remove one of the two",
    ),
    (
        ("--world", "crash", "--sweep", f"{THRESHOLD}=1..2", "--compare", f"{THRESHOLD}=50"),
        f"--sweep {THRESHOLD}=1..2: {THRESHOLD}=50 is given as well",
    ),
    (
        ("--world", "crash", "--strategy", "OverloadShedder", "--setting", f"{STRATEGY}=a.B"),
        f"--strategy OverloadShedder: {STRATEGY}=B contradicts strategy OverloadShedder; give one",
    ),
    (
        ("--world", "crash", "--compare", f"strategy=OverloadShedder {STRATEGY}=B"),
        f"{STRATEGY}=B contradicts strategy OverloadShedder; give one of them",
    ),
    (("--world", "crash", "--compare", "a b"), "write [ADAPTER]"),
    (
        ("--world", "crash", "--strategy", "Overload"),
        "reference: it does not offer Overload; choose from ThresholdShedder, OverloadShedder",
    ),
    (
        ("pulsar:3.0.7", "--world", "crash", "--strategy", "Overload"),
        "pulsar:3.0.7: it does not offer Overload; choose from ThresholdShedder, OverloadShedder",
    ),
    (("--world", "crash", "--compare", "nobody:1"), "is not an adapter"),
    (("--world", "crash", "--compare", "profile=1.0"), "1.0 is not a profile"),
    (("--world", "crash", "--conf", "x"), "need --reports, --metrics or --from"),
    (("--world", "crash", "--setting", "x"), "NAME=VALUE"),
    (("--reports", "nowhere"), "nowhere: it is not a folder"),
    (("--smallest", "--world", "crash"), "--smallest draws its own clusters"),
    (("--smallest", "--sweep", "x=1..2"), "--smallest runs one search per variant"),
    (("--smallest", "pulsar:3.0.7"), "LOOP-07; if pulsar:3.0.7 is the adapter, give it before"),
    (("--smallest", "SHED-04"), "--smallest SHED-04: choose a rule from LOOP-01, LOOP-02"),
    (("--history", "README.md"), "README.md: it contains no load reports"),
    (("--history", "nowhere"), "it cannot be read"),
    (("--world", "ninety-ten", "--cycles", "1", "--page", "/nowhere/x"), "it cannot be written"),
]


@pytest.mark.parametrize(("words", "problem"), MISTAKES)
def test_a_mistake_gives_one_message(capsys, words, problem):
    status, _, err = run(capsys, *words)
    assert status == 2
    assert problem in err
    assert len(err.splitlines()) == 1


def test_an_implementation_without_placement_is_simulated_with_the_least_used_broker(capsys):
    words = ("sample:javascript", "--world", "ninety-ten", "--cycles", "5")
    assert run(capsys, *words)[0] == 0


def test_a_constant_world_with_recorded_loads_is_not_constant():
    world = named_world("crash")
    assert world.is_constant
    bundle = replace(world.bundles[0], recorded=(world.bundles[0].rates,))
    assert not replace(world, bundles=(bundle,)).is_constant


def test_simulations_can_be_published(capsys, tmp_path):
    words = ("--world", "ninety-ten", "--cycles", "3", "--publish", str(tmp_path / "it"))
    assert run(capsys, *words)[0] == 0
    assert "ThresholdShedder" in (tmp_path / "it/README.md").read_text("utf-8")
    assert json.loads((tmp_path / "it/simulations.json").read_text("utf-8"))[0]["cycles"] == 3


def test_a_strategy_replaces_that_of_the_settings_and_has_its_own_idle_settings(capsys, tmp_path):
    conf = tmp_path / "o.conf"
    package = "org.apache.pulsar.broker.loadbalance.impl"
    conf.write_text(
        f"loadBalancerLoadSheddingStrategy={package}.OverloadShedder\n"
        "loadBalancerBrokerThresholdShedderPercentage=22\n"
        "loadBalancerBrokerOverloadedThresholdPercentage=70\n",
        "utf-8",
    )
    words = ("--reports", "fixtures/reports/three-brokers/modular", "--cycles", "2")
    words = (*words, "--conf", str(conf))
    _, _, err = run(capsys, *words)
    assert "it belongs to ThresholdShedder, but OverloadShedder is set" in " ".join(err.split())
    assert err.startswith("pulsar-conformance: ")
    assert "--strategy" not in err
    status, _, err = run(capsys, *words, "--strategy", "ThresholdShedder")
    text = " ".join(err.split())
    assert status == 0
    assert f"--strategy ThresholdShedder replaces OverloadShedder, the strategy by {conf}" in text
    assert "loadBalancerBrokerThresholdShedderPercentage: it" not in text


@pytest.mark.parametrize(
    ("adapter", "compared", "profiles"),
    [
        ("pulsar:4.0.7", "pulsar:3.0.7", ["released-4.0", "released-3.0"]),
        ("reference", "pulsar:4.2.4", ["released-3.0", "released-4.2"]),
        ("pulsar:4.0.7", "profile=documented-4.0", ["released-4.0", "documented-4.0"]),
    ],
)
def test_an_implementation_of_pulsar_has_the_profile_of_its_version(adapter, compared, profiles):
    parser = parser_of("simulate")
    args = parser.parse_args([adapter, "--compare", compared])
    variants = variants_of(args, Start([], "ThresholdShedder", "released-3.0"))
    assert [one.profile for one in variants] == profiles
    given = parser.parse_args([adapter, "--judge-by", "documented-3.0"])
    [usual] = variants_of(given, Start([], "ThresholdShedder", "released-3.0"))
    assert usual.profile == "documented-3.0"


@pytest.mark.parametrize("option", ["--setting", "--compare"])
def test_a_strategy_can_be_given_as_a_setting(capsys, option):
    words = ("--world", "ninety-ten", "--cycles", "1", "--json")
    _, out, _ = run(capsys, *words, option, f"{STRATEGY}=OverloadShedder")
    assert json.loads(out)[-1]["variant"] == "reference strategy=OverloadShedder"


def test_a_strategy_may_have_its_full_name(capsys):
    full = "org.apache.pulsar.broker.loadbalance.impl.UniformLoadShedder"
    words = ("--world", "ninety-ten", "--cycles", "3")
    short = run(capsys, *words, "--strategy", "UniformLoadShedder")
    assert run(capsys, *words, "--strategy", full) == short
    assert run(capsys, *words, "--compare", f"strategy={full}") == run(
        capsys, *words, "--compare", "strategy=UniformLoadShedder"
    )
