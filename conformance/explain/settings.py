"""The settings in force on which the right answer to a case rests, and where each is from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.reference import MissingSetting, Model


class NotedSettings(dict[str, Any]):
    """Settings by name that remember which of them were looked up."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.noted: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        value = self.noted[name] = super().__getitem__(name)
        return value


def in_force(profile: str, readings: Mapping[str, str], trial: Trial) -> Iterator[str]:
    """Each setting that the model looks up: `name=value (case)`, or `(default of PROFILE)`."""
    model = Model(profile, readings)
    defaults = NotedSettings(model.defaults)
    given: dict[str, Any] = {}
    for operation, case in trial.questions:
        if operation not in model.operations or "settings" not in case:
            continue
        settings = NotedSettings(case["settings"])
        try:
            model.by(defaults).answer(operation, {**case, "settings": settings})
        except MissingSetting:
            continue
        given |= settings.noted
    for name, value in given.items():
        yield f"{name}={json.dumps(value)} (case)"
    for name, value in defaults.noted.items():
        if name not in given:
            yield f"{name}={json.dumps(value)} (default of {profile})"
