"""`bundles.split`: into which parts is a bundle split?"""

from __future__ import annotations

from pulsar_conformance.conformance.core.likeness import same_field
from pulsar_conformance.conformance.core.operation import Operation, Problems
from pulsar_conformance.conformance.core.trial import Json
from pulsar_conformance.conformance.operations.examples import TOPICS
from pulsar_conformance.conformance.views import Parts, Plain
from pulsar_conformance.reference import MissingSetting, Readings, Settings
from pulsar_conformance.reference.ranges import HashRange, hash_of
from pulsar_conformance.reference.splitting import SELECTING_SETTING

WHOLE = "0x00000000_0xffffffff"


def _legal(case: Json, settings: Settings) -> Problems:
    try:
        bundle = HashRange.parse(case["bundle"])
    except ValueError as wrong:
        yield f"case.bundle: {wrong}"
        return
    selecting = {*settings.given, *settings.defaults} & set(SELECTING_SETTING.values())
    if case["algorithm"] is None and not selecting:
        raise MissingSetting(SELECTING_SETTING["default"])
    outside = [topic for topic in case["topics"] if hash_of(topic) not in bundle]
    if case["bundle"] != WHOLE and outside:
        yield f"case.topics: {outside[0]} is outside {case['bundle']}"
    if len(set(case["topics"])) < len(case["topics"]):
        yield "case.topics: a topic is named twice"


def _needed(case: Json, settings: Settings, readings: Readings) -> None:
    """The setting that selects the algorithm (by the reading `split-key`) if none is named."""
    if case["algorithm"] is None:
        settings.text(SELECTING_SETTING[readings["split-key"]])


def _example(algorithm: str, positions: list[str]) -> Json:
    return {
        "bundle": WHOLE,
        "algorithm": algorithm,
        "by": "admin",
        "settings": {"defaultNamespaceBundleSplitAlgorithm": "range_equally_divide"},
        "topics": TOPICS,
        "positions": positions,
    }


SPLIT = Operation(
    id="bundles.split",
    view=lambda case, settings, _readings: Plain(case, settings),
    read=lambda _case, answer: Parts(tuple(answer.get("bundles", ())), answer.get("refused")),
    matches=same_field("bundles"),
    examples=(
        _example("range_equally_divide", []),
        _example("specified_positions_divide", ["0x10000000"]),
    ),
    legal=_legal,
    needs=_needed,
    refusable=True,
    names=frozenset({"topics", "positions"}),
    said_by_case=dict.fromkeys(SELECTING_SETTING.values(), "algorithm"),
)
