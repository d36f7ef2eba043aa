"""The executable model: every documented rule, in exact fractions, as readable as its sentence."""

from pulsar_conformance.reference.derivation import Derivation, Step, folded
from pulsar_conformance.reference.model import Model
from pulsar_conformance.reference.readings import Readings
from pulsar_conformance.reference.settings import MissingSetting, Settings

__all__ = ["Derivation", "MissingSetting", "Model", "Readings", "Settings", "Step", "folded"]
