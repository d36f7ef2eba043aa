"""Finds settings that a release or other settings make ineffective, and classes that cannot run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pulsar_conformance.conformance.cases.setting_types import (
    DEFAULT_ALGORITHM,
    FLOW_LIMITS,
    STARTS_NOT,
    prevents_election,
    why_bad_algorithm,
    why_bad_interval,
    why_bad_table_view,
    why_bad_tombstone,
)
from pulsar_conformance.reference.splitting import BY_RATES
from pulsar_conformance.specs import model
from pulsar_conformance.specs.balancers import (
    CLASSES,
    NO_ROLE,
    PACKAGE,
    UNLESS_ADDED,
    no_class_text,
)
from pulsar_conformance.specs.broker import (
    BrokerSetting,
    broker_settings,
    known_releases,
    nearest_release,
    release_line,
)
from pulsar_conformance.specs.judged import (
    default_in_version,
    judged_version,
    requires_strategy_pair,
    users_in_version,
    was_added_later,
    ways_of_version,
)
from pulsar_conformance.specs.text import enumerated

MANAGER, STRATEGY = "loadManagerClassName", "loadBalancerLoadSheddingStrategy"
PLACEMENT = "loadBalancerLoadPlacementStrategy"
BALANCING_ENABLED, SHEDDING_ENABLED = "loadBalancerEnabled", "loadBalancerSheddingEnabled"
AUTO_SPLIT_ENABLED = "loadBalancerAutoBundleSplitEnabled"
MEMORY_WEIGHT = "loadBalancerMemoryResourceWeight"
HEAP_IGNORED = "the modular load manager no longer counts heap memory, whatever its weight"
MODULAR = "modular"
EXTENSIBLE, TRANSFER = "extensible", "TransferShedder"
"""Kind of the extensible load manager, and its only shedding strategy."""

KINDS = (MODULAR, "simple", EXTENSIBLE)
"""The kinds of Pulsar's load managers that balance load."""

NOTHING = "NoopLoadManager"

EXTENSIBLE_CLASS = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"

TRANSFER_CLASS = f"{PACKAGE}extensions.scheduler.{TRANSFER}"

ROLES: Mapping[str, str] = {
    MANAGER: "load manager",
    STRATEGY: "shedding strategy of the modular load manager",
    PLACEMENT: "placement strategy",
}

AVG_SHEDDER = "impl.AvgShedder"
"""The class that is both a shedding and a placement strategy, and has to be set as both."""

LEAST_RATE = f"{PACKAGE}impl.LeastLongTermMessageRate"
"""The placement strategy that runs if no other strategy is configured."""

SIMPLE_PLACEMENT = "loadBalancerPlacementStrategy"
PLACEMENT_SINCE = (2, 11)
"""The first release line that has placement strategies."""

STOPPED, NOT_KNOWN = "none", "not known"
"""Load manager of a broker that does not start, and a load manager that is not known."""

EFFECTS_OF_BAD_CLASS = {
    "overload": "OverloadShedder runs instead, and only the log says so",
    "simple": "the simple load manager runs instead",
    "simple-manager": "the simple load manager runs instead of the modular one, and only the log "
    "says so",
    "refused": f"the broker {STARTS_NOT}",
}
"""Consequences of a bad class name, by the behavior of a release (see `specs/ways.yaml`)."""


@dataclass(frozen=True)
class Running:
    """The load manager and the strategies that run with a broker's settings."""

    manager: str
    """A kind of load manager, the name of another class, or `STOPPED` or `NOT_KNOWN`."""
    shedding: str
    """The class of the shedding strategy; the configured class if no strategy is used."""
    placement: str
    culprit: str = ""
    """The setting whose class does not run; empty if all configured classes run."""
    problem: str = ""
    """The mistake in the value of the setting `culprit`."""
    instead: str = ""
    """The consequence of the mistake; empty if it is unknown because the release is unknown."""

    def __str__(self) -> str:
        return f"{self.problem}, so {self.instead}" if self.instead else self.problem


