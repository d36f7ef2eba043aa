"""Operations on bundles: create bundles, locate topics, split a bundle, choose bundles to split."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from pulsar_conformance.conformance.common.check import Violated, same
from pulsar_conformance.conformance.common.clusters import (
    LEFT,
    RIGHT,
    TOPICS,
    bundles_named_in,
    cluster_problems,
    example_broker,
    example_bundle_data,
)
from pulsar_conformance.conformance.common.operation import (
    FlatCase,
    NamesUsed,
    Operation,
    Problems,
    same_field,
)
from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.reference import MissingSetting, Readings, Settings
from pulsar_conformance.reference.candidates import Growth
from pulsar_conformance.reference.ranges import (
    FULL_UPPER,
    HASHES,
    PARTITION,
    HashRange,
    hash_of,
    namespace_of,
    ranges_of,
)
from pulsar_conformance.reference.splitting import SELECTING_SETTING

DEFAULT_BUNDLES = "defaultNumberOfNamespaceBundles"
DEFAULT_SYSTEM_BUNDLES = "defaultNumberOfSystemNamespaceBundles"
WHOLE = "0x00000000_0xffffffff"
ALL = ["0x00000000", "0xffffffff"]
HALVES = ["0x00000000", "0x80000000", "0xffffffff"]


def _creation_problems(case: Json, settings: Settings) -> Problems:
    count, place = case["bundles"], "case.bundles"
    creator = case.get("creator", "admin")
    if count is None:
        name = DEFAULT_SYSTEM_BUNDLES if creator == "system" else DEFAULT_BUNDLES
        count, place = settings.number(name), f"case.settings.{name}"
    elif creator != "admin":
        yield f"case.bundles: only an administrator may request a number of bundles, not {creator}"
    if count != int(count) or not 1 <= count < HASHES:
        yield f"{place}: {float(count):g} is not a whole number of bundles from 1 to {HASHES - 1}"


def _read_boundaries(_case: FlatCase, answer: Json) -> list[str]:
    boundaries: list[str] = answer["boundaries"]
    return boundaries


CREATE = Operation(
    id="bundles.create",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=_read_boundaries,
    matches=same_field("boundaries"),
    examples=tuple({"bundles": number, "settings": {}} for number in (16, 2, None)),
    legal=_creation_problems,
    overridden_by={DEFAULT_BUNDLES: "bundles"},
)


@dataclass(frozen=True)
class Locating(FlatCase):
    """A `bundles.locate` case: topics, and the bundles of their namespace."""

    @cached_property
    def ranges(self) -> tuple[HashRange, ...]:
        """The namespace's bundles, in order."""
        return ranges_of(self.case["boundaries"])


@dataclass(frozen=True)
class Located:
    """An answer that gives the bundle of each topic."""

    case: Locating
    bundles: tuple[str, ...]

    @cached_property
    def by_topic(self) -> dict[str, str]:
        """The bundle of each topic."""
        return dict(zip(self.case["topics"], self.bundles, strict=False))


def _location_problems(case: Json, _settings: Settings) -> Problems:
    ends = [int(boundary, 16) for boundary in case["boundaries"]]
    if len(ends) < 2 or ends[0] != 0 or ends[-1] != FULL_UPPER:
        yield "case.boundaries: they must go from 0x00000000 to 0xffffffff"
    if any(low >= high for low, high in pairwise(ends)):
        yield "case.boundaries: they must ascend, without repetition"


def _location_names(case: Json, answer: Json) -> list[NamesUsed]:
    return [NamesUsed(answer["bundles"], [part.name for part in ranges_of(case["boundaries"])])]


def _bundle_by_topic(case: Json, answer: Json) -> object:
    return sorted(zip(case["topics"], answer["bundles"], strict=False))


def _is_location_determined(case: Locating, readings: Readings) -> bool:
    """True if every topic is located by the hash of its own name, or no topic is a partition.

    No document says how partitions are located under the other alternative of `partitions`.
    """
    return readings["partitions"] == "hashed" or not any(map(PARTITION.search, case["topics"]))


LOCATE = Operation(
    id="bundles.locate",
    view=lambda case, settings, _readings: Locating(case, settings),
    read=lambda case, answer: Located(case, tuple(answer["bundles"])),
    matches=same_field("bundles"),
    examples=tuple({"boundaries": cuts, "topics": TOPICS} for cuts in (ALL, HALVES)),
    legal=_location_problems,
    removable=frozenset({"boundaries", "topics"}),
    names=_location_names,
    regardless_of_order=_bundle_by_topic,
    determined=_is_location_determined,
)


@dataclass(frozen=True)
class Parts:
    """The parts of a split bundle, in order; or the reason why the split was refused."""

    names: tuple[str, ...]
    refused: str | None

    @classmethod
    def read(cls, _case: FlatCase, answer: Json) -> Parts:
        """Read the parts from an answer, which may list them in any order."""
        names = answer.get("bundles", ())
        with suppress(ValueError):  # `ranges` reports it
            names = sorted(names, key=HashRange.parse)
        return cls(tuple(names), answer.get("refused"))

    @cached_property
    def ranges(self) -> tuple[HashRange, ...]:
        """The parts as ranges."""
        try:
            return tuple(map(HashRange.parse, self.names))
        except ValueError as error:
            raise Violated("ranges of hashes", str(error)) from None

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.refused else ", ".join(self.names)


