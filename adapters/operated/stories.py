"""Stories on a user's own cluster: generating those that it can play, and playing them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from pulsar_conformance.adapters.admin_api.http import NoAnswer
from pulsar_conformance.adapters.admin_api.remote import AdminApi
from pulsar_conformance.adapters.admin_api.requests import ADMIN
from pulsar_conformance.adapters.admin_api.stories import setting_text
from pulsar_conformance.adapters.admin_api.waiting import ConditionTimeout
from pulsar_conformance.adapters.operated.cluster_state import (
    MANAGER_SETTING,
    NESTED_USAGE,
    ClusterState,
)
from pulsar_conformance.adapters.operated.playing import (
    UNREACHED_STATUSES,
    PlayedCluster,
    PlayedStory,
)
from pulsar_conformance.adapters.operated.tenant import (
    CannotUndo,
    StoryTenant,
    interrupted_by_every_signal,
)
from pulsar_conformance.adapters.protocol import JSON, Row
from pulsar_conformance.reference.cluster import RESOURCES
from pulsar_conformance.reference.usage import WEIGHT_SETTINGS
from pulsar_conformance.specs.text import counted

REPLAY_OPERATION = "cluster.replay"
CANNOT_PLAY = "the story cannot be played on this cluster"
MAX_IDLE_PERCENT = 60.0
"""Usage in percent above which a broker's load may influence placement."""

CAPACITY = 1e8
"""Capacity of a broker in bytes per second; it has no effect, since stories send no messages."""

DEFAULT_BUNDLES_SETTING, DOCUMENTED_BUNDLES = "defaultNumberOfNamespaceBundles", 4
"""The setting for the default number of bundles, and its documented value."""

SUPPORTED_ALGORITHMS = "supportedNamespaceBundleSplitAlgorithms"
"""A setting that stories need if they contain a split; the oldest brokers do not report it."""

IMPOSSIBLE = {
    "broker_down": "this adapter does not crash brokers",
    "broker_stop": "this adapter does not shut down brokers",
    "restart": "this adapter does not restart brokers",
    "leader_lost": "this adapter does not make a leader step down",
    "tick": "the cluster's clock cannot be advanced, and a run does not wait that long",
}
"""Events that an admin API cannot cause, each with the reason."""

OWNERSHIP_RULES = (
    "OWN-01", "OWN-02", "OWN-03", "OWN-07", "OWN-08", "OWN-09", "OWN-10", "OWN-11",
)  # fmt: skip
GROUP_RULES = ("ANTI-11", "ANTI-12")
DOMAIN_RULES = ("ANTI-11", "ANTI-13", "ANTI-15", "ANTI-16")


def play_story(api: AdminApi, state: ClusterState, case: Mapping[str, Any]) -> JSON:
    """Play a story in a new tenant, and undo all changes afterwards.

    Errors: `NoAnswer` if the cluster cannot be reached; `ChangesLeftBehind` if changes could not
    be undone.
    """
    why, changed = why_unplayable(api, state, case)
    if why:
        return {"unsupported": f"{CANNOT_PLAY}: {why}"}
    tenant = StoryTenant(api, state)
    with interrupted_by_every_signal():
        try:
            tenant.create()
            for name, value in changed.items():
                tenant.change_setting(name, value)
            cluster = PlayedCluster(api, state, tenant)
            story = PlayedStory(cluster, tenant, state)
            steps = [story.play_event(kind, about) for kind, about in _events(case)]
            busy = _load_problem(api, state) if _needs_idle_brokers(case) else None
            return {"unsupported": f"{CANNOT_PLAY}: {busy}"} if busy else {"steps": steps}
        except CannotUndo as error:
            return {"unsupported": str(error)}
        except ConditionTimeout as error:
            return {"failed": str(error)}
        except NoAnswer as error:
            if error.status in UNREACHED_STATUSES:
                raise
            return {"failed": str(error)}
        finally:
            tenant.undo()


