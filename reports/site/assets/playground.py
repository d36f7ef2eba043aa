"""The code of the playground, run by the browser; questions and answers are JSON."""

import json
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.simulation import loop, measures, reporting, rules, snapshots, worlds
from pulsar_conformance.audit.simulation.course import SimulatedCycle
from pulsar_conformance.audit.simulation.deciding import PLACING, REFERENCE, decision_setup
from pulsar_conformance.reference import MissingSetting, Model
from pulsar_conformance.reference.answers.shedding import NEWER_STRATEGIES, SHED, STRATEGIES
from pulsar_conformance.specs import UnknownName, UserError, load, loading
from pulsar_conformance.specs.questions import missing_property, why_no_question

PICKLE = Path(loading.__file__).parents[2] / "specs.pickle"
if PICKLE.exists():
    loading.load_from = lambda directory: pickle.loads(PICKLE.read_bytes())  # noqa: ARG005

MOST = {"brokers": 12, "bundles": 200, "cycles": 500}
"""Maximum size of a simulation on the page; the command `simulate` has no such limits."""
AT_ONCE = 10
"""Number of cycles that are simulated before the page shows them."""


def available_choices() -> str:
    """Return the profiles with their strategies and readings, and the worlds."""
    specs = load()
    profiles = [name for name, one in specs.profiles.items() if one.kind != "unwritten"]
    readings = {
        name: {"question": one.question, "values": {v.value: v.meaning for v in one.alternatives}}
        for name, one in specs.readings.items()
    }
    own = {name: specs.default_readings(name) for name in profiles}
    found = {"profiles": profiles, "readings": readings, "own": own, "placing": PLACING}
    strategies = {name: _strategies(name) for name in profiles}
    return json.dumps({**found, "worlds": worlds.world_titles(), "strategies": strategies})


def _strategies(profile: str) -> list[str]:
    defaults = load().defaults(profile)
    return [
        *STRATEGIES,
        *(name for name, setting in NEWER_STRATEGIES.items() if setting in defaults),
    ]


def answer(asked: str) -> str:
    """Return the answer to a question with its derivation, or text on what is wrong with the
    question.
    """
    return _result_or_problem(_answered, asked)


def simulate(asked: str) -> str:
    """Return the next cycles of a simulation and, after the last cycle, a table.

    `asked` is a question with `loop` and `first`, the number of the next cycle. `loop` has `world`
    (empty to start from the case), `strategy`, `placing`, `cycles` and lines of `settings`. Of each
    profile, only the latest simulation can be continued.
    """
    return _result_or_problem(_simulated, asked)


def _result_or_problem(work: Callable[[dict[str, Any]], dict[str, Any]], asked: str) -> str:
    try:
        return json.dumps(work(json.loads(asked)))
    except MissingSetting as missing:
        wrong = f"case.settings: {missing}"
    except UserError as mistake:
        wrong = str(mistake)
    except json.JSONDecodeError as broken:
        wrong = f"it isn't JSON: {broken}"
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as broken:
        wrong = f"the model cannot read the case ({type(broken).__name__}: {broken})"
    return json.dumps({"wrong": wrong})


def _answered(asked: dict[str, Any]) -> dict[str, Any]:
    model = Model(asked["profile"], asked.get("readings", {}))
    if problem := why_no_question(asked):
        raise UserError(problem)
    if asked["ask"] not in model.operations:
        raise UnknownName(asked["ask"], "operation", model.operations)
    if problem := missing_property(asked["ask"], asked["case"]):
        raise UserError(problem)
    derived = model.derive(asked["ask"], asked["case"])
    return {"answer": dict(derived.answer), "steps": list(derived.lines())}


class AnsweringModel:
    """The model as an implementation that decides in a simulation."""

    adapter = REFERENCE

    def __init__(self, model: Model) -> None:
        self._model = model

    def ask(self, operation: str, cases: Sequence[Any]) -> Sequence[Mapping[str, Any]]:
        """Return an answer for each case."""
        return [self._model.answer(operation, case) for case in cases]

    def in_turn(self) -> Callable[[Any, float], Any] | None:
        """Return a leader that decides one cycle after another; None if the model has none."""
        return self._model.in_turn()


