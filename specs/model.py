"""The specifications as immutable values."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pulsar_conformance.specs.text import anchor

JSON = Any
"""A JSON value: null, boolean, number, string, list or object."""

FIELDS_OF_SAVED_CASES = ("profile", "readings", "excluded", "rule", "ways")
"""Fields that saved cases may have besides their questions."""

EARLIER = "after"
"""Field of a saved case with the questions that are asked before its own."""

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
"""Place of a sentence: the document's ID, the section's title, and the sentence's number in it."""


@dataclass(frozen=True)
class Sentence:
    """One sentence of a document, identified by the SHA-256 of its text."""

    number: int
    sha256: str
    none: str | None = None
    """Reason why no rule claims the sentence."""
    awaits: str | None = None
    """Area of the rules that will claim the sentence; the area has no rules yet."""
    like: tuple[int, ...] = ()
    """Numbers of the sentences with the same meaning in the same section of the page `follows`."""
    rules: tuple[str, ...] = ()
    """Rules that documents.yaml assigns to the sentence; other rules name it among their
    sources.
    """
    besides: str | None = None
    """The part of the sentence that its rules do not cover, and why no check covers it."""


@dataclass(frozen=True)
class Section:
    """A section of a document; the title is empty for text before the first heading."""

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
    """How headings are written: with number signs, without them, or as names of annotated
    settings.
    """
    copy_of: str | None
    """The document of which this document is a copy; a rule must not rely on a copy alone."""
    sections: tuple[Section, ...]
    follows: str | None = None
    """The page for an earlier version whose sentences this page repeats."""

    def section(self, title: str) -> Section | None:
        """Return the section with this title, or None."""
        return next((section for section in self.sections if section.title == title), None)

    def link(self, title: str) -> str:
        """Return the URL of a section or, if the title is empty, the URL of the page."""
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
    """The default that each document prints, by the document's ID."""
    no_default: str | None
    """Reason why no document gives a default."""
    choices: tuple[JSON, ...] = ()
    range: tuple[float, float] | None = None
    unused: bool = False
    """True if, by its annotation, the setting has no effect."""
    unlimited: float | None = None
    """The value that, by its annotation, switches the limit off."""
    dynamic: bool | None = None
    """True if the setting can be changed at runtime; None if no annotation says so."""
    deprecated_in: tuple[str, ...] = ()
    """The documents in which the setting is deprecated."""
    replaced_by: str | None = None
    """The setting that replaces this setting, if it is deprecated."""


@dataclass(frozen=True)
class Alternative:
    """One interpretation of an ambiguous passage."""

    value: str
    means: str
    sources: tuple[Source, ...]
    """Passages that allow the alternative; empty if it was only observed in a release."""
    observed: str | None = None
    """Reason to list an alternative that a release follows and no document supports."""
    open: bool = False
    """True if the alternative allows everything that the other alternatives allow."""

    @property
    def meaning(self) -> str:
        """The text of `means`, with a remark if no document allows the alternative."""
        if self.observed is None:
            return self.means
        return f"{self.means} No document allows it; releases follow it."


@dataclass(frozen=True)
class Reading:
    """A question that the documents leave open; the first alternative is the default."""

    id: str
    question: str
    kind: Literal["rules", "value"]
    """`rules` if the reading selects rules, `value` if it selects a value in the model."""
    alternatives: tuple[Alternative, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values of the reading's alternatives."""
        return tuple(alternative.value for alternative in self.alternatives)

    def alternative(self, value: str) -> Alternative:
        """Return the alternative with a value. Errors: `StopIteration` if there is none."""
        return next(one for one in self.alternatives if one.value == value)

    @property
    def documented(self) -> tuple[str, ...]:
        """The values that at least one document allows."""
        return tuple(one.value for one in self.alternatives if one.sources)


@dataclass(frozen=True)
class WayAlternative:
    """An alternative of a way, and the class and method in a release that implement it.

    `means` describes the alternative; `place` is empty for the documented alternative.
    """

    value: str
    means: str
    place: str = ""


BROKER, MODULAR = "broker", "modular"
UNKNOWN_MANAGER, UNKNOWN_SHEDDER = "unknown-manager", "unknown-shedder"
UNKNOWN_PLACER, UNSET_MANAGER = "unknown-placer", "unset-manager"
"""Parts of a broker whose setting for a load manager or strategy names an unknown class or none."""

PLACING, SHEDDING, SPLITTING = "placement", "shedding", "splitting"
"""Three tasks of the modular load manager, as parts of a broker. `modular` stands for that manager
as a whole, and `broker` for tasks under every load manager.
"""


@dataclass(frozen=True)
class Way:
    """A point on which releases differ from the documents; the first alternative is the documented
    one.

    Attributes:
        since: the version that introduced the point; empty if it always existed.
        without_case: the reason why no case can show the alternatives; empty if one can.
        parts: load managers, tasks and strategies; the point matters if one of them is in force.
    """

    id: str
    question: str
    alternatives: Mapping[str, WayAlternative]
    since: str = ""
    without_case: str = ""
    parts: tuple[str, ...] = (MODULAR,)

    def concerns(self, parts: Collection[str]) -> bool:
        """True if this way matters to a broker in which these parts are in force."""
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
    """`documented` for documents, `unwritten` for assumptions that no document states, or
    `released`.
    """
    documents: tuple[str, ...]
    readings: Mapping[str, str]
    """Readings whose values differ from the base profile or, without base profile, from the
    defaults.
    """
    based_on: str | None
    defaults: Mapping[str, JSON] = field(default_factory=dict)
    """Settings whose defaults differ from the printed defaults."""
    ways: Mapping[str, str] = field(default_factory=dict)
    """The release's alternatives of ways, where they are not the documented alternatives."""
    hidden: Mapping[str, float] = field(default_factory=dict)
    """Undocumented settings of a release, with their defaults."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Rules of the base profile that do not hold in this profile, each with the reason."""
    settled: Mapping[str, str] = field(default_factory=dict)
    """Readings that the profile's own documents decide, each with the reason."""

    @property
    def released(self) -> bool:
        """True if the profile describes a release."""
        return self.kind == "released"


@dataclass(frozen=True)
class Clause:
    """A part of a rule's statement that an implementation can break while it keeps the rest."""

    says: str
    broken_by: str | None = None
    """Name of the seeded defect that breaks the clause."""
    most: str | None = None
    """Name of the implementation that goes as far as the clause allows."""


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
    """True if the rule applies to each operation by itself, so that an implementation needs to
    offer only one of them.
    """
    any_strategy: bool
    """True if the rule applies to all shedding or placement strategies, even undocumented ones."""
    managers: tuple[str, ...]
    """Load managers for which the documents state the rule; empty for all."""
    reading: Mapping[str, str]
    profiles: tuple[str, ...]
    presupposes: tuple[str, ...]
    untestable: str | None
    why: str | None
    """The place where an observed rule was seen."""
    file: str = field(compare=False)
    line: int = field(compare=False)
    clauses: tuple[Clause, ...] = ()
    """Clauses of the statement; empty if they are not listed yet."""
    judged_by: str = ""
    """Command that judges the rule over many cycles, since no single answer can break it."""

    @property
    def word(self) -> str:
        """The rule's level, or `untestable`."""
        return "untestable" if self.untestable and not self.judged_by else self.level

    def applies(self, readings: Mapping[str, str]) -> bool:
        """True if the rule applies under these readings."""
        return all(readings.get(name) == value for name, value in self.reading.items())
