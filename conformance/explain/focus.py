"""Restricts a derivation to a broker or a bundle, or to steps that need no unknown traffic."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from pulsar_conformance.conformance.cases.legality import trial_flaw
from pulsar_conformance.conformance.cases.saved import BadCase
from pulsar_conformance.conformance.cases.setting_types import (
    NotParsed,
    parse_sweep,
    with_settings,
)
from pulsar_conformance.conformance.cases.settings import given_settings
from pulsar_conformance.conformance.common.trial import Json, Question, Trial, copied
from pulsar_conformance.conformance.explain.paper import format_decision
from pulsar_conformance.conformance.explain.running import (
    NIC_SPEED,
    comparable_answers,
    with_release_defaults,
    without_effect_notes,
)
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import Derivation, Model, Step
from pulsar_conformance.reference.averages import WINDOWS
from pulsar_conformance.reference.cluster import RATE_FIELDS
from pulsar_conformance.reference.shedding_steps import TIE
from pulsar_conformance.reference.undocumented_steps import MAY_GO
from pulsar_conformance.specs.setting_names import why_unknown
from pulsar_conformance.specs.text import columns, paragraph

STAYS = "stays"
KEPT_LABELS = (STAYS, MAY_GO)
"""Labels of steps about a bundle that is not unloaded; they end with the reason."""

BUNDLE_LABELS = ("goes", *KEPT_LABELS)
"""Labels of steps that say whether a bundle goes or stays."""


MAX_STAYING = 10
"""If a decision leaves at most this many bundles on their brokers, all of them are listed."""

MAX_LISTED = 5
"""Maximum number of brokers that a message names."""

NEARLY_MOVED = 2
"""Number of staying bundles listed for each broker if not all of them are listed."""

ASSUMED_BUNDLES = 16
"""Number of bundles that a broker is assumed to have, so that a part of them can be unloaded."""

SUPPOSED_BUNDLES = [
    f"supposed/traffic/0x{n:x}0000000_0x{n:x}fffffff" for n in range(ASSUMED_BUNDLES)
]
"""Names of the bundles that a broker is assumed to have if none of its bundles is known."""

ASSUMED_TRAFFIC = dict(zip(RATE_FIELDS, (1e5, 1e5, 1e9, 1e9), strict=True))
"""Traffic that a bundle is assumed to have: more than any threshold."""

OF_TRAFFIC = re.compile(r"\b[01] (msg|B)/s")
"""Matches text that shows unknown traffic as 0 or 1 msg/s or B/s."""

DECIDING = ("decision", "to shed", "share", "stays", "goes")
"""Labels of steps that follow from a broker's traffic."""

NO_TRAFFIC, OF_OTHER = re.compile(r"\b(and) 0 B/s"), re.compile(r"\bthe 0 B/s")
"""Match the two places where the condition for an underloaded broker prints 0 B/s."""

UNKNOWN_HIT = "0 or 1, depending on traffic,"
"""Text for a number of hits that depends on unknown traffic."""

LATER_LABELS = ("later", "would go")
"""Labels of steps about later cycles, which depend on traffic."""