class ShownSimulation:
    """A simulation and its cycles so far."""

    def __init__(self, asked: dict[str, Any]) -> None:
        chosen, self.profile = asked["loop"], load().profile(asked["profile"])
        model = Model(self.profile.id, asked.get("readings", {}))
        deciding = decision_setup(
            chosen["strategy"],
            dict(map(_setting, filter(None, map(str.strip, chosen["settings"].splitlines())))),
            chosen["placing"],
            self.profile.id,
            self.profile.id if self.profile.released else None,
            model.operations,
        )
        self.simulation = loop.Simulation(_world(asked), deciding, AnsweringModel(model))
        self.cycles: list[SimulatedCycle] = []

    def go_on(self, until: int) -> dict[str, Any]:
        """Simulate at most `AT_ONCE` more cycles, none of them after the cycle `until`.

        Return the new cycles and, after the last cycle, also a table.
        """
        first = len(self.cycles)
        for number in range(first, min(first + AT_ONCE, until)):
            self.cycles.append(self.simulation.cycle(number))
        strategy, over = self.simulation.deciding.strategy or "", len(self.cycles) >= until
        close = self.simulation.finish if over else self.simulation.course
        course = close(self.cycles, strategy)
        shown = [_shown(one, measures.limit_of(course, one)) for one in self.cycles[first:]]
        if not over:
            return {"cycles": shown}
        faults = [reporting.fault_text(one, course) for one in rules.loop_faults(course)]
        figures = reporting.figures(measures.measures_of(course))
        table = dict(zip(reporting.HEADINGS[1:], figures, strict=True))
        told = {"random": reporting.random_text(course), "legend": reporting.LEGEND}
        return {"cycles": shown, "table": table, "faults": faults, **told}


def _setting(line: str) -> tuple[str, Any]:
    name, _, text = (part.strip() for part in line.partition("="))
    specs = load()
    if name not in specs.settings and name not in specs.annotated and name not in specs.hidden:
        raise UnknownName(name, "setting", specs.settings)
    try:
        return name, json.loads(text)
    except ValueError:
        return name, text


def _world(asked: dict[str, Any]) -> worlds.SimulatedWorld:
    name = asked["loop"]["world"]
    if name:
        world = worlds.named_world(name)
    elif asked.get("ask", SHED) != SHED:
        raise worlds.BadWorld(f"only a case of {SHED} can be continued; choose a world instead")
    elif problem := why_no_question(asked) or missing_property(SHED, asked["case"]):
        raise UserError(problem)
    else:
        case = asked["case"]
        settings = {**worlds.usual_settings(), **case["settings"]}
        world = snapshots.snapshot_world("the case", case["brokers"], case["bundles"], settings, [])
    sizes = {"brokers": len(world.brokers), "bundles": len(world.bundles)}
    for what, size in {**sizes, "cycles": asked["loop"]["cycles"]}.items():
        if not 1 <= size <= MOST[what]:
            raise worlds.BadWorld(
                f"{size} {what}: the page simulates 1 to {MOST[what]}; for more, use the command "
                "pulsar-conformance simulate"
            )
    return world


def _shown(cycle: SimulatedCycle, limit: float | None) -> dict[str, Any]:
    moves = [[one.bundle, one.source, one.target, one.why] for one in cycle.moves]
    used = {
        "usage": cycle.compared_usage,
        "average": measures.average_compared_usage(cycle),
        "limit": limit,
    }
    return {"number": cycle.number, **used, "moves": moves, "splits": cycle.splits}


_running: dict[str, ShownSimulation] = {}


def _simulated(asked: dict[str, Any]) -> dict[str, Any]:
    profile = asked["profile"]
    if not asked["first"]:
        _running[profile] = ShownSimulation(asked)
    return _running[profile].go_on(asked["loop"]["cycles"])