def _split_problems(case: Json, settings: Settings) -> Problems:
    try:
        bundle = HashRange.parse(case["bundle"])
    except ValueError as error:
        yield f"case.bundle: {error}"
        return
    selecting = {*settings.given, *settings.defaults} & set(SELECTING_SETTING.values())
    if case["algorithm"] is None and not selecting:
        raise MissingSetting(SELECTING_SETTING["default"])
    outside = [topic for topic in case["topics"] if hash_of(topic) not in bundle]
    if case["bundle"] != WHOLE and outside:
        yield f"case.topics: {outside[0]} is outside {case['bundle']}"
    if len(set(case["topics"])) < len(case["topics"]):
        yield "case.topics: a topic is named twice"


def _needs_an_algorithm(case: Json, settings: Settings, readings: Readings) -> None:
    """Require the setting that selects the algorithm (see `split-key`) if the case names none."""
    if case["algorithm"] is None:
        settings.text(SELECTING_SETTING[readings["split-key"]])


def _same_parts(allowed: Json, answer: Json) -> bool:
    """True if two answers have the same parts in any order, since no document defines the order."""
    return sorted(allowed["bundles"]) == sorted(answer.get("bundles", ()))


def _example_split(algorithm: str, positions: list[str]) -> Json:
    return {
        "bundle": WHOLE,
        "algorithm": algorithm,
        "by": "admin",
        "settings": {SELECTING_SETTING["default"]: "range_equally_divide"},
        "topics": TOPICS,
        "positions": positions,
    }


SPLIT = Operation(
    id="bundles.split",
    view=lambda case, settings, _readings: FlatCase(case, settings),
    read=Parts.read,
    matches=_same_parts,
    examples=(
        _example_split("range_equally_divide", []),
        _example_split("specified_positions_divide", ["0x10000000"]),
    ),
    legal=_split_problems,
    needs=_needs_an_algorithm,
    refusable=True,
    removable=frozenset({"topics", "positions"}),
    overridden_by=dict.fromkeys(SELECTING_SETTING.values(), "algorithm"),
)


@dataclass(frozen=True)
class Candidates:
    """An answer: the bundles to split and, of these, the bundles whose parts are unloaded."""

    split: tuple[str, ...]
    unload: tuple[str, ...]


def exceeds(growth: Growth, bundle: str, name: str) -> bool | None:
    """True if a bundle exceeds a threshold; None if rounding could decide."""
    measured, limit = growth.measured(bundle, name), growth.limits[name]
    whole = measured.denominator == limit.denominator == 1
    if measured != limit and not whole and same(measured, limit):
        return None
    return measured > limit


def _candidate_problems(case: Json, settings: Settings) -> Problems:
    yield from cluster_problems(case, settings)
    owned = [bundle for report in case["brokers"].values() for bundle in report.get("bundles", ())]
    for namespace, count in Counter(map(namespace_of, owned)).items():
        if case["namespaceBundles"].get(namespace, 0) < count:
            yield (
                f"case.namespaceBundles: {namespace} must have {count} or more, since brokers own "
                f"{count} of its bundles"
            )


def _same_candidates(allowed: Json, answer: Json) -> bool:
    """True if two answers have the same bundles, in any order."""
    return all(set(allowed[name]) == set(answer[name]) for name in ("split", "unload"))


def _candidate_names(case: Json, answer: Json) -> list[NamesUsed]:
    return [NamesUsed((*answer["split"], *answer["unload"]), bundles_named_in(case))]


def _are_candidates_determined(case: Growth, _readings: Readings) -> bool:
    """True if it is certain which bundles exceed a threshold, and all of them may be split."""
    found = {bundle: [exceeds(case, bundle, name) for name in case.limits] for bundle in case.stats}
    growing = Counter(namespace_of(bundle) for bundle, over in found.items() if any(over))
    room = all(count <= case.room(namespace) for namespace, count in growing.items())
    return room and not any(None in over for over in found.values())


def _example_candidates(leader: bool) -> Json:
    return {
        "settings": {},
        "leader": leader,
        "brokers": {"broker-1": example_broker(50.0, 4, [LEFT, RIGHT])},
        "bundles": example_bundle_data(),
        "namespaceBundles": {"t/ns": 2},
    }


SPLIT_CANDIDATES = Operation(
    id="bundles.split_candidates",
    view=Growth,
    read=lambda _case, answer: Candidates(tuple(answer["split"]), tuple(answer["unload"])),
    matches=_same_candidates,
    examples=(_example_candidates(True), _example_candidates(False)),
    legal=_candidate_problems,
    removable=frozenset({"brokers", "bundles"}),
    names=_candidate_names,
    determined=_are_candidates_determined,
)
