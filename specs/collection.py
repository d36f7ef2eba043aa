"""All specifications together, and what is asked of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from pulsar_conformance.specs.errors import UnknownName
from pulsar_conformance.specs.model import JSON, Document, Profile, Reading, Rule, Setting


@dataclass(frozen=True)
class Specs:
    """Documents, settings, readings, profiles and rules, each by its name and in order."""

    documents: Mapping[str, Document]
    settings: Mapping[str, Setting]
    readings: Mapping[str, Reading]
    profiles: Mapping[str, Profile]
    rules: Mapping[str, Rule]

    def profile(self, name: str) -> Profile:
        """Return the profile of that name; UnknownName where there is none."""
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

    def rules_of(self, profile: str) -> tuple[Rule, ...]:
        """Return the rules of the profile, whatever the readings.

        A release has those of the profile that it is based on, too, but for those that it is
        without.
        """
        found = self.profile(profile)
        names = {found.id}
        if found.kind == "released":
            names |= {one.id for one in self.lineage(profile)}
        return tuple(
            rule
            for rule in self.rules.values()
            if names.intersection(rule.profiles) and rule.id not in found.without
        )

    def check_readings(self, readings: Mapping[str, str]) -> None:
        """Raise UnknownName for a reading or a value that is not there."""
        for name, value in readings.items():
            if name not in self.readings:
                raise UnknownName(name, "reading", self.readings)
            if value not in self.readings[name].values:
                raise UnknownName(str(value), f"value of {name}", self.readings[name].values)
