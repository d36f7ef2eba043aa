"""The broker that a release assigns to a bundle, worked out by hand from the source."""

import pytest
from pulsar_conformance import specs
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.released.assignment import FILTERS

RELEASED = [name for name, one in specs.load().profiles.items() if one.kind == "released"]
WITH_A_SETTING = [name for name in RELEASED if name not in ("released-2.4", "released-2.10")]
OLDEST = ["released-2.4", "released-2.10"]
BUNDLE = "shop/new/0x00000000_0x40000000"
HALVES = ("0x40000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff")
MINE = [f"shop/new/{one}" for one in HALVES]


def carrying(rate):
    return {"longTermData": {"msgRateIn": rate, "numSamples": 10}}


def broker(bundles=(), percent=25, topics=0):
    return {
        "cpu": {"usage": percent, "limit": 100},
        "bundles": list(bundles),
        "numTopics": topics,
    }


def asked(brokers, settings=None, bundles=None, **more):
    at = {"loadBalancerBrokerOverloadedThresholdPercentage": 85, **(settings or {})}
    nothing = {"preallocated": {}, "domains": {}, "groups": {}, "isolation": [], "versions": {}}
    known = {"settings": at, "bundle": BUNDLE, "brokers": brokers, "bundles": bundles or {}}
    return {**nothing, **known, **more}


def taken(profile, case):
    """Return all brokers that a random choice may select."""
    model = Model(profile)
    return {model.answer("place.broker", case)["broker"] for _ in range(2 * len(case["brokers"]))}


def left(profile, case):
    """Return the places in the source at which candidates were left out."""
    steps = Model(profile).derive("place.broker", case).steps
    filters = {"again", *FILTERS.values()}
    texts = [step.text for step in steps if step.label.strip() in filters]
    return [text for text in texts if not text.startswith("all of these (")]


@pytest.mark.parametrize("profile", RELEASED)
def test_bundles_of_a_namespace_are_spread_however_busy_the_brokers(profile):
    """b1 has two of the namespace's bundles, b2 one, and b3 was assigned one: b2 or b3 gets it."""
    brokers = {"b1": broker(MINE[:1]), "b2": broker(["t/ns/0x00000000_0xffffffff"])}
    loads = {"t/ns/0x00000000_0xffffffff": carrying(9000), MINE[0]: carrying(1)}
    case = asked(brokers, bundles=loads)
    assert taken(profile, case) == {"b2"}
    assert left(profile, case) == ["b2 (LoadManagerShared.removeMostServicingBrokersForNamespace)"]
    assert taken(profile, {**case, "preallocated": {"b2": MINE[1:2]}}) == {"b1"}


def test_a_setting_leaves_bundles_to_their_load_since_3_0():
    brokers = {"b1": broker(MINE[:1]), "b2": broker(["t/ns/0x00000000_0xffffffff"])}
    loads = {"t/ns/0x00000000_0xffffffff": carrying(9000), MINE[0]: carrying(1)}
    off = {"loadBalancerDistributeBundlesEvenlyEnabled": False}
    for profile in WITH_A_SETTING:
        assert taken(profile, asked(brokers, off, loads)) == {"b1"}
    for profile in OLDEST:
        assert taken(profile, asked(brokers, off, loads)) == {"b2"}


@pytest.mark.parametrize("profile", RELEASED)
def test_more_topics_than_a_broker_may_have_keep_it_out_unless_all_have_them(profile):
    at = {"loadBalancerBrokerMaxTopics": 10}
    assert taken(profile, asked({"b1": broker(topics=10), "b2": broker(topics=11)}, at)) == {"b1"}
    both = asked({"b1": broker(topics=11), "b2": broker(topics=12)}, at)
    assert taken(profile, both) == {"b1", "b2"}
    by_default = asked({"b1": broker(topics=50_001), "b2": broker(topics=50_000)})
    assert taken(profile, by_default) == {"b2"}


@pytest.mark.parametrize("profile", RELEASED)
def test_later_versions_come_first_where_they_are_preferred(profile):
    """3.0.10 is later than 3.0.9. If one broker reports no version, all brokers are candidates
    again.
    """
    brokers, prefer = {"b1": broker(), "b2": broker()}, {"preferLaterVersions": True}
    versions = {"b1": "3.0.9", "b2": "3.0.10"}
    assert taken(profile, asked(brokers, prefer, versions=versions)) == {"b2"}
    assert taken(profile, asked(brokers, versions=versions)) == {"b1", "b2"}
    assert taken(profile, asked(brokers, prefer, versions={"b2": "3.0.10"})) == {"b1", "b2"}


@pytest.mark.parametrize("profile", RELEASED)
def test_a_second_bundle_of_a_namespace_stays_away_from_the_first_of_its_group(profile):
    """b1 serves the namespace, b2 another of its group, b3 none: b3 is taken, or else b2."""
    other = "shop/app/0x00000000_0xffffffff"
    brokers = {"b1": broker(MINE[:1]), "b2": broker([other]), "b3": broker()}
    groups = {"shop/new": "blue", "shop/app": "blue"}
    assert taken(profile, asked(brokers, groups=groups)) == {"b3"}
    del brokers["b3"]
    assert taken(profile, asked(brokers, groups=groups)) == {"b2"}
    assert taken(profile, asked(brokers, groups={})) == {"b2"}


@pytest.mark.parametrize("profile", RELEASED)
def test_domains_count_where_they_are_enabled(profile):
    """In east, b1 has a namespace of the group, b2 none. In west, b3 has none, but more load."""
    first, busy = "shop/app/0x00000000_0xffffffff", "t/ns/0x00000000_0xffffffff"
    brokers = {"b1": broker([first]), "b2": broker(), "b3": broker([busy])}
    groups = {"shop/new": "blue", "shop/app": "blue"}
    case = asked(brokers, bundles={busy: carrying(500)}, groups=groups)
    case["domains"] = {"east": ["b1", "b2"], "west": ["b3"]}
    assert taken(profile, case) == {"b3"}
    case["settings"]["failureDomainsEnabled"] = False
    assert taken(profile, case) == {"b2"}


@pytest.mark.parametrize("profile", RELEASED)
def test_overload_undoes_every_filter_but_isolation(profile):
    """b1 has the fewest bundles, but is overloaded; policies also permit b2, but not b3."""
    brokers = {"b1": broker(percent=99), "b2": broker(MINE[:1]), "b3": broker()}
    policy = {"namespaces": ["shop/new"], "primary": ["b1", "b2"], "secondary": [], "least": 1}
    case = asked(brokers, isolation=[policy])
    assert taken(profile, case) == {"b2"}
    *_, again = left(profile, case)
    assert again.startswith("all of these are overloaded")


@pytest.mark.parametrize("profile", RELEASED)
def test_nobody_takes_what_nobody_may(profile):
    policy = {"namespaces": ["shop/new"], "primary": ["b9"], "secondary": [], "least": 1}
    assert taken(profile, asked({"b1": broker()}, isolation=[policy])) == {None}
