"""All specifications together, and what is asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pulsar_conformance.specs.errors import UnknownName
from pulsar_conformance.specs.model import (
    JSON,
    Document,
    Hidden,
    Profile,
    Reading,
    Rule,
    Setting,
    Way,
)


@dataclass(frozen=True)
class Specs:
    """Documents, settings, readings, profiles and rules, each by its name and in order."""

    documents: Mapping[str, Document]
    settings: Mapping[str, Setting]
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
            for name, setting in self.settings.items()
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
