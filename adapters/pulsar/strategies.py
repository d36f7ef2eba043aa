"""The strategies of a release, by the names that users give them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlparse

import jpype
from pulsar_conformance.adapters.pulsar.jvm import (
    Java,
    call,
    class_exists,
    java_class,
    java_list,
    load_problem,
    methods,
)

PACKAGE = "org.apache.pulsar.broker.loadbalance."
SHEDDING = f"{PACKAGE}LoadSheddingStrategy"
PLACEMENT = f"{PACKAGE}ModularLoadManagerStrategy"
"""Interfaces of the modular manager's strategies."""

KIND_NAMES: Mapping[str, str] = {SHEDDING: "shedding", PLACEMENT: "placement"}
STRATEGY_SETTINGS: Mapping[str, str] = {
    SHEDDING: "loadBalancerLoadSheddingStrategy",
    PLACEMENT: "loadBalancerLoadPlacementStrategy",
}
"""The setting that names a class, by the interface of the class."""

COMPARED_SETTING = "loadBalancerPlacementStrategy"

EXTENSIBLE = f"{PACKAGE}extensions."
"""Package of the extensible manager's strategies."""

TRANSFER = "TransferShedder"
"""The extensible manager's only strategy that can be asked."""

MIN_SIMILARITY = 0.75
"""Minimum similarity to a known name for a suggestion; high, as all names end in Shedder."""


class NoStrategy(Exception):
    """Raised for a name that is not a strategy of the required kind; the message gives the reason.

    Attributes:
        absent: true if there is no class with this name.
    """

    def __init__(self, why: str, absent: bool = False) -> None:
        super().__init__(why)
        self.absent = absent


@cache
def released_strategies(kind: str) -> tuple[str, ...]:
    """Return the full names of a release's own strategies of one kind, sorted by short name."""
    return tuple(name for name in _classes() if _implements(name, kind) and not _is_abstract(name))


def find_strategy(asked: str, kinds: Iterable[str], version: str) -> str:
    """Return the full name of a strategy of one of these kinds, in the release or a user's jar.

    The short name is enough for a strategy of the release. Errors: `NoStrategy`.
    """
    wanted = tuple(kinds)
    own = [name for kind in wanted for name in released_strategies(kind)]
    name = next((one for one in own if asked in (one, _simple_name(one))), None)
    if name is not None:
        return name
    if problem := load_problem(asked, version):
        raise NoStrategy(problem)
    full = (
        asked
        if class_exists(asked)
        else next((x for x in _classes() if _simple_name(x) == asked), None)
    )
    if full is None:
        has = _strategies_text(wanted, version)
        raise NoStrategy(f"there is no class {asked}{_suggestion(asked, own)}; {has}", absent=True)
    if full.startswith(EXTENSIBLE):
        raise NoStrategy(extensible_strategy_text(_simple_name(full)))
    if not any(_implements(full, kind) for kind in wanted):
        words = " nor ".join(wanted)
        neither = "neither " if len(wanted) > 1 else "no "
        raise NoStrategy(f"{full} implements {neither}{words}; {_strategies_text(wanted, version)}")
    if full.startswith(PACKAGE) and _is_abstract(full):
        raise NoStrategy(
            f"{_simple_name(full)} of Pulsar {version} is abstract, so it decides nothing"
        )
    return full


def extensible_strategy_text(name: str) -> str:
    """Return a message that the modular manager cannot run a strategy of the extensible manager."""
    why = f"{name} is a strategy of the extensible manager, so the modular manager cannot run it"
    in_case = f'in a case of shed.select, as "strategy": "{TRANSFER}"'
    if name == TRANSFER:
        return (
            f"{why}; leave strategy= out of the adapter's name, and name {TRANSFER} {in_case}, "
            "as in the cases of the rules TRANSFER-*"
        )
    return f"{why}; of the extensible manager's strategies, only {TRANSFER} can be asked, {in_case}"


def is_shedder_and_placer(name: str) -> bool:
    """True if a class is both a shedding and a placement strategy, and thus plans destinations."""
    return _implements(name, SHEDDING) and _implements(name, PLACEMENT)


def settings_for_strategy(name: str, kind: str) -> dict[str, str]:
    """Return the settings that select a strategy of one kind.

    A class of both kinds is named by the settings of both, because a load manager does not start if
    only one of them names it. Release 3.0 also compares the setting for shedding with
    `COMPARED_SETTING`, which otherwise only the simple load manager reads.
    """
    if not is_shedder_and_placer(name):
        return {STRATEGY_SETTINGS[kind]: name}
    return dict.fromkeys((*STRATEGY_SETTINGS.values(), COMPARED_SETTING), name)


def _strategies_text(kinds: Iterable[str], version: str) -> str:
    """Format the names of the strategies that a release has."""
    texts = [
        f"{', '.join(map(_simple_name, released_strategies(kind)))} for {KIND_NAMES[kind]}"
        for kind in kinds
    ]
    return f"Pulsar {version} has {', and '.join(texts)}"


def _suggestion(asked: str, own: Iterable[str]) -> str:
    near = get_close_matches(
        _simple_name(asked), [_simple_name(name) for name in own], n=1, cutoff=MIN_SIMILARITY
    )
    return f" (did you mean {near[0]}?)" if near else ""


def _simple_name(name: str) -> str:
    return name.rpartition(".")[2]


@cache
def _classes() -> tuple[str, ...]:
    """Return the classes of the release that concern load balancing, without inner classes."""
    source = java_class(SHEDDING).class_.getProtectionDomain().getCodeSource().getLocation()
    folder = PACKAGE.replace(".", "/")
    with zipfile.ZipFile(Path(unquote(urlparse(str(source)).path))) as jar:
        names = [
            one.removesuffix(".class").replace("/", ".")
            for one in jar.namelist()
            if one.startswith(folder) and one.endswith(".class") and "$" not in one
        ]
    return tuple(sorted(names, key=lambda name: (_simple_name(name), name)))


@cache
def _implements(name: str, kind: str) -> bool:
    java = _load_class(name)
    return java is not None and bool(java_class(kind).class_.isAssignableFrom(java))


@cache
def _is_abstract(name: str) -> bool:
    java, modifier = _load_class(name), jpype.JClass("java.lang.reflect.Modifier")
    return java is None or bool(modifier.isAbstract(java.getModifiers()))


@cache
def _load_class(name: str) -> Java:
    """Return a class; None if a class on which it depends is missing."""
    loader = jpype.java.lang.ClassLoader.getSystemClassLoader()
    try:
        return jpype.java.lang.Class.forName(name, False, loader)
    except jpype.JException:
        return None


def created_placement_strategy(configuration: Java) -> Java:
    """Return the placement strategy that a release creates with these settings.

    Since 5.0.1, a placement strategy that is incompatible with the shedding strategy is replaced.
    """
    paired = methods(java_class(f"{PACKAGE}impl.ModularLoadManagerImpl"), CREATE_PAIR_METHOD)
    if not paired:
        return java_class(PLACEMENT).create(configuration)
    pair = paired[0].invoke(None, java_list([configuration]).toArray())
    return call(pair, "placementStrategy")


CREATE_PAIR_METHOD = "createLoadBalanceStrategies"
"""Method that creates both strategies together, since 5.0.1."""


def chosen_broker(strategy: Java, among: Java, bundle: str, *rest: Java) -> Java:
    """Return a placement strategy's choice; strategies since 5.0.1 also get the bundle's name."""
    if methods(strategy, "selectBrokerForBundle"):
        return strategy.selectBrokerForBundle(among, bundle, *rest)
    return strategy.selectBroker(among, *rest)
