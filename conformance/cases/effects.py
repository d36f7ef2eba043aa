"""Settings without effect, because of other settings or of the release, and values that a release
does not take for what they seem to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.specs.broker import (
    BrokerSetting,
    broker_settings,
    known_releases,
    nearest_release,
)
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import ways_of_version

MANAGER, STRATEGY = "loadManagerClassName", "loadBalancerLoadSheddingStrategy"
PLACEMENT, ALGORITHM = "loadBalancerLoadPlacementStrategy", "defaultNamespaceBundleSplitAlgorithm"
BALANCING, SHEDDING = "loadBalancerEnabled", "loadBalancerSheddingEnabled"
HEAP = "loadBalancerMemoryResourceWeight"
HEAP_IGNORED = "the modular load manager no longer counts heap memory, whatever its weight"
MODULAR = "modular"
EXTENSIBLE, TRANSFER = "extensible", "TransferShedder"
"""Kind of the extensible load manager, and its only shedding strategy."""

KINDS = (MODULAR, "simple", EXTENSIBLE)
"""The kinds of load managers."""

EXTENSIBLE_CLASS = "org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl"

PACKAGE = "org.apache.pulsar.broker.loadbalance."
"""The package of Pulsar's own classes; a class of another package is a plug-in."""

CLASSES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "loadManagerClassName": (
        "bad-manager",
        (
            "impl.ModularLoadManagerImpl",
            "impl.ModularLoadManagerWrapper",
            "impl.SimpleLoadManagerImpl",
            "extensions.ExtensibleLoadManagerImpl",
            "extensions.ExtensibleLoadManagerWrapper",
            "NoopLoadManager",
        ),
    ),
    "loadBalancerLoadSheddingStrategy": (
        "bad-shedder",
        (
            "impl.OverloadShedder",
            "impl.ThresholdShedder",
            "impl.UniformLoadShedder",
            "impl.AvgShedder",
            "extensions.scheduler.TransferShedder",
        ),
    ),
    "loadBalancerLoadPlacementStrategy": (
        "bad-placer",
        (
            "impl.LeastLongTermMessageRate",
            "impl.LeastResourceUsageWithWeight",
            "impl.RoundRobinBrokerSelector",
            "impl.AvgShedder",
        ),
    ),
}
"""For each setting that names a class: the way of releases with a bad name; Pulsar's classes."""

NAMES = ("OverloadShedder",)

RANGE = "range_equally_divide"
"""Algorithm that splits bundles if the configured one does not exist
(NamespaceService.getNamespaceBundleSplitAlgorithmByName).
"""

BANDWIDTH, LIMIT_WAY = "loadBalancerNamespaceBundleMaxBandwidthMbytes", "bandwidth-limit"
OVERFLOWING = 2048
"""The first limit in MiB/s that overflows, where it does."""

OVERFLOW = "from 2048 MiB/s on, the limit overflows an int, and up to 4095 every bundle exceeds it"


def manager_by_settings(settings: Mapping[str, Any]) -> str:
    """Return the selected load manager: modular, simple or extensible, or the name of a class that
    is none of these.
    """
    named = str(settings.get(MANAGER) or "ModularLoadManagerImpl")
    kind = next((one for one in KINDS if named.rpartition(".")[2].lower().startswith(one)), None)
    missing = named.startswith(PACKAGE) and named.removeprefix(PACKAGE) not in CLASSES[MANAGER][1]
    return named.rpartition(".")[2] if kind is None or missing else kind


def without_effect(values: Mapping[str, Any], version: str = "") -> Iterator[tuple[str, str]]:
    """Yield the names of settings without effect, each with the reason.

    Those with their default are left out, except for a weight of heap memory, whose name suggests
    an effect. Without a version, the oldest known release is assumed.
    """
    known = nearest_release(version) if version else None
    modular = None if manager_by_settings(values) in ("simple", EXTENSIBLE) else known
    for name, value in values.items():
        setting = broker_settings().get(name)
        if setting is None:
            continue
        if setting.name == HEAP and value and _ignores_heap(values, version):
            yield name, f"{value}: {HEAP_IGNORED}"
        elif wrong := _mistake(name, value, modular):
            yield name, wrong
        elif value != setting.default(known or known_releases()[0]):
            why = _why_off(setting, values, known or known_releases()[0])
            if why:
                yield name, why


def _ignores_heap(values: Mapping[str, Any], version: str) -> bool:
    """True if a known release's load manager reads the settings and ignores heap memory."""
    if not version or manager_by_settings(values) != MODULAR:
        return False
    return ways_of_version(version)["heap-memory"] == "left-out"


