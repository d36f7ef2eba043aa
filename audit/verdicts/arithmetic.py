"""The arithmetic of a cycle's case, even if several brokers report the same bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from pulsar_conformance.audit.input.parsing import SHEDDING
from pulsar_conformance.audit.input.paths import AuditError
from pulsar_conformance.conformance.cases.saved import BadCase, ProvidedQuestions, trial_of
from pulsar_conformance.conformance.explain.derivations import ExplainOptions, case_lines
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.running import with_release_defaults
from pulsar_conformance.conformance.shedding.operations import SHED
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs.text import WIDTH, counted, paragraph

Json = dict[str, Any]
Claims = Mapping[str, Sequence[str]]
"""The brokers that report a bundle, for each bundle that several brokers report."""

BundleOfBroker = tuple[str, str]
"""A broker, and one of its bundles."""

OwnerChoice = Callable[[Sequence[str]], str]
"""A function that chooses a bundle's owner among the brokers that report the bundle."""

TEXT_WIDTH = WIDTH - 4
"""Width of indented text, in characters."""

MAX_NAMED = 3
"""Maximum number of bundles that a text names; it gives only the number of all others."""


def arithmetic_lines(
    saved: Mapping[str, Any], focus: Focus, others: Sequence[Mapping[str, Any]] = ()
) -> list[str]:
    """Return the derivation of a saved case, limited to the bundle or broker in `focus`.

    `others` are cases of the same moment under other profiles, whose decisions are compared. If
    several brokers report a bundle, the text says so and gives a derivation for each possible
    owner. Errors: `AuditError`.
    """
    claims = contested_bundles(saved["case"])
    if not claims:
        return _derivation((saved, *others), focus)
    lines = paragraph(_claims_text(claims, focus), 2, "", TEXT_WIDTH)
    for title, owner in _possible_owners(claims, focus):
        cases = [
            {**one, "case": _with_owners(one["case"], claims, owner)} for one in (saved, *others)
        ]
        lines += ["", title, *_derivation(cases, focus)]
    return lines


def _derivation(cases: Sequence[Mapping[str, Any]], focus: Focus) -> list[str]:
    """Return the derivation of the first case, compared with the decisions in the other cases.

    `cases` are the cases of one moment, one for each profile.
    """
    saved, *others = cases
    trial = trial_of(saved)
    if trial is None:
        raise AuditError(
            "the case that the audit wrote for this cycle cannot be read; report this as a bug of "
            "pulsar-conformance"
        )
    handed = ProvidedQuestions("the cycle", trial, saved["profile"], saved["readings"])
    read = ((one["profile"], trial_of(one)) for one in others)
    trials = {profile: other for profile, other in read if other is not None}
    try:
        return list(case_lines(handed, ExplainOptions(None, {}, {}, focus, trials=trials)))
    except BadCase as wrong:
        problem = str(wrong).partition(": ")[2].removeprefix("case.")
        return paragraph(
            f"the arithmetic of this case cannot be shown: {problem}", 2, "", TEXT_WIDTH
        )


@dataclass(frozen=True)
class UnloadDifference:
    """How a case's answer under a profile differs from the unloads recorded in its cycle."""

    profile: str
    kept: Set[BundleOfBroker]
    """Bundles that were shed although the profile keeps them."""

    unloaded: Set[BundleOfBroker]
    """Bundles that the profile unloads although no unload of them is recorded."""

    def __str__(self) -> str:
        by = f"{self.profile}, by this arithmetic,"
        parts = (
            (f"{by} keeps", self.kept, "which was shed"),
            (f"{by} unloads", self.unloaded, "of which no unload is recorded"),
        )
        return "; ".join(
            f"{what} {_listed_bundles(pairs)}, {but}" for what, pairs, but in parts if pairs
        )


def difference_from_recorded(
    saved: Mapping[str, Any], recorded: Mapping[BundleOfBroker, str], focus: Focus
) -> UnloadDifference | None:
    """Return how a case's answer differs from the unloads recorded in its cycle.

    None if it does not differ, or if the case has no definite answer, for example because a setting
    is missing. `recorded` maps the broker and bundle of each unload to its cause. Only recorded
    unloads that shedding caused can differ.
    """
    chosen = chosen_unloads(saved, focus)
    if chosen is None:
        return None
    shed = {one for one, cause in recorded.items() if cause == SHEDDING}
    found = UnloadDifference(saved["profile"], shed - chosen, chosen - recorded.keys())
    return found if found.kept or found.unloaded else None


