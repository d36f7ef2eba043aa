"""Variants to compare: implementations, strategies, settings, and the values of a sweep."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.names import check_name, connect
from pulsar_conformance.adapters.protocol import Hello
from pulsar_conformance.audit.simulation.course import SimulatedCourse, decode_course, encode_course
from pulsar_conformance.audit.simulation.deciding import (
    ITSELF,
    REFERENCE,
    Decider,
    decision_setup,
)
from pulsar_conformance.audit.simulation.loop import Simulation
from pulsar_conformance.audit.simulation.worlds import (
    BadWorld,
    SimulatedWorld,
    usual_settings,
    world_titles,
)
from pulsar_conformance.conformance.cases.effects import (
    EXTENSIBLE_CLASS,
    MANAGER,
    TRANSFER,
    parts_in_force,
    running_classes,
    with_full_names,
    without_effect,
)
from pulsar_conformance.conformance.cases.setting_types import (
    NotParsed,
    parse_sweep,
    why_odd_value,
)
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.common.image_tags import version_for_settings
from pulsar_conformance.reference.answers.bundles import SPLIT_CANDIDATES
from pulsar_conformance.reference.answers.shedding import SHED, strategies_of
from pulsar_conformance.reference.shedding import STRATEGY as STRATEGY_SETTING
from pulsar_conformance.reference.shedding import short_name
from pulsar_conformance.specs.errors import UserError
from pulsar_conformance.specs.judged import nearest_profile
from pulsar_conformance.specs.setting_names import why_unknown

STRATEGY, PROFILE = "strategy", "profile"
NON_SETTING_PREFIXES = (f"{STRATEGY}=", f"{PROFILE}=")
"""Prefixes of the words of a variant that are not settings."""

PULSAR = "pulsar:"
"""Prefix of the names of adapters for released Pulsar."""

SETTING = re.compile(r"[A-Za-z]\w*=")


@dataclass(frozen=True)
class Variant:
    """An implementation with a profile, a strategy and settings; `compared` if of `--compare`."""

    adapter: str
    profile: str
    strategy: str
    settings: Mapping[str, Any]
    placing: str = ITSELF
    compared: bool = False

    @property
    def name(self) -> str:
        """The words by which `--compare` selects the variant."""
        given = [f"{name}={value}" for name, value in self.settings.items()]
        own = [f"{PROFILE}={self.profile}"] if self.profile != DEFAULT_PROFILE else []
        return " ".join((self.adapter, *own, f"{STRATEGY}={self.strategy}", *given))

    @property
    def deciding_values(self) -> tuple[object, ...]:
        """All values that determine the variant's decisions."""
        return self.adapter, self.profile, self.strategy, *sorted(self.settings.items())

    @property
    def lacking_settings(self) -> Mapping[str, str]:
        """The settings of the variant that its release lacks, each with the reason."""
        own = _version_of_adapter(self.adapter)
        version = version_for_settings(None, profile=None if own else self.released, release=own)
        known = {name: why_unknown(name, version) for name in self.settings if version}
        return {name: why for name, why in known.items() if why}

    @property
    def released(self) -> str | None:
        """The released profile that gives the defaults of undocumented settings; None if the
        variant has none.
        """
        if self.adapter.startswith(PULSAR):
            return profile_of_adapter(self.adapter)
        known = specs.load().profile(self.profile)
        return self.profile if known.released else None


def _version_of_adapter(adapter: str) -> str:
    """Return the version of Pulsar that an adapter names; empty if it names none."""
    version = adapter.removeprefix(PULSAR).partition(",")[0]
    return version if adapter.startswith(PULSAR) and version[:1].isdigit() else ""


def profile_of_adapter(adapter: str) -> str | None:
    """Return the profile of the version of Pulsar that an adapter names; None if it names none."""
    version = _version_of_adapter(adapter)
    return nearest_profile(version) if version else None


def settings_without_effect(variant: Variant, world: SimulatedWorld) -> Iterator[str]:
    """Yield a note on each setting that has no effect because the strategy or other settings
    disable it.

    Also yield a note on settings that the release lacks or no longer reads in files, and on odd
    values. A world's settings are considered only if the world is described in a file.
    """
    known = set(world.files.unused) if world.files else set()
    files = read_by_variant(variant, world).files
    new = [one for one in files.unused if one not in known] if files else []
    yield from (f"without effect in Pulsar {files.version}: {one}" for one in new if files)
    usual = world.settings if world.name in world_titles() or world.notes else usual_settings()
    given = {name for name, value in world.settings.items() if value != usual.get(name)}
    for name, why in _idle_settings(variant, world):
        if name in variant.lacking_settings:
            yield f"{name}: {why}"
        elif name in {*given, *variant.settings}:
            yield f"{name} has no effect with {variant.strategy}: {why}"
    values, version = _settings_that_run(variant, world), _version(variant)
    parts = parts_in_force(values, running_classes(values, version))
    for name in sorted({*given, *variant.settings} & values.keys()):
        if why := why_odd_value(name, values[name], version, parts):
            yield f"{name} = {values[name]}: {why}"


