"""Stories that tell readings apart."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from pulsar_conformance.conformance.trial import Trial

AIMED: Mapping[str, st.SearchStrategy[Trial]] = {}