def running_classes(settings: Mapping[str, Any], version: str = "") -> Running:
    """Return the load manager and strategies that a version runs with a broker's settings.

    If they are not the configured classes, the result says why. Class names in `settings` include
    the package. Without a version, it is not known which class replaces a missing one.
    """
    manager = manager_by_settings(settings)
    shedding, placement = (_full(settings, one, version) for one in (STRATEGY, PLACEMENT))
    configured = Running(manager, shedding, placement)
    if problem := _problem(MANAGER, _full(settings, MANAGER, version), version):
        return _fallback(configured, MANAGER, problem, version)
    if manager == EXTENSIBLE:
        if shedding == TRANSFER_CLASS or _is_plug_in(shedding):
            return configured
        runs = replace(configured, shedding=TRANSFER_CLASS)
        own = any(shedding.removeprefix(PACKAGE) in has for _, has in CLASSES.values())
        unless = "" if own or "." not in shedding else f"{UNLESS_ADDED}, "
        told = f"{unless}{_short(shedding)} is not a strategy of the {EXTENSIBLE} load manager"
        instead = f"{TRANSFER} runs instead"
        return replace(runs, culprit=STRATEGY, problem=told, instead=instead)
    if manager != MODULAR:
        return configured
    if placement == PACKAGE + AVG_SHEDDER != shedding and _replaces_placement(version):
        told, instead = _text_of_unpaired(shedding), f"{_short(LEAST_RATE)} runs instead"
        configured = Running(manager, shedding, LEAST_RATE, PLACEMENT, told, instead)
    elif version and release_line(version) < PLACEMENT_SINCE:
        configured = replace(configured, placement=LEAST_RATE)
    elif problem := _problem(PLACEMENT, placement, version) or _why_unpaired(settings, version):
        return _fallback(configured, PLACEMENT, problem, version)
    if problem := _problem(STRATEGY, shedding, version):
        return _fallback(configured, STRATEGY, problem, version)
    return configured


def _fallback(configured: Running, name: str, problem: str, version: str) -> Running:
    """Return the classes that run in a version that cannot load the class of a setting."""
    taken = _alternative_taken(CLASSES[name][0], version)
    runs = replace(
        configured, culprit=name, problem=problem, instead=EFFECTS_OF_BAD_CLASS.get(taken, "")
    )
    if taken in ("simple", "simple-manager"):
        return replace(runs, manager="simple")
    if taken == "refused":
        return replace(runs, manager=STOPPED)
    if taken == "overload":
        return replace(runs, shedding=f"{PACKAGE}impl.OverloadShedder")
    return replace(runs, manager=NOT_KNOWN) if name == MANAGER else runs


def _why_unpaired(settings: Mapping[str, Any], version: str) -> str:
    """Return why AvgShedder as the placement strategy keeps the modular manager from starting.

    Empty if it does not do so.
    """
    placement = _full(settings, PLACEMENT, version)
    if placement != PACKAGE + AVG_SHEDDER or _replaces_placement(version):
        return ""
    old = bool(version) and not requires_strategy_pair(version)
    shedding = _full(settings, STRATEGY, version)
    if old and shedding != _full(settings, SIMPLE_PLACEMENT, version):
        return f"Pulsar {version} loads it only if {STRATEGY} and {SIMPLE_PLACEMENT} are equal"
    if not old and shedding != placement:
        return _text_of_unpaired(shedding)
    return ""


def _text_of_unpaired(shedding: str) -> str:
    return f"AvgShedder must also be the shedding strategy, but {STRATEGY} is {_short(shedding)}"


def _replaces_placement(version: str) -> bool:
    """True if a version replaces a placement strategy that does not match the shedding strategy."""
    judged = judged_version(version) if version else None
    return judged is not None and PLACEMENT in judged.defaults


def _problem(name: str, value: str, version: str) -> str:
    """Return why a version cannot load a class that a setting names; empty if it can."""
    if "." not in value:
        return f"{value} has no package, and Pulsar needs the full class name"
    own, (_, known) = value.removeprefix(PACKAGE), CLASSES[name]
    if _is_plug_in(value):
        return ""
    if value == TRANSFER_CLASS and name == STRATEGY:
        return f"{TRANSFER} belongs to the {EXTENSIBLE} load manager"
    if own in known:
        absent = f"{UNLESS_ADDED}, Pulsar {version} has no {_short(value)}"
        return absent if _lacks(version, own) else ""
    if own in NO_ROLE:
        return f"{value} {NO_ROLE[own]}"
    if any(own in classes for _, classes in CLASSES.values()):
        return f"{value} is not a {ROLES[name]}"
    has = {_short(one): PACKAGE + one for one in known if not _lacks(version, one)}
    return no_class_text(value, has)


def _lacks(version: str, class_name: str) -> bool:
    """True if a version lacks one of Pulsar's classes."""
    judged = judged_version(version) if version else None
    lacks = judged is not None and _short(class_name) in judged.lacks
    return lacks or (bool(version) and was_added_later(_short(class_name), version))


