"""The examined release that decides most like another version is found by the classes' answers."""

import pytest
from pulsar_conformance.adapters.arguments import profile_of_version
from pulsar_conformance.adapters.pulsar import nearest, versions
from pulsar_conformance.specs import load

RELEASES = list(versions.releases())


def answering(release, **otherwise):
    """Return a function that answers like a release, except for some defaults."""

    def ask(operation, case):
        if operation == "settings.defaults":
            known = nearest.distinguishing_answers()["defaults"].items()
            return {"settings": {name: one[release] for name, one in known} | otherwise}
        for one in nearest.distinguishing_answers()["cases"]:
            if (one["operation"], one["case"]) == (operation, case):
                found = one["answers"][release]
                return {found: "some reason"} if isinstance(found, str) else {**found, "why": "so"}
        raise AssertionError(operation)

    return ask


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_nearest_to_itself(release):
    found = list(nearest.distinguishing_points(answering(release)))
    assert all(one.found == one.known[release] for one in found)
    assert nearest.most_similar_release(release, found) == release


def test_a_patch_is_nearest_to_its_line_and_says_what_differs():
    weight = "loadBalancerDirectMemoryResourceWeight"
    first, second, *apart = nearest.nearest_remarks("3.2.3", answering("3.0.7", **{weight: 0}))
    count = len(list(nearest.distinguishing_points(answering("3.0.7"))))
    assert "the most similar release is 3.0.7" in first
    assert f"{count - 1} with 3.0.7" in first
    assert second.endswith("--judge-by documented-3.0 --judge-by released-3.0")
    assert apart == [f"pulsar 3.2.3 differs from 3.0.7: the default of {weight}: 0, not 1"]


@pytest.mark.parametrize(
    ("version", "release"), [("4.1.0", "4.2.4"), ("4.3.0-SNAPSHOT", "4.2.4"), ("5.0.0", "5.0.0-M1")]
)
def test_of_releases_that_answer_alike_the_one_before_is_nearest(version, release):
    found = list(nearest.distinguishing_points(answering("4.2.4")))
    assert nearest.most_similar_release(version, found) == release


@pytest.mark.parametrize(
    ("version", "documents"),
    [
        ("2.8.4", "documented-2.10"),
        ("2.11.0", "documented-2.10"),
        ("3.3.6", "documented-3.0"),
        ("4.1.3", "documented-4.0"),
        ("4.3.0-SNAPSHOT", "documented-4.2"),
        ("5.0.0", "documented-5.0"),
        ("2.4.2", "documented-2.4"),
    ],
)
def test_each_version_has_the_documents_of_its_line(version, documents):
    assert versions.documents_of(version) == documents
    assert documents in load().profiles


def test_versions_are_fetched_from_2_8_on_with_the_pins_of_their_line():
    assert versions.downloadable_release("2.7.5") is versions.downloadable_release("lib") is None
    assert versions.downloadable_release("2.8.0").pins == ()
    assert versions.downloadable_release("5.0.0").pins == versions.releases()["5.0.0-M1"].pins


@pytest.mark.parametrize(
    ("version", "closest"),
    [
        ("2.8.2", "2.10.5"),
        ("3.0.9", "3.0.7"),
        ("3.3.6", "4.0.7"),
        ("4.0.8", "4.0.7"),
        ("6.0.0", "5.0.0-M1"),
    ],
)
def test_parts_come_from_the_same_line_or_the_next_later_one(version, closest):
    assert versions.closest_examined(version) == closest


@pytest.mark.parametrize(
    ("adapters", "profile"),
    [
        (["pulsar:4.2.4"], "documented-4.2"),
        (
            ["pulsar:4.0.9,set=minUnloadMessage=1", "cluster:4.0.7,manager=extensible"],
            "documented-4.0",
        ),
        (["pulsar:5.0.0-M1"], "documented-5.0"),
        (["pulsar:2.10.5"], "documented-2.10"),
        (["pulsar:4.2.4", "pulsar:3.0.7"], "documented-3.0"),
        (["pulsar:4.2.4", "reference"], "documented-3.0"),
        (["pulsar:/opt/pulsar/lib"], "documented-3.0"),
        ([], "documented-3.0"),
    ],
)
def test_a_release_is_judged_by_the_documents_of_its_line(adapters, profile):
    assert profile_of_version(adapters) == profile


@pytest.mark.parametrize(
    ("jars", "profile"),
    [
        (["pulsar-broker-4.0.9-SNAPSHOT.jar"], "documented-4.0"),
        (["org.apache.pulsar-pulsar-broker-4.2.4.jar", "a.jar"], "documented-4.2"),
        (["pulsar-broker-4.0.7.jar", "pulsar-broker-4.2.4.jar"], "documented-3.0"),
        (["a.jar"], "documented-3.0"),
    ],
)
def test_a_folder_is_judged_by_the_documents_of_the_broker_in_it(tmp_path, jars, profile):
    for name in jars:
        (tmp_path / name).touch()
    assert profile_of_version([f"pulsar:{tmp_path},strategy=org.example.MyShedder"]) == profile
