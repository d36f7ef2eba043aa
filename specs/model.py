"""The specifications as immutable values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    "AVERAGE",
    "TRANSFER",
    "CONFIG",
    "DATA",
    "PLACE",
    "PLANNED",
    "ANTI",
    "ISOLATION",
    "OWN",
    "CHANNEL",
    "LOOP",
    "MANAGER",
    "REPORT",
    "ANSWER",
)
"""All areas, in the order in which rules are listed; each is the prefix of its rules' IDs."""

Level = Literal["must", "should", "may", "advice"]


Where = tuple[str, str, int]
"""Document id, section title, number of the sentence in the section."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a document, identified by the SHA-256 of its text."""

    number: int
    sha256: str
    none: str | None = None
    """Reason why no rule claims it."""
    awaits: str | None = None
    """The area, without rules so far, that will claim it."""
    like: tuple[int, ...] = ()
    """Sentences with equal meaning in the same section of the previous page."""
    rules: tuple[str, ...] = ()
    """Rules that documents.yaml names for it; other rules name it among their sources."""
    besides: str | None = None
    """Content that the rules claiming it do not cover, and why no check does."""


@dataclass(frozen=True)
class Section:
    """A section of a document; text before the first heading has an empty title."""

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
    """Format of its headings: with number signs, without them, or names of annotated settings."""
    copy_of: str | None
    """The document whose text it repeats; no rule may rely on a copy alone."""
    sections: tuple[Section, ...]
    follows: str | None = None
    """The page of an earlier version from which it repeats sentences."""

    def section(self, title: str) -> Section | None:
        """Return the section with this title, or None."""
        return next((section for section in self.sections if section.title == title), None)

    def link(self, title: str) -> str:
        """Return the URL of a section, or of the page if the title is empty."""
        return f"{self.url}#{anchor(title)}" if title else self.url


@dataclass(frozen=True)
class Source:
    """A reference to sentences of a document section, counted from 1."""

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
    """The default that each document prints, by document ID."""
    no_default: str | None
    """Reason why no document gives a default."""
    choices: tuple[JSON, ...] = ()
    range: tuple[float, float] | None = None
    unused: bool = False
    """True if its value has no effect, by its annotation."""
    unlimited: float | None = None
    """The value of a limit that means unlimited, by its annotation."""
    dynamic: bool | None = None
    """True if it can be changed at runtime; None if no annotation says so."""
    deprecated_in: tuple[str, ...] = ()
    """The documents that deprecate it."""
    replaced_by: str | None = None
    """The setting that replaces it if it is deprecated."""


@dataclass(frozen=True)
class Alternative:
    """One interpretation of an ambiguous passage."""

    value: str
    means: str
    sources: tuple[Source, ...]
    """Passages that allow it; empty if only a release reads them this way."""
    observed: str | None = None
    """Reason for an observed value that no document supports."""
    open: bool = False
    """True if it allows everything that any other alternative allows."""

    @property
    def meaning(self) -> str:
        """Text of `means`, with a remark if no document allows it."""
        if self.observed is None:
            return self.means
        return f"{self.means} No document allows it; releases follow it."


@dataclass(frozen=True)
class Reading:
    """A question that the documents leave open; the first alternative is the default."""

    id: str
    question: str
    kind: Literal["rules", "value"]
    """Whether it selects rules, or is a value in the model."""
    alternatives: tuple[Alternative, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of its alternatives."""
        return tuple(alternative.value for alternative in self.alternatives)

    @property
    def documented(self) -> tuple[str, ...]:
        """The values that at least one document allows."""
        return tuple(one.value for one in self.alternatives if one.sources)


@dataclass(frozen=True)
class Taken:
    """An alternative, and the class and method that implement it (empty if documented)."""

    value: str
    means: str
    place: str = ""


BROKER, MODULAR = "broker", "modular"
PLACING, SHEDDING, SPLITTING = "placement", "shedding", "splitting"
"""Parts of a broker: what it does whichever load manager runs, the modular one, and its tasks."""


@dataclass(frozen=True)
class Way:
    """A point on which releases differ from the documents; the first alternative is documented.

    Attributes:
        since: the version that introduced the point; empty if it always existed.
        without_case: the reason why no case can show the alternatives; empty if one can.
        parts: load managers, their tasks and strategies, of which one has to be in force.
    """

    id: str
    question: str
    alternatives: Mapping[str, Taken]
    since: str = ""
    without_case: str = ""
    parts: tuple[str, ...] = (MODULAR,)

    def concerns(self, parts: Collection[str]) -> bool:
        """True if the point matters to a broker in which these parts are in force."""
        return any(one in parts for one in self.parts)


@dataclass(frozen=True)
class Hidden:
    """A setting that no document names, and the value that disables its effect."""

    name: str
    meaning: str
    unit: str
    neutral: float | None = None


@dataclass(frozen=True)
class Profile:
    """A set of documents, or a release, by which implementations are judged."""

    id: str
    title: str
    kind: Literal["documented", "unwritten", "released"]
    """Kind of the profile: documents, common assumptions that no document states, or a release."""
    documents: tuple[str, ...]
    readings: Mapping[str, str]
    """Readings that differ from the first value, or from the profile that this one is based on."""
    based_on: str | None
    defaults: Mapping[str, JSON] = field(default_factory=dict)
    """Settings whose values differ from the printed ones."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """Alternatives that the release takes instead of the documented ones."""
    hidden: Mapping[str, float] = field(default_factory=dict)
    """Undocumented settings of a release, with their defaults."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Rules of the profile it is based on that do not hold here, each with the reason."""
    settled: Mapping[str, str] = field(default_factory=dict)
    """Readings that its own documents decide, each with the reason."""

    @property
    def released(self) -> bool:
        """True if the profile describes a release."""
        return self.kind == "released"


@dataclass(frozen=True)
class Clause:
    """A part of a rule's statement that can be violated on its own."""

    says: str
    broken_by: str | None = None
    """Name of the seeded defect that breaks it."""
    most: str | None = None
    """Name of the implementation that exploits the clause to its limit."""


@dataclass(frozen=True)
class Rule:
    """A rule: its statement, sources and level."""

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
    """True if it applies to each operation separately, so that an implementation need offer only
    one.
    """
    any_strategy: bool
    """True if it applies to every strategy of shedding or placing, even undocumented ones."""
    managers: tuple[str, ...]
    """Kinds of load manager for which the documents state it; empty for all."""
    reading: Mapping[str, str]
    profiles: tuple[str, ...]
    presupposes: tuple[str, ...]
    untestable: str | None
    why: str | None
    """The place where an observed rule was seen."""
    file: str = field(compare=False)
    line: int = field(compare=False)
    clauses: tuple[Clause, ...] = ()
    """Clauses of its statement; empty if they have not been listed yet."""
    judged_by: str = ""
    """Command that judges it over many cycles, if no single answer shows it."""

    @property
    def word(self) -> str:
        """The rule's level, or `untestable`."""
        return "untestable" if self.untestable and not self.judged_by else self.level

    def applies(self, readings: Mapping[str, str]) -> bool:
        """True if the rule applies under these readings."""
        return all(readings.get(name) == value for name, value in self.reading.items())