def _why_off(setting: BrokerSetting, values: Mapping[str, Any], release: str) -> str:
    """Return which other setting makes a setting ineffective; empty if none does."""

    def full(name: str) -> str:
        return str(values.get(name) or broker_settings()[name].default(release))

    def short(name: str) -> str:
        return full(name).rpartition(".")[2]

    configured = manager_by_settings(values)
    manager = "simple" if _falls_back(configured, release) else configured
    belongs = MODULAR if setting.strategies else setting.manager
    if setting.name == STRATEGY:
        belongs = EXTENSIBLE if short(STRATEGY) == TRANSFER else MODULAR
    switch = SHEDDING if setting.strategies else setting.switch
    if belongs and manager not in belongs.split(" or "):
        verb = "is configured" if manager == configured else "runs"
        return f"it belongs to the {belongs} load manager, and {manager} {verb}"
    chosen = {manager} | ({short(STRATEGY), short(PLACEMENT)} if manager == MODULAR else set())
    if setting.used_by and chosen.isdisjoint(setting.used_by):
        plug_ins = map(_is_plug_in, (full(STRATEGY), full(PLACEMENT)))
        return "" if any(plug_ins) else f"only {_listed(setting.used_by)} use it"
    if setting.strategies and _is_plug_in(full(STRATEGY)):
        return ""
    if setting.strategies and short(STRATEGY) not in setting.strategies:
        return f"it belongs to {' and '.join(setting.strategies)}, and {short(STRATEGY)} is set"
    if switch and values.get(BALANCING) is False:
        return f"{BALANCING} is false"
    if switch and values.get(switch) is False:
        return f"{switch} is false"
    if setting.placement and manager == MODULAR and short(PLACEMENT) != setting.placement:
        return f"it belongs to {setting.placement}, and {short(PLACEMENT)} is set"
    if setting.algorithm and short(ALGORITHM) != setting.algorithm:
        return f"it belongs to {setting.algorithm}, and {short(ALGORITHM)} is set"
    return ""


def _is_plug_in(name: str) -> bool:
    """True if a class is not Pulsar's own, so what it reads is not known."""
    return "." in name and not name.startswith(PACKAGE)


def _listed(names: tuple[str, ...]) -> str:
    *others, last = (f"the {one} load manager" if one in KINDS else one for one in names)
    return f"{', '.join(others)} and {last}"


def _mistake(name: str, value: Any, release: str | None) -> str:
    """Return what is wrong with a setting's value, with the consequence in the modular load manager
    of a release; empty if nothing is. Without a release, consequences are not known.
    """
    if name in CLASSES and str(value).startswith(PACKAGE):
        way, classes = CLASSES[name]
        if str(value).removeprefix(PACKAGE) not in classes:
            return _no_class(str(value), classes, _consequence(way, release))
    if name == ALGORITHM and value not in _algorithms():
        near = get_close_matches(str(value), _algorithms(), n=1)
        known = (
            f"the most similar name is {near[0]}"
            if near
            else f"choose from {', '.join(_algorithms())}"
        )
        return f"Pulsar has no algorithm {value} ({known}); {RANGE} is used instead"
    if name == BANDWIDTH and isinstance(value, int) and value >= OVERFLOWING:
        taken = _taken(LIMIT_WAY, release)
        return f"{value}: {OVERFLOW}" if taken == "int" else ""
    return ""


def with_strategy_that_runs(
    settings: Mapping[str, Any], profile: str | None
) -> tuple[Mapping[str, Any], str]:
    """Return the settings of a broker with the shedding strategy that runs, and a note if it is
    not the configured one, because that has no package.

    `profile` is that of the release. Errors: `UserError` if no modular load manager runs at all.
    """
    named = str(settings.get(STRATEGY) or ".")
    if "." in named or profile is None or manager_by_settings(settings) != MODULAR:
        return settings, ""
    taken = specs.load().ways_of(profile)["bad-shedder"]
    problem = f"{STRATEGY}={named} has no package"
    if taken == "overload":
        instead = f"{PACKAGE}impl.OverloadShedder"
        return {**settings, STRATEGY: instead}, f"{problem}, so OverloadShedder runs instead"
    if taken == "unspoken":
        return settings, ""
    means = specs.load().ways["bad-shedder"].alternatives[taken].means
    raise UserError(f"{problem}. {means} Give the full name by --setting to ask nevertheless")


def _falls_back(manager: str, release: str) -> bool:
    """True if a release runs the simple load manager instead of this one, which does not exist."""
    return manager not in KINDS and _taken("bad-manager", release) == "simple"


def _algorithms() -> tuple[str, ...]:
    """Return the names of all algorithms that split bundles."""
    supported = broker_settings()["supportedNamespaceBundleSplitAlgorithms"]
    return tuple(str(supported.default(known_releases()[-1])).split(","))


def _no_class(value: str, classes: tuple[str, ...], means: str) -> str:
    known = {one.rpartition(".")[2]: PACKAGE + one for one in classes}
    near = get_close_matches(value.rpartition(".")[2], known, n=1)
    said = f"; the most similar name is {known[near[0]]}" if near else ""
    return f"Pulsar has no class {value}{said}" + (f"; {means}" if means else "")


def _consequence(way: str, release: str | None) -> str:
    """Return what a release makes of a bad name, as in `specs/ways.yaml`; empty if not known."""
    taken = _taken(way, release)
    if taken == "unspoken":
        return ""
    if (way, taken) == ("bad-manager", "simple"):
        return "the simple load manager runs instead"
    if (way, taken) == ("bad-manager", "refused"):
        return "the broker does not start"
    means = specs.load().ways[way].alternatives[taken].means.rstrip(".")
    return means if means.startswith(NAMES) else means[0].lower() + means[1:]


def _taken(way: str, release: str | None) -> str:
    """Return the alternative of a way that a release takes; "unspoken" if it is not known."""
    if release is None:
        return "unspoken"
    return ways_of_version(release).get(way, "unspoken")
