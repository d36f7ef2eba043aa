"""The documented rules of Pulsar's broker load balancing, as data."""

from pulsar_conformance.specs.collection import Defaults, Specs
from pulsar_conformance.specs.errors import SpecError, UnknownName, UserError
from pulsar_conformance.specs.loading import load, load_from
from pulsar_conformance.specs.model import (
    AREAS,
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
    Way,
    WayAlternative,
)
from pulsar_conformance.specs.schemas import operations, schema

__all__ = [
    "AREAS",
    "JSON",
    "Alternative",
    "Defaults",
    "Document",
    "Hidden",
    "Profile",
    "Reading",
    "Rule",
    "Section",
    "Sentence",
    "Setting",
    "Source",
    "SpecError",
    "Specs",
    "UnknownName",
    "UserError",
    "Way",
    "WayAlternative",
    "load",
    "load_from",
    "operations",
    "schema",
]
