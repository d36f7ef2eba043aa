"""Choices of a load manager that tell readings apart."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from hypothesis import strategies as st
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.drawing.aimed_trials import made
from pulsar_conformance.conformance.managers.draws import naming
from pulsar_conformance.reference.managers import MODULAR


def modular_in_conf_alone(_random: Random) -> Json:
    """A manager other than the default in broker.conf, and no dynamic setting."""
    return naming(MODULAR, None)


AIMED: Mapping[str, st.SearchStrategy[Trial]] = {
    "absent-manager": made("manager.choose", modular_in_conf_alone),
}
