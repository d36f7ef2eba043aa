"""Cross checks of the rules against each other and against everything else."""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from pulsar_conformance.specs.check_data import check_reading_values, check_source
from pulsar_conformance.specs.collection import Specs
from pulsar_conformance.specs.errors import unknown
from pulsar_conformance.specs.lines import Place, Sheet
from pulsar_conformance.specs.model import AREAS, Rule

MAX_UNTESTABLE = 5
"""The most documented rules that may have no check."""


def check_rules(specs: Specs, sheets: Iterable[Sheet]) -> None:
    """Raise SpecError for the first thing that does not fit."""
    untestable = 0
    for sheet, index, rule in _with_places(specs, sheets):
        _check_area(sheet, index, rule)
        _check_names(specs, sheet, index, rule)
        _check_provenance(specs, sheet, index, rule)
        _check_claims(specs, sheet, index, rule)
        if not rule.operations and rule.untestable is None:
            problem = "names no operation; add one, or say untestable: why"
            raise sheet.error((index,), f"{rule.id}: {problem}")
        if rule.any_operation and len(rule.operations) < 2:
            problem = "any_operation is for several operations; leave it out"
            raise sheet.error((index, "any_operation"), f"{rule.id}: {problem}")
        untestable += rule.untestable is not None
        if untestable > MAX_UNTESTABLE:
            problem = f"is one untestable rule too many; at most {MAX_UNTESTABLE} may be"
            raise sheet.error((index, "untestable"), f"{rule.id}: {problem}")


def _with_places(specs: Specs, sheets: Iterable[Sheet]) -> Iterator[tuple[Sheet, int, Rule]]:
    for sheet in sheets:
        for index, entry in enumerate(sheet.data):
            yield sheet, index, specs.rules[entry["id"]]


def _check_area(sheet: Sheet, index: int, rule: Rule) -> None:
    if rule.area not in AREAS:
        problem = unknown(rule.area, "area", AREAS)
        raise sheet.error((index, "id"), f"{rule.id}: {problem}")
    if PurePosixPath(sheet.file).stem != rule.area.lower():
        right = f"rules/{rule.area.lower()}.yaml"
        raise sheet.error((index, "id"), f"{rule.id}: belongs into {right}")


def _check_names(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    named = (
        ("settings", "setting", rule.settings, specs.settings),
        ("profiles", "profile", rule.profiles, specs.profiles),
        ("presupposes", "rule", rule.presupposes, specs.rules),
    )
    for key, kind, names, known in named:
        for number, name in enumerate(names):
            if name not in known:
                problem = f"{rule.id}: {key}: {unknown(name, kind, known)}"
                raise sheet.error((index, key, number), problem)
    if rule.id in rule.presupposes:
        raise sheet.error((index, "presupposes"), f"{rule.id}: presupposes itself; leave that out")
    place: Place = (index, "reading")
    check_reading_values(specs, sheet, place, rule.id, rule.reading)
    for name in rule.reading:
        if specs.readings[name].kind != "rules":
            problem = f"{name} is a value in the model and chooses no rules (kind: rules would)"
            raise sheet.error((*place, name), f"{rule.id}: {problem}")


def _check_provenance(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    for number, source in enumerate(rule.sources):
        check_source(specs, source, sheet, (index, "sources", number), rule.id)
    if rule.provenance == "observed":
        _check_observed(specs, sheet, index, rule)
        return
    if not rule.sources:
        raise sheet.error((index,), f"{rule.id}: a documented rule needs sources")
    documents = {source.document for source in rule.sources}
    originals = {one for one in documents if specs.documents[one].copy_of is None}
    if not originals:
        problem = f"rests on {', '.join(sorted(documents))} alone, a copy; name the original, too"
        raise sheet.error((index, "sources"), f"{rule.id}: {problem}")
    allowed = [p.id for p in specs.profiles.values() if documents & set(p.documents)]
    if set(rule.profiles) != set(allowed):
        problem = f"its sources put it into {', '.join(allowed)}, and not {_listed(rule.profiles)}"
        raise sheet.error((index, "profiles"), f"{rule.id}: {problem}")


def _check_observed(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    if rule.why is None:
        problem = "an observed rule says why: where it was seen"
        raise sheet.error((index,), f"{rule.id}: {problem}")
    if rule.sources:
        problem = "an observed rule has no sources; what a document says is documented"
        raise sheet.error((index, "sources"), f"{rule.id}: {problem}")
    for number, name in enumerate(rule.profiles):
        if specs.profiles[name].kind == "documented":
            problem = f"an observed rule belongs to no documented profile, and {name} is one"
            raise sheet.error((index, "profiles", number), f"{rule.id}: {problem}")


def _check_claims(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    for number, source in enumerate(rule.sources):
        section = specs.documents[source.document].section(source.section)
        assert section is not None, "checked above"
        for position, claimed in enumerate(source.sentences):
            sentence = section.sentences[claimed - 1]
            if sentence.none is not None or sentence.awaits is not None:
                said = "carries no rule" if sentence.none is not None else "awaits another area"
                problem = (
                    f"claims sentence {claimed} of {source.document} § {source.section}, which "
                    f"documents.yaml says {said}; only one can be"
                )
                place = (index, "sources", number, "sentences", position)
                raise sheet.error(place, f"{rule.id}: {problem}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