def _full(settings: Mapping[str, Any], name: str, version: str) -> str:
    """Return the full class name in a setting or, if it is not set, its default in a version."""
    default = default_in_version(broker_settings()[name], version or known_releases()[0])
    return str(settings.get(name) or default)


def _short(name: str) -> str:
    """Return the name of a class without its package."""
    return name.rpartition(".")[2]


def with_full_names(
    settings: Mapping[str, Any], names: Collection[str] | None = None
) -> Mapping[str, Any]:
    """Return settings with packages added to Pulsar's classes: in all settings, or in `names`."""
    full = {
        (name, _short(one)): PACKAGE + one
        for name, (_, classes) in CLASSES.items()
        for one in classes
    }
    return {
        name: full.get((name, str(value)), value) if names is None or name in names else value
        for name, value in settings.items()
    }


def manager_by_settings(settings: Mapping[str, Any]) -> str:
    """Return the selected load manager: modular, simple or extensible, or another class's name."""
    named = str(settings.get(MANAGER) or "ModularLoadManagerImpl")
    kind = next((one for one in KINDS if _short(named).lower().startswith(one)), None)
    missing = named.startswith(PACKAGE) and named.removeprefix(PACKAGE) not in CLASSES[MANAGER][1]
    return _short(named) if kind is None or missing or _is_plug_in(named) else kind