def chosen_unloads(saved: Mapping[str, Any], focus: Focus) -> set[BundleOfBroker] | None:
    """Return the broker and bundle of each unload that the case's profile requires.

    None if the answer is not definite, for example because a setting is missing.
    """
    trial = trial_of(saved)
    if trial is None or trial.operation != SHED.id or contested_bundles(saved["case"]):
        return None
    model, _ = with_release_defaults(trial, Model(saved["profile"], saved["readings"]))
    try:
        answer = model.answer(*trial.questions[0])
    except MissingSetting:
        return None
    if "unload" not in answer:
        return None
    return {(one["broker"], one["bundle"]) for one in focus.shown_answer(answer)["unload"]}


def _listed_bundles(pairs: Set[BundleOfBroker]) -> str:
    names = [f"{bundle} of {broker}" for broker, bundle in sorted(pairs)]
    more = [counted(len(names) - MAX_NAMED, "other bundle")] if len(names) > MAX_NAMED else []
    return ", ".join((*names[:MAX_NAMED], *more))


def contested_bundles(case: Mapping[str, Any]) -> Claims:
    """Return the bundles that several brokers report in the same cycle, with these brokers."""
    found: dict[str, list[str]] = {}
    for cycle in case.get("cycles", [case]):
        claimed: dict[str, list[str]] = {}
        for broker, report in cycle["brokers"].items():
            for bundle in report.get("bundles", ()):
                claimed.setdefault(bundle, []).append(broker)
        found |= {bundle: brokers for bundle, brokers in claimed.items() if len(brokers) > 1}
    return found


def _claims_text(claims: Claims, focus: Focus) -> str:
    """Return text on which brokers report which bundles, and which records would help."""

    def apart(bundle: str) -> tuple[bool, bool]:
        return bundle != focus.bundle, focus.broker not in claims[bundle]

    named = sorted(claims, key=apart)[:MAX_NAMED]
    names = [f"{one} ({', '.join(claims[one])})" for one in named]
    more = len(claims) - len(names)
    names += [counted(more, "other bundle")] if more else []
    unknown = "bundles in the last reports of several brokers, so their owners are not known"
    decided = "rules that depend on them are undecided without records of unloads and new owners"
    return f"{unknown}: {'; '.join(names)}; {decided}"


def _possible_owners(claims: Claims, focus: Focus) -> Iterator[tuple[str, OwnerChoice]]:
    """Yield each assumption about the owners: its title, and the function that chooses an owner."""
    if focus.bundle is not None and focus.bundle in claims:
        for broker in claims[focus.bundle]:
            yield f"if {broker} owned it", _preferring(broker)
    elif focus.broker is not None and any(focus.broker in brokers for brokers in claims.values()):
        broker = focus.broker
        yield f"if {broker} owned the bundles that it reports", _preferring(broker)
        yield "if the other broker owned it", _avoiding(broker)
    else:
        yield "if the first of these brokers owned it", lambda brokers: brokers[0]


def _preferring(broker: str) -> OwnerChoice:
    return lambda brokers: broker if broker in brokers else brokers[0]


def _avoiding(broker: str) -> OwnerChoice:
    return lambda brokers: next(one for one in brokers if one != broker)


def _with_owners(case: Mapping[str, Any], claims: Claims, owner: OwnerChoice) -> Json:
    """Return the case with each contested bundle left only at the owner that `owner` chooses."""
    owners = {bundle: owner(brokers) for bundle, brokers in claims.items()}

    def left(cycle: Mapping[str, Any]) -> Json:
        return {
            **cycle,
            "brokers": {
                broker: _without(report, {one for one in owners if owners[one] != broker})
                for broker, report in cycle["brokers"].items()
            },
        }

    if "cycles" in case:
        return {**case, "cycles": [left(cycle) for cycle in case["cycles"]]}
    return left(case)


def _without(report: Mapping[str, Any], gone: set[str]) -> Json:
    return {**report, "bundles": [one for one in report.get("bundles", ()) if one not in gone]}