def why_unplayable(
    api: AdminApi, state: ClusterState, case: Mapping[str, Any]
) -> tuple[str | None, dict[str, str]]:
    """Return why a story cannot be played (None if it can), and the settings to change first."""
    why = next(filter(None, _reasons_not_to_play(state, case)), None)
    if why:
        return why, {}
    if _needs_idle_brokers(case) and (why := _load_problem(api, state)):
        return why, {}
    wanted = {
        name: value
        for name, value in case["settings"].items()
        if not _is_in_force(state, name, value)
    }
    dynamic = api.get(f"{ADMIN}/brokers/configuration") if wanted else ()
    stuck = next((name for name in wanted if name not in dynamic), None)
    if stuck:
        now = state.sight.settings.get(stuck)
        return f"the story needs {stuck}={wanted[stuck]} from the start, but {now} is set", {}
    return None, {name: setting_text(value) for name, value in wanted.items()}


def _events(case: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return each event's kind and fields."""
    return [next(iter(event.items())) for event in case["events"]]


def _needs_idle_brokers(case: Mapping[str, Any]) -> bool:
    """True for stories about groups or domains, whose rules presuppose that no broker is
    overloaded.
    """
    return any(kind in ("domain", "group") for kind, _ in _events(case))


def _reasons_not_to_play(state: ClusterState, case: Mapping[str, Any]) -> Iterator[str | None]:
    """Yield reasons why a story cannot be played, except reasons that concern settings."""
    events = _events(case)
    yield next((IMPOSSIBLE[kind] for kind, _ in events if kind not in PlayedStory.EVENTS), None)
    if any(kind == "unload" and "to" in about for kind, about in events):
        yield "this adapter does not unload a bundle to a chosen broker"
    first = list(takewhile(lambda event: event[0] == "broker_up", events))
    started = [about["broker"] for kind, about in events if kind == "broker_up"]
    if len(first) < len(started) or len(set(started)) < len(started):
        yield "this adapter starts no broker during a story"
    there = len(state.sight.owners)
    if len(started) != there:
        yield f"the story has {counted(len(started), 'broker')}, but the cluster has {there}"
    for kind, about in events:
        if kind == "topic":
            if any(about.get(name) for name in about if name != "topic"):
                yield "this adapter sends no traffic"
            if not about["topic"].startswith("persistent://") or about["topic"].count("/") != 4:
                yield f"{about['topic']} is not a persistent topic in a namespace"
        if kind == "setting" and about["how"] == "conf":
            yield "this adapter does not change the brokers' configuration files"
    if state.sight.domains and _needs_idle_brokers(case):
        yield "the cluster has failure domains of its own"
    default = state.sight.settings.get(DEFAULT_BUNDLES_SETTING)
    if default != DOCUMENTED_BUNDLES and any(
        kind == "namespace" and about.get("bundles") is None for kind, about in events
    ):
        yield f"a namespace created without a number of bundles gets {default} bundles here"


def _is_in_force(state: ClusterState, name: str, value: Any) -> bool:
    now = state.sight.settings.get(name)
    if isinstance(value, str) and isinstance(now, str):
        return value.rpartition(".")[2] == now.rpartition(".")[2]
    return bool(now == value)


def _load_problem(api: AdminApi, state: ClusterState) -> str | None:
    """Return why brokers' load may influence placement; None if no broker is busy.

    Errors: `NoAnswer`.
    """
    for broker in sorted(state.sight.owners):
        try:
            report = api.get(f"{ADMIN}/broker-stats/load-report", api.url_of(broker))
        except NoAnswer as error:
            if error.status in UNREACHED_STATUSES:
                raise
            return f"{broker} does not report its load, which may influence placement"
        usages = report.get(NESTED_USAGE) or report
        weights = {name: state.sight.settings.get(WEIGHT_SETTINGS[name]) for name in RESOURCES}
        weighted_percents_of = [name for name, weight in weights.items() if weight != 0]
        percent = max((_percent(usages.get(name)) for name in weighted_percents_of), default=0.0)
        if percent > MAX_IDLE_PERCENT:
            return f"the usage of {broker} is {percent:.0f} %, which may influence placement"
    return None


def _percent(usage: Any) -> float:
    limit = usage.get("limit") if isinstance(usage, dict) else None
    return 100 * float(usage["usage"]) / float(limit) if limit else 0.0


def playable_stories(state: ClusterState) -> Iterator[tuple[str, Row]]:
    """Yield stories for the cluster's brokers and settings, each with the rule that it tests."""
    brokers = [f"broker-{number + 1}" for number in range(len(state.sight.owners))]
    settings = {
        name: value for name, value in state.sight.settings.items() if name != MANAGER_SETTING
    }
    up = [{"broker_up": {"broker": broker, "capacity": CAPACITY}} for broker in brokers]
    stories = [
        (OWNERSHIP_RULES, _ownership_events(split=SUPPORTED_ALGORITHMS in settings)),
        (GROUP_RULES, _group_events(len(brokers))),
    ]
    if len(brokers) > 1:
        stories.append((DOMAIN_RULES, _domain_events(brokers)))
    for rules, events in stories:
        case = {"settings": settings, "events": [*up, *events]}
        if not any(_reasons_not_to_play(state, case)):
            yield from ((rule, ((REPLAY_OPERATION, case),)) for rule in rules)


def _topic(space: str, number: int = 1) -> str:
    return f"persistent://{space}/topic-{number}"


def _ownership_events(*, split: bool) -> list[JSON]:
    """Return events that use topics and unload them; with `split`, a bundle is split, too."""
    topics = [{"topic": {"topic": _topic("shop/eu", number)}} for number in range(1, 7)]
    return [
        {"namespace": {"name": "shop/eu", "bundles": 4}},
        {"namespace": {"name": "shop/us", "bundles": 1}},
        *topics,
        {"topic": {"topic": _topic("shop/us")}},
        {"topic": {"topic": _topic("shop/us", 3)}},
        {"unload": {"topic": _topic("shop/eu", 1)}},
        {"unload": {"bundleOf": _topic("shop/eu", 2)}},
        {"unload": {"namespace": "shop/eu"}},
        {"unload": {"namespace": "shop/us"}},
        *([{"split": {"bundleOf": _topic("shop/us")}}] if split else []),
        {"topic": {"topic": _topic("shop/us", 2)}},
    ]


def _group_member_events(space: str, group: str) -> list[JSON]:
    return [
        {"namespace": {"name": space, "bundles": 1}},
        {"group": {"namespace": space, "group": group}},
        {"topic": {"topic": _topic(space)}},
    ]


def _group_events(brokers: int) -> list[JSON]:
    """Return events that give an anti-affinity group a namespace per broker, and remove the first
    again.
    """
    alike = [
        event
        for number in range(brokers)
        for event in _group_member_events(f"shop/g{number}", "alike")
    ]
    leaves = {"group": {"namespace": "shop/g0", "group": "other"}}
    return [
        *alike,
        leaves,
        *_group_member_events("shop/late", "other"),
        *_group_member_events("shop/last", "alike"),
    ]


def _domain_events(brokers: list[str]) -> list[JSON]:
    """Return events that create, remove and recreate two domains, then make them overlap."""
    north, south = brokers[: len(brokers) // 2], brokers[len(brokers) // 2 :]
    homes = [
        {"domain": {"name": "north", "brokers": north}},
        {"domain": {"name": "south", "brokers": south}},
    ]
    return [
        *homes,
        *(
            event
            for number in range(2)
            for event in _group_member_events(f"shop/d{number}", "apart")
        ),
        *({"domain": {"name": name, "brokers": []}} for name in ("north", "south")),
        *_group_member_events("shop/d2", "apart"),
        *homes,
        {"domain": {"name": "south", "brokers": [*south, *north]}},
    ]
