"""Loads the specifications, and checks their structure and then their consistency."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pulsar_conformance.specs.annotations import Annotations
from pulsar_conformance.specs.check_data import check_data, check_rules
from pulsar_conformance.specs.collection import Specs
from pulsar_conformance.specs.errors import SpecError, unknown_name
from pulsar_conformance.specs.lines import Sheet, read_sheet
from pulsar_conformance.specs.model import (
    AREAS,
    JSON,
    MODULAR,
    Alternative,
    Clause,
    Document,
    Profile,
    Reading,
    Rule,
    Section,
    Sentence,
    Setting,
    Source,
    Way,
    WayAlternative,
)
from pulsar_conformance.specs.schemas import check_shape

Entry = Mapping[str, JSON]


def build_documents(data: Entry) -> dict[str, Document]:
    """Return the documents, built from the data of documents.yaml."""
    return {
        name: Document(
            id=name,
            title=entry["title"],
            version=entry["version"],
            url=entry["url"],
            headings=entry["headings"],
            copy_of=entry.get("copy_of"),
            follows=entry.get("follows"),
            sections=tuple(_build_section(section) for section in entry["sections"]),
        )
        for name, entry in data.items()
    }


def _build_section(entry: Entry) -> Section:
    return Section(
        title=entry["title"],
        sentences=tuple(
            Sentence(number, sentence)
            if isinstance(sentence, str)
            else Sentence(number, **{**sentence, **_tuple_fields(sentence, "like", "rules")})
            for number, sentence in enumerate(entry["sentences"], 1)
        ),
    )


def _tuple_fields(entry: Entry, *names: str) -> dict[str, tuple[JSON, ...]]:
    return {name: tuple(entry.get(name, ())) for name in names}


def _with_references_to_older(documents: dict[str, Document]) -> dict[str, Document]:
    """Return the documents with references from repeated sentences to the page's older version."""
    found: dict[str, Document] = {}
    for name, one in documents.items():
        if one.follows:
            before = found[one.follows]
            pairs = ((section, before.section(section.title)) for section in one.sections)
            one = replace(one, sections=tuple(_with_references(*pair) for pair in pairs))
        found[name] = one
    return found


def _with_references(section: Section, before: Section | None) -> Section:
    if before is None:
        return section
    known = before.sentences
    equal: dict[str, list[int]] = {}
    for one in known:
        equal.setdefault(one.sha256, []).append(one.number)
    found = []
    for sentence in section.sentences:
        like = sentence.like
        own = sentence.none or sentence.awaits or sentence.rules or like
        if not own and equal.get(sentence.sha256):
            like = (equal[sentence.sha256].pop(0),)
        reasons = {known[one - 1].none for one in like}
        none = sentence.none or (reasons.pop() if len(reasons) == 1 else None)
        awaited = {known[one - 1].awaits for one in like}
        besides = [known[one - 1].besides for one in like if known[one - 1].besides]
        found.append(
            replace(
                sentence,
                like=like,
                none=none,
                awaits=sentence.awaits or (awaited.pop() if len(awaited) == 1 else None),
                besides=sentence.besides or next(iter(besides), None),
            )
        )
    return Section(section.title, tuple(found))


def build_settings(data: Entry) -> dict[str, Setting]:
    """Return the settings, built from the data of settings.yaml."""
    return {
        name: Setting(
            name=name,
            type=entry["type"],
            unit=entry["unit"],
            meaning=entry["meaning"],
            documents=tuple(entry["documents"]),
            defaults=entry["defaults"],
            no_default=entry.get("no_default"),
            choices=tuple(entry.get("choices", ())),
            range=tuple(entry["range"]) if "range" in entry else None,
        )
        for name, entry in data.items()
    }


def build_readings(data: Entry) -> dict[str, Reading]:
    """Return the readings, built from the data of readings.yaml."""
    return {
        name: Reading(
            id=name,
            question=entry["question"],
            kind=entry["kind"],
            alternatives=tuple(
                Alternative(
                    value,
                    one["means"],
                    build_sources(one.get("sources", ())),
                    one.get("observed"),
                    one.get("open", False),
                )
                for value, one in entry["alternatives"].items()
            ),
        )
        for name, entry in data.items()
    }


def build_ways(data: Entry) -> dict[str, Way]:
    """Return the ways, built from the data of ways.yaml."""
    return {
        name: Way(
            name,
            entry["question"],
            {
                value: WayAlternative(value, one["means"], one.get("place", ""))
                for value, one in entry["alternatives"].items()
            },
            entry.get("since", ""),
            entry.get("without_case", ""),
            tuple(entry.get("parts", (MODULAR,))),
        )
        for name, entry in data.items()
    }


def build_profiles(data: Entry) -> dict[str, Profile]:
    """Return the profiles, built from the data of profiles.yaml."""
    return {
        name: Profile(
            id=name,
            title=entry["title"],
            kind=entry["kind"],
            documents=tuple(entry["documents"]),
            readings=entry["readings"],
            based_on=entry.get("based_on"),
            defaults=entry.get("defaults", {}),
            ways=entry.get("ways", {}),
            hidden=entry.get("hidden", {}),
            without=entry.get("without", {}),
            settled=entry.get("settled", {}),
        )
        for name, entry in data.items()
    }


OVER_CYCLES = "no single answer shows it; the command {} judges it over many cycles"


