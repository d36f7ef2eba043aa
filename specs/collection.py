"""The complete specifications, and queries about a profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType

from pulsar_conformance.specs.errors import UnknownName
from pulsar_conformance.specs.model import (
    JSON,
    Alternative,
    Document,
    Hidden,
    Profile,
    Reading,
    Rule,
    Sentence,
    Setting,
    Source,
    Way,
    Where,
)


class Defaults(dict[str, JSON]):
    """The default of each setting in a profile, and its unused, unlimited and renamed settings."""

    unused: frozenset[str] = frozenset()
    """Settings whose values have no effect: their defaults always apply."""

    unlimited: Mapping[str, float] = MappingProxyType({})
    """For each limit that can be switched off, the value that switches it off."""

    renamed: Mapping[str, str] = MappingProxyType({})
    """New names of settings by old name; if a case gives both, the new name's value is used."""

    any_range: bool = False
    """True for a release, which accepts values outside the documented ranges."""

    def with_values(self, more: Mapping[str, JSON]) -> Defaults:
        """Return a copy in which the values in `more` are added or replace the defaults."""
        found = copy(self)
        found.update(more)
        return found


AT_A_LIMIT = frozenset({"overload-trigger", "placement-at-threshold", "threshold-trigger"})
"""Readings about a usage exactly at a limit; rules use words such as "above" or "over"."""