@dataclass(frozen=True)
class Focus:
    """The broker or bundle to which a derivation is restricted; None means all."""

    broker: str | None = None
    bundle: str | None = None

    def __bool__(self) -> bool:
        return self.broker is not None or self.bundle is not None

    def shown_steps(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Yield the general steps, and the steps about the selected broker or bundle."""
        for section in _sections(steps):
            if not section[0].text and not self._includes_section(section):
                continue
            yield from (step for step in section if self._is_shown(step))

    def _includes_section(self, section: Sequence[Step]) -> bool:
        if self.broker is not None and section[0].label.strip() != self.broker:
            return False
        return self.bundle is None or any(_is_about_bundle(step, self.bundle) for step in section)

    def _is_shown(self, step: Step) -> bool:
        walked = step.label.strip() in BUNDLE_LABELS
        return self.bundle is None or not walked or _is_about_bundle(step, self.bundle)

    def shown_answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an answer with only the unloads of the selected broker or bundle."""
        pairs = answer.get("unload")
        if not isinstance(pairs, list) or not self:
            return answer
        return {**answer, "unload": [pair for pair in pairs if self._matches_unload(pair)]}

    def _matches_unload(self, pair: Mapping[str, str]) -> bool:
        asked = {"broker": self.broker, "bundle": self.bundle}
        return all(name is None or pair[what] == name for what, name in asked.items())

    def missing(self, case: Mapping[str, Any]) -> str | None:
        """Return a message if a case lacks the selected broker or bundle, else None."""
        text = repr(case)
        asked = {"broker": self.broker, "bundle": self.bundle}
        gone = {what: name for what, name in asked.items() if name and repr(name) not in text}
        if not gone:
            return None
        known = set(re.findall(r"'([^']+)'", text))
        brokers = list(case.get("brokers") or ())
        listed = ", ".join(brokers[:MAX_LISTED]) + (", …" if len(brokers) > MAX_LISTED else "")
        near = get_close_matches(self.bundle or "", known, n=1) if "bundle" in gone else []
        other = f"did you mean {near[0]}?" if near else "see the names in the case"
        hint = f"its brokers are {listed}" if "broker" in gone else other
        named = " and no ".join(f"{what} {name}" for what, name in gone.items())
        return f"it contains no {named}; {hint}"


def sweep_lines(text: str, trial: Trial, model: Model, focus: Focus, version: str) -> Iterator[str]:
    """Yield the decision about a bundle or broker for each value of a setting.

    The last line says from which value on the decision does not change. `text` is
    `NAME=FIRST..LAST/STEP`. Errors: `BadCase`, `BadSetting`, `specs.UnknownName`.
    """
    here = f"--sweep {text}"
    try:
        swept, values = parse_sweep(text)
    except NotParsed as wrong:
        raise BadCase(f"{here}: {wrong}") from None
    if not focus:
        raise BadCase(f"{here}: name a bundle with --bundle, or a broker with --broker")
    if trial.operation != SHED.id or len(trial.questions) > 1:
        raise BadCase(f"{here}: only a single cycle of shedding ({SHED.id}) can be swept")
    if swept == NIC_SPEED:
        raise BadCase(f"{here}: it affects load reports, but the case already has them")
    every = [given_settings([f"{swept}={value}"]) for value in values]
    if why := _why_no_value_matters(swept, every, trial, model, version):
        yield from paragraph(f"--sweep {swept} has no effect: {why}", 2)
        yield from (
            "",
            *paragraph(f"at each of these values: {_decision_about(trial, model, focus)}"),
        )
        return
    for note in dict.fromkeys(
        note
        for given in every
        for note in without_effect_notes(
            with_settings(trial, given), model, version, dict.fromkeys(given, swept)
        )
    ):
        yield from paragraph(note.replace("--setting", "--sweep"), 2)
    fates = [_decision_about(with_settings(trial, given), model, focus) for given in every]
    name = next(iter(every[0]))
    yield name
    yield from columns([(f"  {one}", fate) for one, fate in zip(values, fates, strict=True)])
    same = next((place for place, fate in enumerate(reversed(fates)) if fate != fates[-1]), None)
    if same is None:
        yield from ("", *paragraph(f"at each of these values: {fates[-1]}"))
        return
    before, since = values[-same - 1], values[-same]
    told = f"from {since} to {values[-1]}: {fates[-1]}"
    yield from ("", *paragraph(f"{told}; values between {before} and {since} are not tried"))


def _why_no_value_matters(
    swept: str, every: Sequence[Mapping[str, Any]], trial: Trial, model: Model, version: str
) -> str:
    """Return why none of these values of a setting has an effect; empty if one has an effect."""
    if version and (unknown := why_unknown(swept, version)):
        return unknown
    marked = "no effect: "
    notes = [
        next((note.partition(marked)[2] for note in found if marked in note), "")
        for found in (
            without_effect_notes(
                with_settings(trial, given), model, version, dict.fromkeys(given, ""), defaults=True
            )
            for given in every
        )
    ]
    return notes[0] if all(notes) else ""


def _decision_about(trial: Trial, model: Model, focus: Focus) -> str:
    """Return what a model decides about the selected bundle or broker."""
    complete, _ = with_release_defaults(trial, model)
    problem = trial_flaw(trial, complete.defaults)
    if problem is not None:
        raise BadCase(f"--sweep: {problem}")
    answer = complete.answer(*trial.questions[0])
    if "unload" not in answer:
        return format_decision(answer)
    pairs = focus.shown_answer(answer)["unload"]
    if focus.bundle is None:
        return format_decision({"unload": pairs})
    return f"it is unloaded from {pairs[0]['broker']}" if pairs else "it stays"


def shorten_stays(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield a decision's steps, but at most two staying bundles of each broker.

    These two are the bundles that would be moved next. If at most `MAX_STAYING` bundles stay, all
    steps are yielded.
    """
    if sum(step.label.strip() in KEPT_LABELS for step in steps) <= MAX_STAYING:
        yield from steps
        return
    for label, run in groupby(steps, key=lambda step: step.label):
        each = list(run)
        if label.strip() not in KEPT_LABELS or len(each) <= NEARLY_MOVED + 1:
            yield from each
            continue
        yield from each[:NEARLY_MOVED]
        rest = each[NEARLY_MOVED:]
        parts = (part for step in rest for part in step.text.rpartition(", ")[2].split("; "))
        reasons = dict.fromkeys(part for part in parts if not part.endswith(TIE))
        yield Step(label, f"{len(rest)} more bundles, {'; '.join(reasons)} (--all lists each)")


def _sections(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """Group consecutive steps into sections: a heading and the indented steps below it."""
    section: list[Step] = []
    for step in steps:
        if section and not step.label.startswith(" "):
            yield section
            section = []
        section.append(step)
    if section:
        yield section


def _is_about_bundle(step: Step, bundle: str) -> bool:
    return step.label.strip() in BUNDLE_LABELS and step.text.startswith(bundle)


def undecided_brokers(trial: Trial, model: Model, unknown: Collection[str]) -> list[str]:
    """Return the brokers with unknown traffic whose traffic could change the decision."""
    if not unknown:
        return []
    usual = comparable_answers(trial, model)
    return [
        broker
        for broker in unknown
        if any(
            comparable_answers(one, model) != usual for one in _with_assumed_traffic(trial, broker)
        )
    ]


def _with_assumed_traffic(trial: Trial, broker: str) -> Iterator[Trial]:
    """Yield copies of the trial with heavy traffic in place of a broker's unknown traffic."""
    cases = (one.case for one in trial.questions)
    reports = [case["brokers"][broker] for case in cases if broker in case.get("brokers", {})]
    lacking = {
        bundle: None
        for report in reports
        for bundle, stats in report.get("lastStats", {}).items()
        if not stats.keys() >= ASSUMED_TRAFFIC.keys()
    }
    names = list(lacking) or SUPPOSED_BUNDLES
    for some in (names, *([one] for one in names[:ASSUMED_BUNDLES] if len(lacking) > 1)):
        yield Trial(
            tuple(Question(one, _with_traffic(case, broker, some)) for one, case in trial.questions)
        )


def _with_traffic(case: Json, broker: str, bundles: Sequence[str]) -> Json:
    """Return the case with heavy traffic in place of the unknown traffic of a broker's bundles."""
    changed: Json = copied(case)
    known = changed.get("brokers", {}).get(broker)
    if not isinstance(known, dict):
        return changed
    known["bundles"] = list(dict.fromkeys((*known.get("bundles", ()), *bundles)))
    before = known.get("lastStats", {})
    added = {name: {**ASSUMED_TRAFFIC, **before.get(name, {})} for name in bundles}
    known["lastStats"] = {**before, **added}
    stats = known["lastStats"].values()
    known.update({name: sum(one.get(name, 0) for one in stats) for name in ASSUMED_TRAFFIC})
    data = changed.setdefault("bundles", {})
    for name in bundles:
        own = data.get(name, {})
        data[name] = {
            frame: {**ASSUMED_TRAFFIC, "numSamples": 1, "maxSamples": window, **own.get(frame, {})}
            for frame, window in WINDOWS.items()
        }
    return changed


def without_unknown_traffic(
    derived: Derivation, undecided: Sequence[str], decided: Collection[str]
) -> Derivation:
    """Return a derivation without steps that follow from the unknown traffic of brokers.

    `undecided`: the brokers whose unknown traffic could change the answer; if there are any, the
    derivation has no answer. `decided`: the other brokers, whose steps are kept unchanged.
    """
    steps = _with_unknown_hits(derived.steps)
    if undecided:
        why = f"the metrics lack traffic of {', '.join(undecided)}, on which the decision depends"
        return Derivation({"undecidable": why}, lambda: _steps_without_traffic(steps, decided))
    open_later = [
        one for one in steps if one.label in LATER_LABELS or one.text.startswith(UNKNOWN_HIT)
    ]
    if not open_later:
        return derived
    known = [one for one in steps if one.label not in LATER_LABELS]
    why = "it depends on the traffic of brokers, which the metrics do not have"
    return Derivation(derived.answer, lambda: iter([*known, Step("later", why)]))


def _with_unknown_hits(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps; TransferShedder's hits are marked as unknown if they depend on unknown
    traffic.
    """
    found = next((one for one in steps if one.label == "underloaded"), None)
    if found is None:
        return steps
    text = NO_TRAFFIC.sub(r"\1 unknown traffic", OF_OTHER.sub("the traffic", found.text))
    changed = {found: replace(found, text=text)}
    if text.startswith("none: ") and text != found.text:
        changed[found] = replace(found, text=text.replace("none", "unknown", 1))
        changed |= {
            one: replace(one, text=one.text.replace("0", UNKNOWN_HIT, 1))
            for one in steps
            if one.label == "hits" and one.text.startswith("0 ")
        }
    return [changed.get(one, one) for one in steps]


def _steps_without_traffic(steps: Sequence[Step], decided: Collection[str]) -> Iterator[Step]:
    """Yield the steps that do not follow from unknown traffic, and all steps about `decided`."""
    section, told = "", False
    for step in steps:
        indented = step.label.startswith(" ")
        if not indented:
            section, told = step.label, False
        follows = step.label.strip() in DECIDING or OF_TRAFFIC.search(step.text)
        if section in decided or not follows:
            yield step
        elif indented and not told:
            told = True
            yield Step("decision", "it depends on traffic, which is unknown").within()
