"""Checks of a user's additions to a release: settings, and a strategy class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

import jpype
from pulsar_conformance.adapters.errors import CannotLoad
from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.jvm import Java, java_class
from pulsar_conformance.adapters.pulsar.release import Release
from pulsar_conformance.adapters.pulsar.strategies import (
    PLACEMENT,
    SHEDDING,
    NoStrategy,
    find_strategy,
)

STRATEGY_KINDS = {
    "shedder": (SHEDDING, "loadBalancerLoadSheddingStrategy"),
    "placer": (PLACEMENT, "loadBalancerLoadPlacementStrategy"),
}
"""The interface of each kind of strategy, and the setting that names a class of that kind."""


def roles_of_strategy(asked: str, configurations: Configurations, version: str) -> dict[str, str]:
    """Return the full name of a strategy class by its roles: `shedder`, `placer` or both.

    For the release's own classes, the short name is enough. Errors: `CannotLoad`.
    """
    try:
        strategy = find_strategy(asked, (SHEDDING, PLACEMENT), version)
        java = java_class(strategy).class_
    except NoStrategy as none:
        yours = "; name your own class in full, and its jar or folder in classpath="
        raise CannotLoad(f"{none}{yours if none.absent else ''}") from None
    except jpype.JException as error:
        taken = [setting for _, setting in STRATEGY_KINDS.values() if configurations.knows(setting)]
        names = "it has no setting for a strategy"
        if taken:
            names = f"its strategies are set with {' and '.join(taken)}"
        problem = f"cannot load {asked}: {error.toString()}; {names}"
        raise CannotLoad(f"Pulsar {version} {problem}") from None
    kinds = {
        kind: setting
        for kind, (interface, setting) in STRATEGY_KINDS.items()
        if java_class(interface).class_.isAssignableFrom(java)
    }
    taken = [kind for kind, setting in kinds.items() if configurations.knows(setting)]
    if not taken:
        settings = " or ".join(kinds.values())
        raise CannotLoad(f"Pulsar {version} has no setting {settings}, so it cannot run {strategy}")
    return dict.fromkeys(taken, strategy)


def check_settings(given: Mapping[str, str], release: Release, *, plugged: bool) -> None:
    """Check that the release has these settings. Errors: `CannotLoad`.

    If a user's class is `plugged` in, settings that Pulsar does not know are allowed, since the
    class may read them.
    """
    configurations = release.configurations
    for name in given:
        if not plugged and not configurations.knows(name):
            near = get_close_matches(name, configurations.names(), n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise CannotLoad(f"Pulsar {release.version} has no setting {name}{meant}")
    if not given:
        return
    try:
        Configurations({}).of(given)
    except jpype.JException as error:
        said = f"Pulsar {release.version} rejects the settings: {error.getMessage()}"
        raise CannotLoad(said) from None


def check_instantiable(strategy: str, make: Callable[[], Java], version: str) -> None:
    """Check that a release can create an object of a user's class. Errors: `CannotLoad`.

    Without this check, a release might only log the failure and use its default strategy.
    """
    try:
        made = str(make().getClass().getName())
    except jpype.JException:
        made = ""
    if made != strategy:
        needed = "a non-abstract class whose public no-argument constructor does not fail"
        problem = f"Pulsar {version} cannot instantiate {strategy}{_cause_text(strategy)}"
        raise CannotLoad(f"{problem}; it must be {needed}")


def _cause_text(strategy: str) -> str:
    """Return why a class cannot be instantiated, if that is known."""
    try:
        java_class(strategy).class_.getDeclaredConstructor([]).newInstance([])
    except jpype.JException as error:
        return f", {(error.getCause() or error).toString()}"
    return ""
