"""One release, for its operations: configuration, load data and plug-in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pulsar_conformance.adapters.pulsar.configuration import Configurations
from pulsar_conformance.adapters.pulsar.jvm import Java
from pulsar_conformance.adapters.pulsar.loads import LoadParser, broker_id
from pulsar_conformance.adapters.pulsar.turns import NextAnswers
from pulsar_conformance.adapters.pulsar.versions import unconditional_defaults

Case = Mapping[str, Any]
Answer = dict[str, Any]


WITHOUT_EXTENSIBLE = "the release has no extensible load manager"


class Unsupported(Exception):
    """Raised for a case about which the release cannot be asked; the message gives the reason."""


class RejectedRequest(Exception):
    """Raised for a request that the release rejected; the message gives the reason."""


class Unanswered(Exception):
    """Raised for a request that the release would never answer.

    The message says where the request got stuck.
    """


@dataclass(frozen=True)
class Release:
    """One release, whose classes are in this process's JVM.

    Attributes:
        version: the version that the jars give.
        defaults: the documented defaults of its profile, for settings that a case omits.
        neutral: undocumented settings, with values that disable their effect.
        shedder: a user's own shedding strategy class, in place of Pulsar's; or None.
        played: the documented strategy whose rules the user's shedder claims to follow; or None.
        placer: a user's own placement strategy class, in place of Pulsar's; or None.
        identify: function that maps a broker's name in a case to its registered name.
    """

    version: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    neutral: Mapping[str, Any] = field(default_factory=dict)
    shedder: str | None = None
    placer: str | None = None
    played: str | None = None
    identify: Callable[[str], str] = broker_id

    def configuration(self, settings: Mapping[str, Any]) -> Java:
        """Return the `ServiceConfiguration` of a case. Errors: `Unsupported`."""
        return self.configurations.of(settings)

    @cached_property
    def configurations(self) -> Configurations:
        """The builder of broker configurations from the settings of cases."""
        return Configurations({**unconditional_defaults(self.defaults), **self.neutral})

    @cached_property
    def loads(self) -> LoadParser:
        """The parser of load data."""
        return LoadParser(self.identify)

    @cached_property
    def turns(self) -> NextAnswers:
        """The object that replaces the release's random choice by equally good choices in turn."""
        return NextAnswers()