@dataclass(frozen=True)
class Specs:
    """Documents, settings, readings, profiles and rules, each by name and in order."""

    documents: Mapping[str, Document]
    settings: Mapping[str, Setting]
    """Settings that pages of Pulsar's documentation name."""
    annotated: Mapping[str, Setting]
    """Settings annotated in the code of releases; documentation pages name some of these, too."""
    readings: Mapping[str, Reading]
    ways: Mapping[str, Way]
    hidden: Mapping[str, Hidden]
    profiles: Mapping[str, Profile]
    rules: Mapping[str, Rule]

    @property
    def neutral(self) -> dict[str, float]:
        """For each hidden setting whose effect can be disabled, the value that disables it."""
        known = self.hidden.values()
        return {one.name: one.neutral for one in known if one.neutral is not None}

    def ways_of(self, profile: str) -> dict[str, str]:
        """Return a profile's alternative of every way; by default, the documented alternative."""
        usual = {name: next(iter(way.alternatives)) for name, way in self.ways.items()}
        return {**usual, **self.profile(profile).ways}

    def profile(self, name: str) -> Profile:
        """Return the profile with this name. Errors: `UnknownName`."""
        if name not in self.profiles:
            line = ".".join(name.split(".")[:2])
            near = [one for one in self.profiles if one.endswith(f"-{line}")]
            raise UnknownName(name, "profile", near or self.profiles)
        return self.profiles[name]

    def lineage(self, profile: str) -> tuple[Profile, ...]:
        """Return a profile's base profiles, the most basic first, and then the profile itself."""
        found = self.profile(profile)
        return (*self.lineage(found.based_on), found) if found.based_on else (found,)

    def documents_of(self, profile: str) -> tuple[str, ...]:
        """Return a profile's documents; if it has none, the documents of its base profile."""
        found = self.profile(profile)
        if found.documents or not found.based_on:
            return found.documents
        return self.documents_of(found.based_on)

    def defaults(self, profile: str) -> Defaults:
        """Return the default of each setting that has a default in the profile.

        This is the documented default, unless the profile describes a release with a different
        default. All callers share the result, so they must not change it.
        """
        if profile not in self._defaults:
            self._defaults[profile] = self._defaults_of(profile)
        return self._defaults[profile]

    @cached_property
    def _defaults(self) -> dict[str, Defaults]:
        """A cache of the results of `defaults`, by profile."""
        return {}

    def _defaults_of(self, profile: str) -> Defaults:
        documents = self.documents_of(profile)
        found = Defaults(
            {
                name: setting.defaults[document]
                for name, setting in (*self.settings.items(), *self.annotated.items())
                for document in documents
                if document in setting.defaults
            }
        )
        for one in self.lineage(profile):
            found.update(one.defaults)
        found.any_range = self.profile(profile).released
        found.unused = frozenset(
            name
            for name, setting in self.annotated.items()
            if setting.unused and name in found and {*setting.documents}.intersection(documents)
        )
        found.unlimited = {
            name: setting.unlimited
            for name, setting in self.annotated.items()
            if setting.unlimited is not None and {*setting.documents}.intersection(documents)
        }
        found.renamed = {
            name: setting.replaced_by
            for name, setting in self.annotated.items()
            if setting.replaced_by and {*setting.deprecated_in}.intersection(documents)
        }
        return found

    @cached_property
    def _sentences(self) -> dict[str, frozenset[Where]]:
        """The sentences of each profile's documents, and the earlier sentences that they repeat."""
        return {name: frozenset(self._sentences_of(name)) for name in self.profiles}

    def _sentences_of(self, profile: str) -> Iterator[Where]:
        for document in map(self.documents.__getitem__, self.documents_of(profile)):
            for section in document.sections:
                for sentence in section.sentences:
                    yield from self._repeated(document, section.title, sentence)

    def _repeated(self, document: Document, title: str, sentence: Sentence) -> Iterator[Where]:
        """Yield the place of a sentence, and the places of the sentences that it repeats."""
        yield document.id, title, sentence.number
        if document.follows and sentence.like:
            before = self.documents[document.follows]
            section = before.section(title)
            assert section is not None, "a sentence repeats those of an equal section"
            for number in sentence.like:
                yield from self._repeated(before, title, section.sentences[number - 1])

    def has_source(self, profile: str, source: Source) -> bool:
        """True if the profile's documents contain, or repeat, one of the sentences of a source."""
        held = self._sentences[profile]
        places = ((source.document, source.section, number) for number in source.sentences)
        return source.document in self.documents_of(profile) or any(one in held for one in places)

    def sources_in(self, profile: str, rule: Rule) -> tuple[Source, ...]:
        """Return the sources of a rule in a profile's own documents, each section once.

        If these documents repeat a sentence of an earlier document, the repetition is cited.
        """
        own, repeats = self.documents_of(profile), self._repeats[profile]
        found: dict[tuple[str, str], set[int]] = {}
        for source in rule.sources:
            for number in source.sentences:
                place = source.document, source.section, number
                for name, section, one in [place] if place[0] in own else repeats.get(place, ()):
                    found.setdefault((name, section), set()).add(one)
        return tuple(Source(*place, tuple(sorted(numbers))) for place, numbers in found.items())

    @cached_property
    def _repeats(self) -> dict[str, dict[Where, list[Where]]]:
        """For each profile, and each earlier sentence: the sentences of the profile's documents
        that repeat it.
        """
        found: dict[str, dict[Where, list[Where]]] = {name: {} for name in self.profiles}
        for name, repeats in found.items():
            for document in map(self.documents.__getitem__, self.documents_of(name)):
                for section in document.sections:
                    for sentence in section.sentences:
                        first, *earlier = self._repeated(document, section.title, sentence)
                        for one in earlier:
                            repeats.setdefault(one, []).append(first)
        return found

    def documented_values(self, profile: str, reading: str) -> tuple[str, ...]:
        """Return the alternatives of a reading, such as `exceeds`, that a profile's documents
        allow.
        """
        if any(reading in one.settled for one in self.lineage(profile)):
            return (self.default_readings(profile)[reading],)
        return tuple(
            one.value
            for one in self.readings[reading].alternatives
            if any(self.has_source(profile, source) for source in one.sources)
        )

    def default_readings(self, profile: str) -> dict[str, str]:
        """Return, for every reading, the alternative that a profile follows by default."""
        values = {name: reading.values[0] for name, reading in self.readings.items()}
        for one in self.lineage(profile):
            values.update(one.readings)
        return values

    def open_values(self, profile: str, reading: str) -> tuple[str, ...]:
        """Return the values of a reading that implementations may follow in a profile.

        The first is the profile's default. The others are allowed by the profile's documents or, if
        these do not cover the subject, by any document.
        """
        own = self.default_readings(profile)[reading]
        allowed = self.documented_values(profile, reading)
        return tuple(dict.fromkeys((own, *(allowed or self.readings[reading].documented))))

    def rules_of(self, profile: str) -> tuple[Rule, ...]:
        """Return all rules of a profile, whatever the readings.

        They include the rules of its base profiles, except rules that one of these profiles
        excludes. A profile of kind `unwritten` has only its own rules.
        """
        found = self.profile(profile)
        lineage = (found,) if found.kind == "unwritten" else self.lineage(profile)
        names = {one.id for one in lineage}
        without = {name for one in lineage for name in one.without}
        return tuple(
            rule
            for rule in self.rules.values()
            if names.intersection(rule.profiles) and rule.id not in without
        )

    def dropped(self, profile: str) -> frozenset[str]:
        """Return the IDs of the rules of earlier documents that a profile's documents withdraw."""
        lineage = [one for one in self.lineage(profile) if one.kind == "documented"]
        return frozenset(name for one in lineage for name in one.without)

    def rules_matching(self, pattern: str) -> tuple[Rule, ...]:
        """Return the rules whose IDs match a pattern such as `OVERLOAD-*`, in order.

        Errors: `UnknownName`, with similar areas or IDs, if no rule matches.
        """
        found = tuple(rule for name, rule in self.rules.items() if fnmatchcase(name, pattern))
        if not found:
            areas = dict.fromkeys(f"{rule.area}-*" for rule in self.rules.values())
            known = areas if "*" in pattern or "-" not in pattern else self.rules
            raise UnknownName(pattern, "rule or pattern of rules", known)
        return found

    def sources_of(self, rule: Rule, profile: str) -> list[str]:
        """Return the sources of a rule in a profile as texts with document and section, without
        duplicates.

        If none of the sentences is in the profile's documents, the sources are earlier documents.
        """
        found = [
            f"{source.document} § {source.section}"
            for source in self.sources_in(profile, rule) or rule.sources
            if self.documents[source.document].copy_of is None
        ]
        return list(dict.fromkeys(found)) or [f"observed: {rule.why}"]

    def why_closed(self, profile: str, reading: str, value: str) -> str | None:
        """Return why a profile does not allow a value of a reading; None if it does."""
        if value in self.open_values(profile, reading):
            return None
        found = next(one for one in self.readings[reading].alternatives if one.value == value)
        documents = profile
        if self.profile(profile).kind == "unwritten":
            documents = self.profile(profile).based_on or profile
        if found.observed is not None:
            return "no document allows it; releases follow it"
        if any(reading in one.settled for one in self.lineage(profile)):
            return f"the documents of {documents} settle the point"
        return f"no document of {documents} allows it"

    def assumed_readings(
        self, profile: str, readings: Mapping[str, str]
    ) -> Iterator[tuple[Reading, Alternative, str | None]]:
        """Yield the given readings that contradict the wording of rules, with the reason if there
        is one.

        These are alternatives that no document of the profile allows, each with the reason.
        Alternatives about a usage exactly at a limit are yielded without a reason if they differ
        from the profile's default.
        """
        usual = self.default_readings(profile)
        for name, value in readings.items():
            closed = self.why_closed(profile, name, value)
            if closed or (name in AT_A_LIMIT and value != usual[name]):
                yield self.readings[name], self.readings[name].alternative(value), closed

    def unused_readings(
        self, profile: str, declared: Mapping[str, str], given: Mapping[str, str]
    ) -> Iterator[str]:
        """Yield each declared reading that has no effect under a profile, with the reason.

        `given` are the readings that the options of the run set; they override declared ones.
        """
        for name, value in declared.items():
            instead = given.get(name, value)
            if instead != value:
                counts = f"it is judged by {name}={instead}, which the options of this run set"
                yield f"{name}={value}, which is not used: {counts}"
            elif name not in given and (why := self.why_closed(profile, name, value)):
                first, *others = self.open_values(profile, name)
                decided = f"its answers decide between {' and '.join((first, *others))}"
                counts = decided if others else f"it is judged by {name}={first}"
                yield f"{name}={value}, which is not used: {why}; {counts}"

    def check_open(self, profile: str, readings: Mapping[str, str]) -> None:
        """Raise UnknownName for a value that implementations may not follow in the profile."""
        for name, value in readings.items():
            if why := self.why_closed(profile, name, value):
                kind = f"value of {name} that {profile} leaves open ({why})"
                raise UnknownName(value, kind, self.open_values(profile, name))

    def check_readings(self, readings: Mapping[str, str]) -> None:
        """Raise UnknownName for a reading or a value that does not exist."""
        for name, value in readings.items():
            if name not in self.readings:
                raise UnknownName(name, "reading", self.readings)
            if value not in self.readings[name].values:
                raise UnknownName(str(value), f"value of {name}", self.readings[name].values)
