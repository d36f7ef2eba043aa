"""Comparison of answers with those that were worked out by hand."""

from dataclasses import replace

import pytest
from pulsar_conformance import fixtures
from pulsar_conformance.conformance.cases.legality import example_allows, matches

EXAMPLES = fixtures.examples()

A = {"broker": "b1", "bundle": "t/ns/0x00000000_0x80000000"}
B = {"broker": "b1", "bundle": "t/ns/0x80000000_0xffffffff"}
OTHER = {"broker": "b2", "bundle": "t/us/0x00000000_0xffffffff"}
TO_B1 = {"bundle": "t/ns/0x00000000_0x80000000", "to": "b1"}
TO_B2 = {"bundle": "t/ns/0x80000000_0xffffffff", "to": "b2"}

SAME = {
    "free text": ("bundles.locate", {"bundles": ["x"]}, {"bundles": ["x"], "why": "so"}),
    "brokers in any order": ("shed.select", {"unload": [A, OTHER]}, {"unload": [OTHER, A]}),
    "a share of a point": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 95.0000001, "resource": "cpu"},
    ),
    "a float's 0.8": ("usage.nic", {"gbps": 0.8}, {"gbps": 0.800000011920929}),
    "candidates in any order": (
        "bundles.split_candidates",
        {"split": ["x", "y"], "unload": ["x", "y"]},
        {"split": ["y", "x"], "unload": ["x", "y"]},
    ),
    "more settings": (
        "settings.defaults",
        {"settings": {"a": 1}},
        {"settings": {"a": 1.0, "b": 2}},
    ),
    "an empty setting left out": ("settings.defaults", {"settings": {"a": ""}}, {"settings": {}}),
    "domains that are not told": (
        "place.anti_affinity",
        {"broker": "b1", "domains": ["d1", "d2"], "candidates": ["b1", "b2"]},
        {"broker": "b1", "candidates": ["b2", "b1"]},
    ),
    "moves of a step in any order": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B1, TO_B2]}]},
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B2, TO_B1], "leader": "b2"}]},
    ),
    "an event ignored for any reason": (
        "cluster.replay",
        {"steps": [{"ignored": "*"}]},
        {"steps": [{"ignored": "it is up", "owners": {}}]},
    ),
    "any reason": ("bundles.split", {"refused": "*"}, {"refused": "for admins alone"}),
}

DIFFERENT = {
    "a bundle more": ("shed.select", {"unload": [A]}, {"unload": [A, B]}),
    "bundles in another order": ("shed.select", {"unload": [A, B]}, {"unload": [B, A]}),
    "another broker": ("shed.select", {"unload": [A]}, {"unload": [{**A, "broker": "b2"}]}),
    "a bundle twice": ("shed.select", {"unload": [A]}, {"unload": [A, A]}),
    "two points": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 97, "resource": "cpu"},
    ),
    "another resource": (
        "usage.max",
        {"percent": 95, "resource": "cpu"},
        {"percent": 95, "resource": "memory"},
    ),
    "another speed": ("usage.nic", {"gbps": 0.8}, {"gbps": 0.8005}),
    "a split that stays": (
        "bundles.split_candidates",
        {"split": ["x"], "unload": ["x"]},
        {"split": ["x"], "unload": []},
    ),
    "no broker": ("place.select", {"broker": "b1"}, {"broker": None}),
    "another broker for a namespace": ("place.anti_affinity", {"broker": "b1"}, {"broker": "b2"}),
    "other domains": (
        "place.anti_affinity",
        {"broker": "b1", "domains": ["d1"]},
        {"broker": "b1", "domains": ["d1", "d2"]},
    ),
    "bundles the other way": ("bundles.locate", {"bundles": ["x", "y"]}, {"bundles": ["y", "x"]}),
    "other boundaries": ("bundles.create", {"boundaries": ["a", "b"]}, {"boundaries": ["a"]}),
    "no number": ("settings.defaults", {"settings": {"a": 1}}, {"settings": {"a": True}}),
    "no setting": ("settings.defaults", {"settings": {"a": 1}}, {"settings": {}}),
    "a setting where none is": (
        "settings.defaults",
        {"settings": {"a": ""}},
        {"settings": {"a": 10}},
    ),
    "another owner": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}}]},
        {"steps": [{"owners": {"x": "b2"}}]},
    ),
    "a step too few": ("cluster.replay", {"steps": [{"owners": {}}]}, {"steps": []}),
    "a move more": (
        "cluster.replay",
        {"steps": [{"owners": {"x": "b1"}}]},
        {"steps": [{"owners": {"x": "b1"}, "assigned": [TO_B1]}]},
    ),
    "another leader": (
        "cluster.replay",
        {"steps": [{"owners": {}, "leader": "b1"}]},
        {"steps": [{"owners": {}, "leader": "b2"}]},
    ),
    "an event refused that is ignored": (
        "cluster.replay",
        {"steps": [{"ignored": "*"}]},
        {"steps": [{"refused": "no"}]},
    ),
    "an answer where one is refused": ("bundles.split", {"refused": "*"}, {"bundles": ["x"]}),
    "a refusal where one is answered": ("bundles.split", {"bundles": ["x"]}, {"refused": "no"}),
    "a failure where one is refused": ("bundles.split", {"refused": "*"}, {"failed": "no"}),
}


@pytest.mark.parametrize(("operation", "allowed", "answer"), SAME.values(), ids=SAME)
def test_answers_that_differ_in_form_alone_match(operation, allowed, answer):
    assert matches(operation, allowed, answer)


@pytest.mark.parametrize(("operation", "allowed", "answer"), DIFFERENT.values(), ids=DIFFERENT)
def test_wrong_answers_do_not_match(operation, allowed, answer):
    assert not matches(operation, allowed, answer)


def test_a_trial_needs_an_answer_to_each_question():
    [example] = [example for example in EXAMPLES if example.id == "overload-others-do-not-matter"]
    first, second = example.allowed
    assert example_allows(example, first)
    assert not example_allows(example, first[:1])
    assert not example_allows(example, (first[0], second[1]))


def test_an_example_without_an_answer_allows_any():
    without = replace(EXAMPLES[0], allowed=None)
    assert example_allows(without, [{"boundaries": []}])