def without_effect(
    values: Mapping[str, Any], version: str = "", *, defaults: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the names of settings without effect, each with the reason.

    Unless `defaults` is true, settings with their default are left out, except for the weight of
    heap memory and a replaced shedding strategy. Without a version, the oldest release is assumed.
    """
    release = nearest_release(version) if version else known_releases()[0]
    runs = running_classes(values, version)
    for name, value in values.items():
        setting = broker_settings().get(name)
        if setting is None:
            continue
        default = default_in_version(setting, version or release)
        if setting.name == MEMORY_WEIGHT and _ignores_heap(_manager(values, runs), version):
            if value or defaults:
                yield name, f"{value}: {HEAP_IGNORED}"
        elif wrong := _mistake(name, values, runs, version):
            yield name, wrong
        elif prevents_election(name, value, runs.manager):
            continue  # The broker reads this interval before it checks whether the task is enabled.
        elif defaults or value != default:
            why = _why_off(setting, values, runs, release, version)
            if why:
                yield name, why


def _manager(values: Mapping[str, Any], runs: Running) -> str:
    """Return the running load manager or, if there is none or it is unknown, the configured one."""
    stopped = runs.manager in (STOPPED, NOT_KNOWN)
    return manager_by_settings(values) if stopped else runs.manager


def _ignores_heap(manager: str, version: str) -> bool:
    """True if a version, with this load manager, is known to ignore heap memory."""
    return manager == MODULAR and _alternative_taken("heap-memory", version) == "left-out"


def _why_off(
    setting: BrokerSetting, values: Mapping[str, Any], runs: Running, release: str, version: str
) -> str:
    """Return why other settings make a setting ineffective; empty if they do not."""
    configured, manager = manager_by_settings(values), _manager(values, runs)
    shedding, placement = _short(runs.shedding), _short(runs.placement)
    known = release if version else known_releases()[-1]
    belongs, users = setting.manager(known), users_in_version(setting, known, version)
    if setting.name == MEMORY_WEIGHT and _ignores_heap(MODULAR, version):
        users = (EXTENSIBLE,)
    belongs = MODULAR if setting.strategies else belongs
    if manager not in (*KINDS, NOTHING):
        return ""  # A plug-in may extend one of Pulsar's load managers, and read its settings.
    if manager == NOTHING and setting.name.startswith("loadBalancer"):
        return f"{NOTHING} balances nothing"
    if setting.name == STRATEGY:
        belongs = EXTENSIBLE if shedding == TRANSFER else MODULAR
        if manager == MODULAR and _short(_full(values, PLACEMENT, version)) == _short(AVG_SHEDDER):
            return ""  # It must match the placement strategy, even if nothing is shed.
    switch = SHEDDING_ENABLED if setting.strategies else setting.switch
    if users and manager == MODULAR and placement not in users:
        switch = BALANCING_ENABLED if MODULAR in users else SHEDDING_ENABLED
    bound = setting.name == SIMPLE_PLACEMENT and runs.placement == PACKAGE + AVG_SHEDDER
    bound = bound and not (version and requires_strategy_pair(version))
    if runs.manager == STOPPED and runs.culprit == MANAGER:
        belongs = ""  # It is not known which load manager will run.
    if belongs and manager not in belongs.split(" or ") and not (bound and manager == MODULAR):
        verb = "is configured" if manager == configured else "runs"
        named = f"the {manager} one" if manager in KINDS else manager
        return f"it belongs to the {belongs} load manager, but {named} {verb}"
    chosen = {manager} | ({shedding, placement} if manager == MODULAR else set())
    if users and chosen.isdisjoint(users):
        told = [f"the {one} load manager" if one in KINDS else one for one in users]
        plug_in = any(map(_is_plug_in, (runs.shedding, runs.placement)))
        return "" if plug_in else f"only {enumerated(told)} use{'' if told[1:] else 's'} it"
    if setting.strategies and _is_plug_in(runs.shedding):
        return ""
    if setting.strategies and shedding not in setting.strategies:
        verb = "is set" if shedding == _short(str(values.get(STRATEGY))) else "runs"
        return f"it belongs to {' and '.join(setting.strategies)}, but {shedding} {verb}"
    if switch == BALANCING_ENABLED and manager == EXTENSIBLE and setting.name != SHEDDING_ENABLED:
        switch = ""  # Load data are written even so.
    if setting.name == AUTO_SPLIT_ENABLED and manager == EXTENSIBLE:
        switch = BALANCING_ENABLED  # SplitScheduler needs both settings.
    off = [one for one in (BALANCING_ENABLED, switch) if switch and values.get(one) is False]
    algorithm = _short(_full(values, DEFAULT_ALGORITHM, release))
    if off and not (setting.name in FLOW_LIMITS and algorithm == BY_RATES):
        return f"{off[0]} is false"
    if setting.placement and manager == MODULAR and placement != setting.placement:
        return f"it belongs to {setting.placement}, but {placement} is set"
    if setting.algorithm and algorithm != setting.algorithm:
        return f"it belongs to {setting.algorithm}, but {algorithm} is set"
    return ""


UNKNOWN: Mapping[str, str] = {
    MANAGER: model.UNKNOWN_MANAGER,
    STRATEGY: model.UNKNOWN_SHEDDER,
    PLACEMENT: model.UNKNOWN_PLACER,
}
"""For each class setting: the part that `parts_in_force` adds if its class cannot run."""


def parts_in_force(values: Mapping[str, Any], runs: Running) -> frozenset[str]:
    """Return the parts of a broker that run, as named by `parts` in `specs/ways.yaml`.

    They are `BROKER`, the running load manager, its tasks and strategies, and unusable classes.
    """
    balances = values.get(BALANCING_ENABLED) is not False
    parts = {model.BROKER, runs.manager, UNKNOWN.get(runs.culprit, model.BROKER)}
    parts |= set() if values.get(MANAGER) else {model.UNSET_MANAGER}
    if runs.manager == MODULAR:
        parts |= {model.PLACING, _as_own(runs.placement)}
    if runs.manager == MODULAR and balances and values.get(AUTO_SPLIT_ENABLED) is not False:
        parts.add(model.SPLITTING)
    if balances and values.get(SHEDDING_ENABLED) is not False:
        parts |= {_as_own(runs.shedding)} if runs.manager in (MODULAR, EXTENSIBLE) else set()
        parts |= {model.SHEDDING} if runs.manager == MODULAR else set()
    return frozenset(parts)


def _as_own(name: str) -> str:
    """Return the name of a Pulsar class without its package, or any other name unchanged."""
    return name if _is_plug_in(name) else _short(name)


def _is_plug_in(name: str) -> bool:
    """True if a class is not Pulsar's own; the settings that it reads are then unknown."""
    return "." in name and not name.startswith(PACKAGE)


def _mistake(name: str, values: Mapping[str, Any], runs: Running, version: str) -> str:
    """Return why a setting's value keeps a broker from starting or makes another class run.

    Empty if it does neither in this version. Without a version, the consequences are not known.
    """
    value = values[name]
    if name == runs.culprit:
        return str(runs)
    manager, balances = _manager(values, runs), values.get(BALANCING_ENABLED) is not False
    if balances or manager == EXTENSIBLE or broker_settings()[name].switch != BALANCING_ENABLED:
        wrong = why_bad_interval(name, value, manager) or why_bad_table_view(
            name, str(value), manager
        )
        wrong = wrong or why_bad_tombstone(name, values, manager)
        return wrong or why_bad_algorithm(name, values, version)
    return ""


def _alternative_taken(way: str, version: str) -> str:
    """Return the alternative of a way that a version follows; `unspoken` if it is unknown."""
    return ways_of_version(version).get(way, "unspoken") if version else "unspoken"