def _idle_settings(
    variant: Variant, world: SimulatedWorld, *, defaults: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield the settings without effect, each with the reason.

    They include settings that the variant's release lacks, and settings of the world or the variant
    that other settings disable. `defaults` is passed on to `without_effect`.
    """
    yield from variant.lacking_settings.items()
    values = _settings_that_run(variant, world)
    for name, why in without_effect(values, _version(variant), defaults=defaults):
        if name not in variant.lacking_settings:
            yield name, why


def _version(variant: Variant) -> str:
    """Return the release line that a variant follows; empty if it follows documents."""
    return (variant.released or "").partition("-")[2]


def read_by_variant(variant: Variant, world: SimulatedWorld) -> SimulatedWorld:
    """Return a world with the settings in its files as the variant's release reads them."""
    own = bool(world.version) and nearest_profile(world.version) == variant.profile
    named = _version_of_adapter(variant.adapter)
    followed = None if own or named else variant.released
    version = version_for_settings(None, profile=followed, release=named, reported=[world.version])
    return world.as_read_by(version)


def _settings_that_run(variant: Variant, world: SimulatedWorld) -> Mapping[str, Any]:
    """Return the combined settings of a world and a variant, with the full names of classes."""
    settings = read_by_variant(variant, world).settings
    values = {**settings, **variant.settings, STRATEGY_SETTING: variant.strategy}
    if variant.strategy == TRANSFER:
        values[MANAGER] = EXTENSIBLE_CLASS
    return with_full_names(values)


def strategy_of_settings(settings: Mapping[str, Any]) -> str:
    """Return the class name of the strategy in settings, without its package; empty if they set
    none.
    """
    return str(settings.get(STRATEGY_SETTING) or "").rpartition(".")[2]


def split_strategy(
    place: str, named: str | None, settings: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """Return the strategy that is named or set (None if there is neither), and the other settings.

    Errors: `BadWorld` if a strategy is named, but the settings set a different strategy.
    """
    others = {name: value for name, value in settings.items() if name != STRATEGY_SETTING}
    given = strategy_of_settings(settings)
    if named and given and named != given:
        problem = f"{STRATEGY_SETTING}={given} contradicts strategy {named}"
        raise BadWorld(f"{place}: {problem}; give one of them")
    return named or given or None, others


def words_as_variant(text: str, usual: Variant) -> Variant:
    """Return the variant that these words describe.

    The words are `ADAPTER`, `strategy=`, `profile=` and `SETTING=VALUE`, in any order. Errors:
    `BadWorld`, `BadSetting`, `UnknownName`, `AdapterError`.
    """
    try:
        words = shlex.split(text)
    except ValueError as wrong:
        raise BadWorld(f"--compare {text}: {wrong}") from None
    adapters = [word for word in words if not SETTING.match(word)]
    if len(adapters) > 1 or not words:
        form = "[ADAPTER] [strategy=NAME] [profile=NAME] [SETTING=VALUE ...]"
        raise BadWorld(f"--compare {text!r}: write {form}")
    given = [word for word in words if SETTING.match(word)]
    joined = next(
        (word for word in given if any(f",{one}" in word for one in NON_SETTING_PREFIXES)), ""
    )
    if joined:
        apart = joined.replace(",", " ")
        raise BadWorld(f"--compare {text}: separate with spaces, not commas: {apart!r}")
    named = dict(word.split("=", 1) for word in given if word.startswith(NON_SETTING_PREFIXES))
    settings = given_settings([word for word in given if not word.startswith(NON_SETTING_PREFIXES)])
    chosen = named.get(STRATEGY)
    strategy, settings = split_strategy(
        f"--compare {text}", chosen and short_name(chosen), settings
    )
    adapter = adapters[0] if adapters else usual.adapter
    check_name(adapter)
    followed = usual.profile
    if adapters and specs.load().profile(followed).released:
        followed = profile_of_adapter(adapter) or followed
    return replace(
        usual,
        adapter=adapter,
        profile=specs.load().profile(named.get(PROFILE, followed)).id,
        strategy=strategy or usual.strategy,
        settings={**usual.settings, **settings},
        compared=True,
    )


class Offering(Decider, Protocol):
    """An implementation that also says which operations it offers."""

    hello: Hello


def sweep(
    text: str, variants: Iterable[Variant], worlds: Sequence[SimulatedWorld]
) -> tuple[list[Variant], list[str]]:
    """Return each variant with each value in `NAME=FIRST..LAST/STEP`, and notes.

    A variant that no value affects stays unchanged, and a note says so. Errors: `BadWorld`.
    """
    try:
        swept, values = parse_sweep(text)
    except NotParsed as wrong:
        raise BadWorld(f"--sweep {text}: {wrong}") from None
    found: list[Variant] = []
    notes: list[str] = []
    for variant in variants:
        swept_ones = []
        for value in values:
            given = given_settings([f"{swept}={value}"])
            if twice := next((name for name in given if name in variant.settings), None):
                problem = f"{twice}={variant.settings[twice]} is given as well"
                raise BadWorld(f"--sweep {text}: {problem}; remove one of the two")
            swept_ones.append(replace(variant, settings={**variant.settings, **given}))
        reasons = [_why_idle(one, variant, worlds) for one in swept_ones]
        if all(reasons):
            notes.append(f"--sweep {swept} has no effect with {variant.strategy}: {reasons[0]}")
        found += [variant] if all(reasons) else swept_ones
    return found, notes


def _why_idle(swept: Variant, variant: Variant, worlds: Sequence[SimulatedWorld]) -> str:
    """Return why the swept setting has no effect in any world; empty if it has one somewhere."""
    added = swept.settings.keys() - variant.settings.keys()
    idle = [dict(_idle_settings(swept, world, defaults=True)) for world in worlds]
    whys = [next((why for name, why in one.items() if name in added), "") for one in idle]
    return whys[0] if whys and all(whys) else ""


def simulate_worlds(
    variant: Variant, worlds: Sequence[SimulatedWorld], cycles: int, readings: Mapping[str, str]
) -> Iterator[SimulatedCourse]:
    """Yield the simulation of each world with a variant.

    Errors: `BadWorld`, `AdapterError`, `specs.UnknownName` for a reading that the profile does not
    permit.
    """
    specs.load().check_open(variant.profile, readings)
    with connect(variant.adapter, variant.profile, readings) as connection:
        yield from map(make_simulator(variant, connection, cycles), worlds)


Report = Callable[[int], object]
"""Function that is called with the number of completed simulations."""


def simulate_in_tasks(
    target: str,
    variants: Sequence[Variant],
    worlds: Sequence[SimulatedWorld],
    cycles: int,
    readings: Mapping[str, str],
    report: Report,
) -> list[SimulatedCourse]:
    """Return the simulation of each variant in each world, each run in a Spark task of its own.

    Errors: as in `simulate_worlds`, and `AdapterError` if Spark is unavailable.
    """
    from pulsar_conformance.adapters.spark.tasks import results_of_tasks

    pairs = [f"{one} {world}" for one in range(len(variants)) for world in range(len(worlds))]
    work = partial(_simulate_pair, variants, worlds, cycles, readings)
    found: dict[str, SimulatedCourse] = {}
    report(0)
    for pair, result in results_of_tasks(target, work, pairs):
        made = json.loads(result)
        if "mistake" in made:
            raise BadWorld(made["mistake"])
        variant, world = map(int, pair.split())
        found[pair] = decode_course(made, read_by_variant(variants[variant], worlds[world]))
        report(len(found))
    return [found[pair] for pair in pairs]


def _simulate_pair(
    variants: Sequence[Variant],
    worlds: Sequence[SimulatedWorld],
    cycles: int,
    readings: Mapping[str, str],
    pair: str,
) -> str:
    """Return JSON: the simulation of a variant in a world, or the user's mistake."""
    variant, world = map(int, pair.split())
    try:
        [course] = simulate_worlds(variants[variant], [worlds[world]], cycles, readings)
    except UserError as mistake:
        return json.dumps({"mistake": str(mistake)})
    return json.dumps(encode_course(course))


def make_simulator(
    variant: Variant, connection: Offering, cycles: int
) -> Callable[[SimulatedWorld], SimulatedCourse]:
    """Return a function that simulates a world with a variant. Errors: those of
    `simulate_worlds`.
    """
    deciding = decision_setup(
        variant.strategy,
        {
            one: value
            for one, value in variant.settings.items()
            if one not in variant.lacking_settings
        },
        variant.placing,
        variant.profile,
        variant.released,
        connection.hello.operations,
    )

    def simulate(world: SimulatedWorld) -> SimulatedCourse:
        _check_offers(variant, connection, world)
        world = read_by_variant(variant, world)
        return Simulation(world, deciding, connection).run(cycles, variant.name)

    return simulate


def _check_offers(variant: Variant, connection: Offering, world: SimulatedWorld) -> None:
    offered, hello = connection.hello.operations, connection.hello
    needed = [SHED, *([SPLIT_CANDIDATES] if world.topics_each_cycle else [])]
    for operation in needed:
        if operation not in offered:
            problem = f"it does not offer {operation}, which {world.name} needs"
            raise BadWorld(f"{variant.adapter}: {problem}; choose another --world")
    if hello.strategies and variant.strategy not in hello.strategies:
        known = ", ".join(hello.strategies)
        problem = f"it does not offer {variant.strategy}; choose from {known}"
        raise BadWorld(f"{variant.adapter}: {problem}{_profile_hint(variant)}")


def _profile_hint(variant: Variant) -> str:
    """Return a hint on the profiles with which the reference offers the strategy, if any."""
    bundled = specs.load()
    documents = (name for name, profile in bundled.profiles.items() if not profile.released)
    offering = [
        name for name in documents if variant.strategy in strategies_of(bundled.defaults(name))
    ]
    if variant.adapter != REFERENCE or not offering:
        return ""
    option = f"{PROFILE}=" if variant.compared else f"--{PROFILE} "
    return f", or give {option}{' or '.join(offering)}, with which it offers the strategy"
