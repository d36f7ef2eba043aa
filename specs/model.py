"""The specifications as frozen values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from pulsar_conformance.specs.errors import UnknownName
from pulsar_conformance.specs.text import anchor

JSON = Any
"""A JSON value: null, boolean, number, string, list or object."""

AREAS = (
    "BUNDLE",
    "SPLIT",
    "USAGE",
    "SHED",
    "OVERLOAD",
    "THRESHOLD",
    "UNIFORM",
    "CONFIG",
    "DATA",
    "PLACE",
    "ANTI",
    "OWN",
    "MANAGER",
    "REPORT",
    "ANSWER",
)
"""Every area, in the order in which rules are listed; each prefixes the IDs of its rules."""

Level = Literal["must", "should", "may", "advice"]


@dataclass(frozen=True)
class Sentence:
    """One sentence of a document, known by the SHA-256 of its text."""

    number: int
    sha256: str
    none: str | None = None
    """Reason why it has no rule."""
    awaits: str | None = None
    """The area, still without rules, that will claim it."""
    besides: str | None = None
    """Content beyond the rules that claim it, and why no check covers that."""


@dataclass(frozen=True)
class Section:
    """Section of a document by its printed title; empty for text before the first section."""

    title: str
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Document:
    """A page of Pulsar's documentation."""

    id: str
    title: str
    version: str
    url: str
    headings: Literal["marked", "plain", "annotations"]
    """Kind of its headings: with number signs, without them, or names of annotated settings."""
    copy_of: str | None
    """The document whose text it repeats; nothing rests on a copy alone."""
    sections: tuple[Section, ...]

    def section(self, title: str) -> Section | None:
        """Return the section of that title, or None."""
        return next((section for section in self.sections if section.title == title), None)

    def link(self, title: str) -> str:
        """URL of the section of that title, or of the page for text before the first section."""
        return f"{self.url}#{anchor(title)}" if title else self.url


@dataclass(frozen=True)
class Source:
    """Place in a document; sentences count from 1 within the section."""

    document: str
    section: str
    sentences: tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """A setting of broker.conf that a document names."""

    name: str
    type: Literal["integer", "number", "boolean", "string", "class", "list"]
    unit: str | None
    meaning: str
    documents: tuple[str, ...]
    defaults: Mapping[str, JSON]
    """Document id -> the default that this document prints."""
    no_default: str | None
    """Reason why a setting has no default in any document."""
    choices: tuple[JSON, ...] = ()
    range: tuple[float, float] | None = None
    dynamic: bool | None = None
    """True if it can be changed while a broker runs; None if no annotation says so."""
    deprecated_in: tuple[str, ...] = ()
    """The documents that deprecate it."""
    replaced_by: str | None = None
    """The setting that stands for it where it is deprecated."""


@dataclass(frozen=True)
class Alternative:
    """One interpretation of an ambiguous place."""

    value: str
    means: str
    sources: tuple[Source, ...]
    """Places that allow it; empty if only a release reads it so."""
    observed: str | None = None
    """Reason for an observed value that no document gives."""
    open: bool = False
    """True if it allows everything that the other alternatives demand."""


