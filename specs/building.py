"""Build frozen values from checked data."""

from collections.abc import Mapping, Sequence

from pulsar_conformance.specs.lines import Sheet
from pulsar_conformance.specs.model import (
    JSON,
    Alternative,
    Document,
    Hidden,
    Profile,
    Reading,
    Rule,
    Section,
    Sentence,
    Setting,
    Source,
    Taken,
    Way,
)

Entry = Mapping[str, JSON]


def documents(data: Entry) -> dict[str, Document]:
    """Build documents.yaml."""
    return {
        name: Document(
            id=name,
            title=entry["title"],
            version=entry["version"],
            url=entry["url"],
            headings=entry["headings"],
            copy_of=entry.get("copy_of"),
            sections=tuple(_section(section) for section in entry["sections"]),
        )
        for name, entry in data.items()
    }


def _section(entry: Entry) -> Section:
    return Section(
        title=entry["title"],
        sentences=tuple(
            Sentence(number, sentence)
            if isinstance(sentence, str)
            else Sentence(number, **sentence)
            for number, sentence in enumerate(entry["sentences"], 1)
        ),
    )


def settings(data: Entry) -> dict[str, Setting]:
    """Build settings.yaml."""
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


def readings(data: Entry) -> dict[str, Reading]:
    """Build readings.yaml."""
    return {
        name: Reading(
            id=name,
            question=entry["question"],
            kind=entry["kind"],
            alternatives=tuple(
                Alternative(
                    value,
                    one["means"],
                    sources(one.get("sources", ())),
                    one.get("observed"),
                    one.get("open", False),
                )
                for value, one in entry["alternatives"].items()
            ),
        )
        for name, entry in data.items()
    }


def ways(data: Entry) -> dict[str, Way]:
    """Build ways.yaml."""
    return {
        name: Way(
            name,
            entry["question"],
            {
                value: Taken(value, one["means"], one.get("place", ""))
                for value, one in entry["alternatives"].items()
            },
        )
        for name, entry in data.items()
    }


def hidden(data: Entry) -> dict[str, Hidden]:
    """Build hidden.yaml."""
    return {
        name: Hidden(name, entry["meaning"], entry["unit"], entry.get("neutral"))
        for name, entry in data.items()
    }


def profiles(data: Entry) -> dict[str, Profile]:
    """Build profiles.yaml."""
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
        )
        for name, entry in data.items()
    }


def rule(sheet: Sheet, index: int) -> Rule:
    """Build one rule of a rule file."""
    entry = sheet.data[index]
    return Rule(
        id=entry["id"],
        area=entry["id"].partition("-")[0],
        title=entry["title"],
        level=entry["level"],
        statement=" ".join(entry["statement"].split()),
        provenance=entry.get("provenance", "documented"),
        sources=sources(entry.get("sources", ())),
        settings=tuple(entry.get("settings", ())),
        operations=tuple(entry.get("operations", ())),
        any_operation=entry.get("any_operation", False),
        any_strategy=entry.get("any_strategy", False),
        managers=tuple(entry.get("managers", ())),
        reading=entry.get("reading", {}),
        profiles=tuple(entry["profiles"]),
        presupposes=tuple(entry.get("presupposes", ())),
        untestable=entry.get("untestable"),
        why=entry.get("why"),
        file=sheet.file,
        line=sheet.line((index,)),
    )


def sources(entries: Sequence[Entry]) -> tuple[Source, ...]:
    """Build the source references of an entry."""
    return tuple(
        Source(entry["document"], entry["section"], tuple(entry.get("sentences", ())))
        for entry in entries
    )
