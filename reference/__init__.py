"""The executable model: every documented rule as a small function, in exact fractions."""

from pulsar_conformance.reference.context import MissingSetting, Readings, Settings
from pulsar_conformance.reference.derivation import Derivation, Step, fold_steps
from pulsar_conformance.reference.model import Model

__all__ = ["Derivation", "MissingSetting", "Model", "Readings", "Settings", "Step", "fold_steps"]
