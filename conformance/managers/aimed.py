"""Choices of a load manager that tell readings apart."""

from __future__ import annotations

from random import Random

from pulsar_conformance.conformance.common.trial import Json
from pulsar_conformance.conformance.drawing.aims import aim
from pulsar_conformance.conformance.managers.draws import naming
from pulsar_conformance.reference.managers import MODULAR


def modular_in_conf_alone(_random: Random) -> Json:
    """A manager other than the default in broker.conf, and no dynamic setting."""
    return naming(MODULAR, None)


AIMED = (aim("absent-manager", "manager.choose", modular_in_conf_alone),)
