"""The published smallest clusters never come to rest, with the model and with the releases."""

import json
import re
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from pulsar_conformance.adapters.names import connect
from pulsar_conformance.audit.simulation.deciding import REMEMBERING
from pulsar_conformance.audit.simulation.measures import period_of
from pulsar_conformance.audit.simulation.rules import ENDLESS, loop_faults
from pulsar_conformance.audit.simulation.smallest.clusters import cluster_of
from pulsar_conformance.audit.simulation.smallest.page import legend_lines
from pulsar_conformance.audit.simulation.variants import Variant, make_simulator, simulate_worlds
from pulsar_conformance.audit.simulation.worlds import named_world

FOLDER = Path(__file__).parents[2] / "reports/loops"
CYCLES = 40
RELEASES = {"released-3.0": "3.0.7", "released-4.2": "4.2.4", "released-5.0": "5.0.0-M1"}
OLDER = ("released-3.0", "released-4.2")
SWINGING, CIRCLING = [[5], [10], [5, 40]], [[45], [40, 45]]
SIMULATED = json.loads((FOLDER.parent / "strategies/simulations.json").read_text("utf-8"))
LOOPS = {
    file.parent.relative_to(FOLDER).as_posix(): json.loads(file.read_text("utf-8"))
    for file in sorted(FOLDER.rglob("loops.json"))
}
EVERY = [loop for loops in LOOPS.values() for loop in loops]
MODEL_LOOPS = [loop for loop in EVERY if loop["variant"].startswith("reference")]
SMALLEST = {
    ".": {
        (profile, strategy): cluster
        for profile in RELEASES
        for strategy, cluster in (("ThresholdShedder", SWINGING), ("OverloadShedder", CIRCLING))
    },
    "AvgShedder": {(profile, "AvgShedder"): [[5, [45, 5]], [25]] for profile in OLDER},
    "LOOP-02": {
        ("released-3.0", "OverloadShedder"): [[30, 55], [30, 60]],
        ("released-4.2", "OverloadShedder"): [[35, 60], [30, 60]],
    },
    "LOOP-03": {
        **{(profile, "ThresholdShedder"): [[5], [5, 25]] for profile in OLDER},
        **{(profile, "OverloadShedder"): CIRCLING for profile in OLDER},
        ("released-3.0", "UniformLoadShedder"): [[[5, 35]], [5, 20]],
        ("released-4.2", "UniformLoadShedder"): [[25], [5, [45, 5]]],
    },
    "TransferShedder": {(profile, "TransferShedder"): [[5], [5, 35, 40]] for profile in OLDER},
    "classes": {},
}
"""By page, profile and strategy, the usages that the bundles of each broker cause, in percent."""


RULES = {".": ENDLESS, "classes": ENDLESS, "AvgShedder": "LOOP-03", "TransferShedder": "LOOP-02"}
"""The rule of each page that is not named after its rule."""


def profile_of(loop):
    """Return the profile of the release that a loop is about."""
    named = re.search(r"profile=(released-[\d.]+)", loop["variant"])
    if named:
        return named[1]
    version = loop["variant"].partition(" ")[0].removeprefix("pulsar:")
    return next(profile for profile, one in RELEASES.items() if one == version)


def loop_name(loop):
    return f"{loop['rule']}-{profile_of(loop)}-{loop['strategy']}"


def loads_of(loop):
    """Return the loads of a loop's bundles by broker; a load that changes is a pair: at first, and
    later.
    """
    return [[tuple(one) if isinstance(one, list) else one for one in of] for of in loop["loads"]]


def simulate(loop, adapter, profile, loads=None):
    variant = Variant(adapter, profile, loop["strategy"], loop["settings"])
    [course] = simulate_worlds(variant, [cluster_of(loads or loads_of(loop))], CYCLES, {})
    return course


def shown(course):
    return period_of(course), len(course.sheds), [one.rule.id for one in loop_faults(course)]


def published(loop):
    return loop["period"], loop["unloads"], loop["rules"]


