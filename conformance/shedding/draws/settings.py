"""Settings of shedding: their names, and values that do not decide anything themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from pulsar_conformance.reference import overload, threshold, uniform
from pulsar_conformance.reference.shedding import GRACE

OVERLOAD = overload.OVERLOAD_THRESHOLD
OVER_AVERAGE = threshold.SHEDDER_THRESHOLD
HISTORY = threshold.HISTORY_SHARE
LOWER_BOUNDARY = threshold.LOWER_BOUNDARY
UNIFORM_RATE = uniform.RATE_THRESHOLD
UNIFORM_THROUGHPUT = uniform.THROUGHPUT_THRESHOLD

NEEDED: Mapping[str, Any] = {OVER_AVERAGE: 10, UNIFORM_RATE: 50, UNIFORM_THROUGHPUT: 4}
"""Settings without a documented default that the strategies need."""

OTHERS = st.sampled_from(("ThresholdShedder", "UniformLoadShedder"))
"""The strategies that the overload threshold is not for."""

graces: st.SearchStrategy[dict[str, Any]] = st.sampled_from((None, None, 1, 10, 45)).map(
    lambda minutes: {} if minutes is None else {GRACE: minutes}
)
"""The grace period, in minutes: left out, or set."""