def _build_rule(sheet: Sheet, index: int) -> Rule:
    """Return the rule that is built from one entry of a rule file."""
    entry = sheet.data[index]
    statement = " ".join(entry["statement"].split())
    judged_by = entry.get("judged_by", "")
    return Rule(
        id=entry["id"],
        area=entry["id"].partition("-")[0],
        title=entry["title"],
        level=entry["level"],
        statement=statement,
        provenance=entry.get("provenance", "documented"),
        sources=build_sources(entry.get("sources", ())),
        settings=tuple(entry.get("settings", ())),
        operations=tuple(entry.get("operations", ())),
        any_operation=entry.get("any_operation", False),
        any_strategy=entry.get("any_strategy", False),
        managers=tuple(entry.get("managers", ())),
        reading=entry.get("reading", {}),
        profiles=tuple(entry["profiles"]),
        presupposes=tuple(entry.get("presupposes", ())),
        untestable=entry.get("untestable")
        or (OVER_CYCLES.format(judged_by) if judged_by else None),
        why=entry.get("why"),
        file=sheet.file,
        line=sheet.line((index,)),
        clauses=tuple(
            Clause(one.get("says", statement), one.get("broken_by"), one.get("most"))
            for one in entry.get("clauses", ())
        ),
        judged_by=judged_by,
    )


def build_sources(entries: Sequence[Entry]) -> tuple[Source, ...]:
    """Return the sources that the entries of a YAML file describe."""
    return tuple(
        Source(entry["document"], entry["section"], tuple(entry.get("sentences", ())))
        for entry in entries
    )


DATA = ("annotations", "broker", "documents", "settings", "readings", "ways", "profiles")


@cache
def load() -> Specs:
    """Return the bundled specifications. Errors: `SpecError`."""
    return load_from(Path(__file__).parent)


def load_from(directory: Path) -> Specs:
    """Read the specifications from a directory with the layout of specs/."""
    sheets = {name: _load_sheet(directory, f"{name}.yaml", name) for name in DATA}
    rule_sheets = [_load_sheet(directory, file, "rules") for file in _rule_files(directory)]
    annotations = Annotations(sheets["annotations"], sheets["broker"].data)
    of_pages = build_settings(sheets["settings"].data)
    known = build_profiles(sheets["profiles"].data)
    pages = _with_references_to_older(build_documents(sheets["documents"].data))
    rules = _rules_in_area_order(_build_rules(rule_sheets), annotations, known)
    specs = Specs(
        documents={**pages, **annotations.documents()},
        settings=of_pages,
        annotated=annotations.settings(of_pages),
        readings=build_readings(sheets["readings"].data),
        ways=build_ways(sheets["ways"].data),
        hidden=annotations.hidden(),
        profiles=known,
        rules=_with_claims(rules, pages),
    )
    check_data(specs, sheets)
    check_rules(specs, rule_sheets)
    return specs


def _load_sheet(directory: Path, file: str, schema_name: str) -> Sheet:
    sheet = read_sheet(directory, file)
    check_shape(sheet, schema_name)
    return sheet


def _rule_files(directory: Path) -> list[str]:
    """Return the rule files in the order of their areas."""
    order = {f"{area.lower()}.yaml": number for number, area in enumerate(AREAS)}
    found = [path.name for path in (directory / "rules").glob("*.yaml")]
    for name in sorted(found):
        if name not in order:
            problem = unknown_name(name.removesuffix(".yaml").upper(), "area", AREAS)
            raise SpecError(f"rules/{name}", 1, problem)
    return [f"rules/{name}" for name in sorted(found, key=order.__getitem__)]


def _build_rules(sheets: list[Sheet]) -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for sheet in sheets:
        for index in range(len(sheet.data)):
            rule = _build_rule(sheet, index)
            if rule.id in rules:
                first = rules[rule.id]
                problem = f"{rule.id} is given twice, first in {first.file}:{first.line}"
                raise sheet.error((index, "id"), f"{problem}; IDs are never reused")
            rules[rule.id] = rule
    return rules


def _with_claims(rules: dict[str, Rule], documents: Mapping[str, Document]) -> dict[str, Rule]:
    """Return the rules; sentences that documents.yaml assigns to rules are added to the sources."""
    claimed: dict[str, list[Source]] = {}
    for document in documents.values():
        for section in document.sections:
            numbers: dict[str, list[int]] = {}
            for sentence in section.sentences:
                for rule in sentence.rules:
                    numbers.setdefault(rule, []).append(sentence.number)
            for rule, found in numbers.items():
                claimed.setdefault(rule, []).append(
                    Source(document.id, section.title, tuple(found))
                )
    if strange := next((one for one in claimed if one not in rules), None):
        raise SpecError("documents.yaml", 1, unknown_name(strange, "rule", rules))
    return {
        name: replace(rule, sources=tuple(dict.fromkeys((*rule.sources, *claimed.get(name, ())))))
        for name, rule in rules.items()
    }


def _rules_in_area_order(
    written: dict[str, Rule], annotations: Annotations, profiles: Mapping[str, Profile]
) -> dict[str, Rule]:
    """Return the rules of the files and of the annotations, in the order of their areas."""
    every = {**written, **{rule.id: rule for rule in annotations.rules(written, profiles)}}
    areas = {area: number for number, area in enumerate(AREAS)}
    return dict(sorted(every.items(), key=lambda one: (areas.get(one[1].area, len(areas)), one[0])))
