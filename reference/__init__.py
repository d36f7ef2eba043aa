"""The executable model: every documented rule, in exact fractions, as readable as its sentence."""

from pulsar_conformance.reference.context import MissingSetting, Readings, Settings
from pulsar_conformance.reference.derivation import Derivation, Step, fold_steps
from pulsar_conformance.reference.model import Model

__all__ = ["Derivation", "MissingSetting", "Model", "Readings", "Settings", "Step", "fold_steps"]
