"""Code of the playground that runs in the browser: from JSON to the model's answer as JSON."""

import json
from typing import Any

from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.specs import UnknownName, load


def known() -> str:
    """Return the profiles, and the alternatives of each reading, the profile's own first."""
    specs = load()
    profiles = [name for name, one in specs.profiles.items() if one.kind != "unwritten"]
    readings = {
        name: {"question": one.question, "values": {v.value: v.means for v in one.alternatives}}
        for name, one in specs.readings.items()
    }
    own = {name: specs.default_readings(name) for name in profiles}
    return json.dumps({"profiles": profiles, "readings": readings, "own": own})


def answer(asked: str) -> str:
    """Return the answer to a question with its derivation, or the problem with the question."""
    try:
        return json.dumps(_answered(json.loads(asked)))
    except MissingSetting as missing:
        wrong = f"the case needs {missing.name}, which has no documented default"
    except UnknownName as unknown:
        wrong = str(unknown)
    except json.JSONDecodeError as broken:
        wrong = f"it isn't JSON: {broken}"
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as broken:
        wrong = f"the model cannot read the case ({type(broken).__name__}: {broken})"
    return json.dumps({"wrong": wrong})


def _answered(asked: dict[str, Any]) -> dict[str, Any]:
    model = Model(asked["profile"], asked.get("readings", {}))
    if asked["ask"] not in model.operations:
        raise UnknownName(asked["ask"], "operation", model.operations)
    derived = model.derive(asked["ask"], asked["case"])
    return {"answer": dict(derived.answer), "steps": list(derived.lines())}