def test_the_pages_have_the_smallest_clusters_and_no_other():
    found = {
        page: {(profile_of(one), one["strategy"]): one["loads"] for one in loops}
        for page, loops in LOOPS.items()
    }
    assert found == SMALLEST
    for page, loops in LOOPS.items():
        text = (FOLDER / page / "README.md").read_text("utf-8")
        assert all(f"## {one['variant']}\n" in text for one in loops)
        rule = RULES.get(page, page)
        assert "\n".join(legend_lines(rule)) in text
        assert {one["rule"] for one in loops} <= {rule}


def test_each_rule_that_a_release_breaks_in_a_published_world_has_a_smallest_cluster():
    broken = {
        (release, strategy, rule["rule"])
        for one in SIMULATED
        for release, strategy in [one["variant"].removeprefix("pulsar:").split(" strategy=")]
        for rule in one["rules"]
    }
    small = {(RELEASES[profile_of(one)], one["strategy"], one["rule"]) for one in EVERY}
    assert broken - small == set()


@pytest.mark.parametrize("loop", MODEL_LOOPS, ids=loop_name)
def test_the_model_repeats_a_published_loop(loop):
    course = simulate(loop, "reference", profile_of(loop))
    assert shown(course) == published(loop)
    assert loop["rule"] in loop["rules"]


@pytest.fixture(scope="module")
def connected():
    """Return a function that connects to a release, once for all loops."""
    with ExitStack() as connections:
        yield cache(lambda *about: connections.enter_context(connect(*about, {})))


@pytest.mark.pulsar
@pytest.mark.parametrize("loop", EVERY, ids=loop_name)
def test_the_classes_of_the_release_repeat_a_published_loop(loop, connected):
    profile = profile_of(loop)
    adapter, documents = f"pulsar:{RELEASES[profile]}", profile.replace("released", "documented")
    variant = Variant(adapter, documents, loop["strategy"], loop["settings"])
    course = make_simulator(variant, connected(adapter, documents), CYCLES)
    assert shown(course(cluster_of(loads_of(loop)))) == published(loop)


# The average of 5, 10 and 45 % is 20 %, and the limit is 30 %. The broker at 45 % sheds its
# bundle of 40 % at once, and the broker that takes it as soon as its own smoothed usage is over the
# limit, 45 - 40 * 0.9 ** 10 = 31.05 % in cycle 10.
def test_a_heavy_bundle_swings_when_its_history_is_over_the_limit():
    loop = next(one for one in EVERY if one["loads"] == SWINGING)
    course = simulate(loop, "reference", profile_of(loop))
    assert [move.cycle for move in course.sheds[:2]] == [0, 10]
    smoothed = [45 - 40 * 0.9**cycle for cycle in (9, 10)]
    assert smoothed[0] < 30 < smoothed[1]


@pytest.mark.parametrize("loads", [[[5], [10], [40]], [[5], [5, 40]], [[10], [10], [5, 30]]])
def test_a_smaller_cluster_comes_to_rest(loads):
    loop = next(one for one in EVERY if one["loads"] == SWINGING)
    assert period_of(simulate(loop, "reference", profile_of(loop), loads)) is None


WORLDS = [
    (release, one["world"], strategy, sorted(rule["rule"] for rule in one["rules"]))
    for one in SIMULATED
    for release, strategy in [one["variant"].split(" strategy=")]
    # The model of a release lacks strategies that remember cycles.
    if strategy not in REMEMBERING
]
MODELS = {"pulsar:3.0.7": "released-3.0", "pulsar:4.2.4": "released-4.2"}


@pytest.mark.thorough
@pytest.mark.parametrize(("release", "world", "strategy", "broken"), WORLDS)
def test_the_model_breaks_in_each_world_what_is_published_and_no_more(
    release, world, strategy, broken
):
    variant = Variant("reference", MODELS[release], strategy, {})
    [course] = simulate_worlds(variant, [named_world(world)], 120, {})
    assert sorted(one.rule.id for one in loop_faults(course)) == broken
