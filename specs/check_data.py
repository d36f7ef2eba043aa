"""Checks that documents, settings, readings, profiles and rules are consistent."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from pulsar_conformance.specs.collection import Specs
from pulsar_conformance.specs.errors import unknown_name
from pulsar_conformance.specs.lines import Place, Sheet
from pulsar_conformance.specs.model import AREAS, JSON, Profile, Rule, Setting, Source

TYPES: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "class": (str,),
    "list": (list,),
}


def check_data(specs: Specs, sheets: Mapping[str, Sheet]) -> None:
    """Raise SpecError for the first inconsistency."""
    _check_documents(specs, sheets["documents"])
    _check_settings(specs, sheets["settings"])
    _check_readings(specs, sheets["readings"])
    _check_ways(specs, sheets["ways"])
    _check_profiles(specs, sheets["profiles"])


def check_source(specs: Specs, source: Source, sheet: Sheet, place: Place, entry: str) -> None:
    """Check that a source refers to existing sentences; error messages name the `entry` with the
    source.
    """
    if source.document not in specs.documents:
        problem = unknown_name(source.document, "document", specs.documents)
        raise sheet.error((*place, "document"), f"{entry}: {problem}")
    document = specs.documents[source.document]
    section = document.section(source.section)
    if section is None:
        titles = (one.title for one in document.sections)
        problem = unknown_name(source.section, f"section of {document.id}", titles)
        raise sheet.error((*place, "section"), f"{entry}: {problem}")
    for index, number in enumerate(source.sentences):
        if not 1 <= number <= len(section.sentences):
            problem = f"{document.id} § {section.title} has no sentence {number}"
            there = f"it has {len(section.sentences)}"
            raise sheet.error((*place, "sentences", index), f"{entry}: {problem}; {there}")


def _check_documents(specs: Specs, sheet: Sheet) -> None:
    with_rules = {rule.area for rule in specs.rules.values()}
    for document in specs.documents.values():
        if document.copy_of is not None and document.copy_of not in specs.documents:
            problem = unknown_name(document.copy_of, "document", specs.documents)
            raise sheet.error((document.id, "copy_of"), f"{document.id}: {problem}")
        titles: set[str] = set()
        for number, section in enumerate(document.sections):
            place = (document.id, "sections", number)
            if section.title in titles:
                problem = f"two sections are called '{section.title}'; a source could mean either"
                raise sheet.error((*place, "title"), f"{document.id}: {problem}")
            titles.add(section.title)
            for sentence in section.sentences:
                if sentence.awaits in with_rules:
                    problem = (
                        f"sentence {sentence.number} of '{section.title}' awaits "
                        f"{sentence.awaits}, which has rules; claim the sentence in one of them, "
                        "or give the reason why no rule claims it as none"
                    )
                    where = (*place, "sentences", sentence.number - 1, "awaits")
                    raise sheet.error(where, f"{document.id}: {problem}")


def _check_settings(specs: Specs, sheet: Sheet) -> None:
    for setting in specs.settings.values():
        _check_names(sheet, setting.name, "documents", setting.documents, specs.documents)
        for document, value in setting.defaults.items():
            place = (setting.name, "defaults", document)
            if document not in setting.documents:
                problem = f"{document} prints a default, but is not among its documents"
                raise sheet.error(place, f"{setting.name}: {problem}")
            mistake = _mistake_in(setting, value)
            if mistake is not None:
                raise sheet.error(place, f"{setting.name}: {mistake}")
        if bool(setting.defaults) == (setting.no_default is not None):
            problem = (
                "give a default that a document prints; if there is none, give the reason as "
                "no_default"
            )
            raise sheet.error((setting.name, "defaults"), f"{setting.name}: {problem}")
        for profile in specs.profiles.values():
            printed = [setting.defaults[d] for d in profile.documents if d in setting.defaults]
            if any(value != printed[0] for value in printed):
                problem = f"the documents of {profile.id} print different defaults: {printed}"
                raise sheet.error((setting.name, "defaults"), f"{setting.name}: {problem}")


def _mistake_in(setting: Setting, value: JSON) -> str | None:
    if value == "" and setting.type == "number":
        return None  # Documents print an empty default of some numbers.
    of_type = isinstance(value, TYPES[setting.type])
    # In Python, booleans are integers.
    if not of_type or isinstance(value, bool) != (setting.type == "boolean"):
        return f"{value!r} is not of type {setting.type}, as the setting requires"
    if setting.choices and value not in setting.choices:
        return unknown_name(str(value), "choice", map(str, setting.choices))
    if setting.range is not None:
        least, greatest = setting.range
        if not least <= value <= greatest:
            return f"{value} lies outside {least} to {greatest}"
    return None


def _check_readings(specs: Specs, sheet: Sheet) -> None:
    for reading in specs.readings.values():
        for alternative in reading.alternatives:
            for number, source in enumerate(alternative.sources):
                place = (reading.id, "alternatives", alternative.value, "sources", number)
                check_source(specs, source, sheet, place, f"{reading.id}: {alternative.value}")


def _check_ways(specs: Specs, sheet: Sheet) -> None:
    """Check that the alternatives of each way name their place in Pulsar's source.

    Only the first alternative, the documented one, needs no place.
    """
    for way in specs.ways.values():
        for number, one in enumerate(way.alternatives.values()):
            if number and not one.place:
                problem = "it needs a place; only the first, documented alternative has none"
                where = (way.id, "alternatives", one.value)
                raise sheet.error(where, f"{way.id}: {problem}")


def _check_profiles(specs: Specs, sheet: Sheet) -> None:
    for profile in specs.profiles.values():
        _check_names(sheet, profile.id, "documents", profile.documents, specs.documents)
        if profile.based_on is not None and profile.based_on not in specs.profiles:
            problem = unknown_name(profile.based_on, "profile", specs.profiles)
            raise sheet.error((profile.id, "based_on"), f"{profile.id}: {problem}")
        if (profile.kind == "documented") != bool(profile.documents):
            problem = "documented profiles need documents, and no other profile may have any"
            raise sheet.error((profile.id, "documents"), f"{profile.id}: {problem}")
        check_reading_values(specs, sheet, (profile.id, "readings"), profile.id, profile.readings)
    for profile in specs.profiles.values():
        seen, step = {profile.id}, profile.based_on
        while step is not None:
            if step in seen:
                problem = f"{profile.id}: is based on itself, through {step}"
                raise sheet.error((profile.id, "based_on"), problem)
            seen.add(step)
            step = specs.profiles[step].based_on
        _check_profile_entries(specs, sheet, profile)


def _check_profile_entries(specs: Specs, sheet: Sheet, profile: Profile) -> None:
    """Check that the settings, readings, ways and rules in a profile exist, with valid values."""
    said = profile.ways or profile.hidden
    if profile.kind != "released" and said:
        problem = "ways and hidden are only for profiles of releases"
        raise sheet.error((profile.id, "kind"), f"{profile.id}: {problem}")
    for name, value in profile.defaults.items():
        settings = {**specs.annotated, **specs.settings}
        known = settings.get(name)
        if known is None:
            mistake: str | None = unknown_name(name, "setting", settings)
        else:
            mistake = _mistake_in(known, value)
        if mistake:
            raise sheet.error((profile.id, "defaults", name), f"{profile.id}: {mistake}")
    for name in profile.settled:
        if name not in specs.readings:
            problem = unknown_name(name, "reading", specs.readings)
            raise sheet.error((profile.id, "settled", name), f"{profile.id}: {problem}")
    ways = {name: way.alternatives for name, way in specs.ways.items()}
    _check_values(sheet, (profile.id, "ways"), profile.id, "way", profile.ways, ways)
    for name in profile.hidden:
        if name not in specs.hidden:
            problem = unknown_name(name, "hidden setting", specs.hidden)
            raise sheet.error((profile.id, "hidden", name), f"{profile.id}: {problem}")
    below = {rule.id for rule in specs.rules_of(profile.based_on)} if profile.based_on else set()
    for name in profile.without:
        if name not in below:
            problem = unknown_name(name, f"rule of {profile.based_on}", below)
            raise sheet.error((profile.id, "without", name), f"{profile.id}: {problem}")


def check_reading_values(
    specs: Specs, sheet: Sheet, place: Place, entry: str, readings: Mapping[str, str]
) -> None:
    """Check that readings and their values exist."""
    if not readings:
        return
    known = {name: reading.values for name, reading in specs.readings.items()}
    _check_values(sheet, place, entry, "reading", readings, known)


def _check_values(
    sheet: Sheet,
    place: Place,
    entry: str,
    kind: str,
    given: Mapping[str, str],
    known: Mapping[str, Collection[str]],
) -> None:
    """Check that every name and its value are known."""
    for name, value in given.items():
        if name not in known:
            problem = unknown_name(name, kind, known)
        elif value not in known[name]:
            problem = unknown_name(value, f"value of {name}", known[name])
        else:
            continue
        raise sheet.error((*place, name), f"{entry}: {problem}")


def _check_names(
    sheet: Sheet, entry: str, key: str, names: Iterable[str], known: Iterable[str]
) -> None:
    for index, name in enumerate(names):
        if name not in known:
            problem = unknown_name(name, key.removesuffix("s"), known)
            raise sheet.error((entry, key, index), f"{entry}: {problem}")


MAX_UNTESTABLE_RULES = 5
"""Maximum number of documented rules that no check tests."""


def check_rules(specs: Specs, sheets: Iterable[Sheet]) -> None:
    """Raise SpecError for the first inconsistency of a rule."""
    untestable = 0
    for sheet, index, rule in _rules_with_places(specs, sheets):
        _check_area(sheet, index, rule)
        _check_names_in_rule(specs, sheet, index, rule)
        _check_provenance(specs, sheet, index, rule)
        _check_claims(specs, sheet, index, rule)
        if not rule.operations and rule.untestable is None:
            problem = (
                "names no operation; add one, or give the reason for having none as untestable"
            )
            raise sheet.error((index,), f"{rule.id}: {problem}")
        if rule.any_operation and len(rule.operations) < 2:
            problem = "any_operation is for several operations; remove it"
            raise sheet.error((index, "any_operation"), f"{rule.id}: {problem}")
        untestable += rule.word == "untestable"
        if untestable > MAX_UNTESTABLE_RULES:
            problem = f"is one untestable rule too many; at most {MAX_UNTESTABLE_RULES} are allowed"
            raise sheet.error((index, "untestable"), f"{rule.id}: {problem}")


def _rules_with_places(specs: Specs, sheets: Iterable[Sheet]) -> Iterator[tuple[Sheet, int, Rule]]:
    for sheet in sheets:
        for index, entry in enumerate(sheet.data):
            yield sheet, index, specs.rules[entry["id"]]


def _check_area(sheet: Sheet, index: int, rule: Rule) -> None:
    if rule.area not in AREAS:
        problem = unknown_name(rule.area, "area", AREAS)
        raise sheet.error((index, "id"), f"{rule.id}: {problem}")
    if PurePosixPath(sheet.file).stem != rule.area.lower():
        right = f"rules/{rule.area.lower()}.yaml"
        raise sheet.error((index, "id"), f"{rule.id}: belongs in {right}")


def _check_names_in_rule(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    named = (
        ("settings", "setting", rule.settings, {**specs.settings, **specs.annotated}),
        ("profiles", "profile", rule.profiles, specs.profiles),
        ("presupposes", "rule", rule.presupposes, specs.rules),
    )
    for key, kind, names, known in named:
        for number, name in enumerate(names):
            if name not in known:
                problem = f"{rule.id}: {key}: {unknown_name(name, kind, known)}"
                raise sheet.error((index, key, number), problem)
    if rule.id in rule.presupposes:
        raise sheet.error((index, "presupposes"), f"{rule.id}: presupposes itself; remove that")
    place: Place = (index, "reading")
    check_reading_values(specs, sheet, place, rule.id, rule.reading)
    for name in rule.reading:
        if specs.readings[name].kind != "rules":
            problem = f"{name} is of kind value and selects no rules; name a reading of kind rules"
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
        problem = f"its only source {', '.join(sorted(documents))} is a copy; add the original"
        raise sheet.error((index, "sources"), f"{rule.id}: {problem}")
    allowed = [p.id for p in specs.profiles.values() if documents & set(p.documents)]
    inherited = {one for one in allowed if any(p.id in allowed for p in specs.lineage(one)[:-1])}
    if not set(allowed) - inherited <= set(rule.profiles) <= set(allowed):
        given = _names_text(rule.profiles)
        problem = f"by its sources, its profiles are {', '.join(allowed)}; it gives {given}"
        raise sheet.error((index, "profiles"), f"{rule.id}: {problem}")


def _check_observed(specs: Specs, sheet: Sheet, index: int, rule: Rule) -> None:
    if rule.why is None:
        problem = "an observed rule needs the key why, with the place where it was seen"
        raise sheet.error((index,), f"{rule.id}: {problem}")
    documents = {source.document for source in rule.sources}
    for number, name in enumerate(rule.profiles):
        one = specs.profiles[name]
        if one.kind == "documented" and not documents.intersection(one.documents):
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
                    f"documents.yaml says {said}; correct one of the two"
                )
                place = (index, "sources", number, "sentences", position)
                raise sheet.error(place, f"{rule.id}: {problem}")


def _names_text(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