@dataclass(frozen=True)
class Reading:
    """A place where the documents leave a choice; the first alternative is the usual one."""

    id: str
    question: str
    kind: Literal["rules", "value"]
    """True if it chooses rules or is a value in the model."""
    alternatives: tuple[Alternative, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values it can take."""
        return tuple(alternative.value for alternative in self.alternatives)

    def values_of(self, documents: Collection[str]) -> tuple[str, ...]:
        """The values that some of these documents allow."""
        return tuple(
            one.value
            for one in self.alternatives
            if any(source.document in documents for source in one.sources)
        )


@dataclass(frozen=True)
class Taken:
    """An alternative, with the class and method that implement it; empty if documented."""

    value: str
    means: str
    place: str = ""


@dataclass(frozen=True)
class Way:
    """A place where releases decide otherwise than their documents; the first is documented."""

    id: str
    question: str
    alternatives: Mapping[str, Taken]


@dataclass(frozen=True)
class Hidden:
    """A setting that no document names, and the value at which it does nothing."""

    name: str
    meaning: str
    unit: str
    neutral: float | None = None


@dataclass(frozen=True)
class Profile:
    """A set of documents, or a release, that an implementation is judged by."""

    id: str
    title: str
    kind: Literal["documented", "unwritten", "released"]
    """Kind of the profile: documents, common assumptions that no document states, or a release."""
    documents: tuple[str, ...]
    readings: Mapping[str, str]
    """Only those that differ from the first value, or from the profile that this is based on."""
    based_on: str | None
    defaults: Mapping[str, JSON] = field(default_factory=dict)
    """Settings whose values differ from the printed ones."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """Alternatives that the release takes instead of the documented ones."""
    hidden: Mapping[str, float] = field(default_factory=dict)
    """The settings of a release that no document names, with their defaults."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Rules of the profile below that do not hold in the release, each with why."""

    @property
    def released(self) -> bool:
        """True if the profile describes a release."""
        return self.kind == "released"


@dataclass(frozen=True)
class Rule:
    """A rule: its statement, source and level."""

    id: str
    area: str
    title: str
    level: Level
    statement: str
    provenance: Literal["documented", "observed"]
    sources: tuple[Source, ...]
    settings: tuple[str, ...]
    operations: tuple[str, ...]
    any_operation: bool
    """True if it is about each operation by itself, and one that is offered is enough."""
    any_strategy: bool
    """True if it holds for every strategy of shedding or placing, also one no document knows."""
    managers: tuple[str, ...]
    """Kinds of load manager that the documents name for it; none is any."""
    reading: Mapping[str, str]
    profiles: tuple[str, ...]
    presupposes: tuple[str, ...]
    untestable: str | None
    why: str | None
    """Place at which an observed rule was seen."""
    file: str = field(compare=False)
    line: int = field(compare=False)

    def applies(self, readings: Mapping[str, str]) -> bool:
        """True if these readings choose this rule."""
        return all(readings.get(name) == value for name, value in self.reading.items())


@dataclass(frozen=True)
class Specs:
    """Documents, settings, readings, profiles and rules, each by its name and in order."""

    documents: Mapping[str, Document]
    settings: Mapping[str, Setting]
    """The settings that pages name."""
    annotated: Mapping[str, Setting]
    """The settings that annotations of releases name; some of them pages name, too."""
    readings: Mapping[str, Reading]
    ways: Mapping[str, Way]
    hidden: Mapping[str, Hidden]
    profiles: Mapping[str, Profile]
    rules: Mapping[str, Rule]

    @property
    def neutral(self) -> dict[str, float]:
        """The hidden settings that can be made to do nothing, each at that value."""
        known = self.hidden.values()
        return {one.name: one.neutral for one in known if one.neutral is not None}

    def ways_of(self, profile: str) -> dict[str, str]:
        """Return the alternative of every way in a profile, by default the documented one."""
        usual = {name: next(iter(way.alternatives)) for name, way in self.ways.items()}
        return {**usual, **self.profile(profile).ways}

    def profile(self, name: str) -> Profile:
        """Return the profile of that name. Errors: `UnknownName`."""
        if name not in self.profiles:
            raise UnknownName(name, "profile", self.profiles)
        return self.profiles[name]

    def lineage(self, profile: str) -> tuple[Profile, ...]:
        """Return the profile and those that it is based on, the most basic first."""
        found = self.profile(profile)
        return (*self.lineage(found.based_on), found) if found.based_on else (found,)

    def defaults(self, profile: str) -> dict[str, JSON]:
        """Return the default of each setting that has one in the profile.

        It is the documented one, where the profile is no release that has another.
        """
        documents = [document for one in self.lineage(profile) for document in one.documents]
        found = {
            name: setting.defaults[document]
            for name, setting in (*self.settings.items(), *self.annotated.items())
            for document in documents
            if document in setting.defaults
        }
        for one in self.lineage(profile):
            found.update(one.defaults)
        return found

    def default_readings(self, profile: str) -> dict[str, str]:
        """Return the profile's value of every reading."""
        values = {name: reading.values[0] for name, reading in self.readings.items()}
        for one in self.lineage(profile):
            values.update(one.readings)
        return values

    def open_values(self, profile: str, reading: str) -> tuple[str, ...]:
        """Return the values of a reading among which a profile leaves the choice, its own first.

        Those are what its documents allow, and what the profile itself says; all that any document
        allows where its own say nothing about the matter.
        """
        own = self.default_readings(profile)[reading]
        documents = {name for one in self.lineage(profile) for name in one.documents}
        allowed = self.readings[reading].values_of(documents)
        others = allowed or self.readings[reading].values_of(self.documents)
        return tuple(dict.fromkeys((own, *others)))

    def rules_of(self, profile: str) -> tuple[Rule, ...]:
        """Return the rules of the profile, under any readings.

        A release has those of the profile that it is based on, too, except those that it is
        without.
        """
        found = self.profile(profile)
        names = {found.id}
        if found.released:
            names |= {one.id for one in self.lineage(profile)}
        return tuple(
            rule
            for rule in self.rules.values()
            if names.intersection(rule.profiles) and rule.id not in found.without
        )

    def rules_matching(self, pattern: str) -> tuple[Rule, ...]:
        """Return the rules whose ID matches a pattern such as `OVERLOAD-*`, in order.

        UnknownName where none does, with the areas or the IDs that come near.
        """
        found = tuple(rule for name, rule in self.rules.items() if fnmatchcase(name, pattern))
        if not found:
            areas = dict.fromkeys(f"{rule.area}-*" for rule in self.rules.values())
            known = areas if "*" in pattern or "-" not in pattern else self.rules
            raise UnknownName(pattern, "rule or pattern of rules", known)
        return found

    def sources_of(self, rule: Rule, profile: str) -> list[str]:
        """Return document and section of each source in a profile, except copies."""
        judged_by = {name for one in self.lineage(profile) for name in one.documents}
        found = [
            f"{source.document} § {source.section}"
            for source in rule.sources
            if source.document in judged_by and self.documents[source.document].copy_of is None
        ]
        return list(dict.fromkeys(found)) or [f"observed: {rule.why}"]

    def check_open(self, profile: str, readings: Mapping[str, str]) -> None:
        """Raise UnknownName for a value that the profile does not leave open."""
        for name, value in readings.items():
            known = self.open_values(profile, name)
            if value not in known:
                raise UnknownName(value, f"value of {name} that {profile} leaves open", known)

    def check_readings(self, readings: Mapping[str, str]) -> None:
        """Raise UnknownName for a reading or a value that is not there."""
        for name, value in readings.items():
            if name not in self.readings:
                raise UnknownName(name, "reading", self.readings)
            if value not in self.readings[name].values:
                raise UnknownName(str(value), f"value of {name}", self.readings[name].values)
