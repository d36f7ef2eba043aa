"""The reference model as an adapter in this process, without serialization."""

import traceback
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, PROTOCOL, Hello
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.answers.shedding import LATER
from pulsar_conformance.reference.splitting import BY_RATES, FLOW_MARGIN
from pulsar_conformance.specs import load

BATCH = 100_000
"""Maximum batch size; it may be as large as any run, since no messages are built."""

NEUTRAL = "neutral"

STRATEGIES = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
ALGORITHMS = (
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
)


def _known(model: Model, setting: str, name: str) -> tuple[str, ...]:
    """Return a tuple of the name, empty if the documents of the profile lack the setting."""
    return (name,) if setting in model.defaults else ()


class ReferenceConnection(Connection):
    """Asks the model directly; nothing is serialized, and nothing can hang."""

    def __init__(
        self, name: str, profile: str, readings: Mapping[str, str], neutral: bool = False
    ) -> None:
        self.adapter = name
        self._model = Model(profile, readings, neutral)
        self.hello = Hello(
            protocol=PROTOCOL,
            name="reference",
            version=_version(),
            batch=BATCH,
            operations=tuple(self._model.operations),
            strategies=(*STRATEGIES, *self._later()),
            algorithms=(*ALGORITHMS, *_known(self._model, FLOW_MARGIN, BY_RATES)),
            readings={**load().default_readings(profile), **readings},
        )

    def _later(self) -> list[str]:
        """Return the strategies of later documents that the profile has."""
        return [name for name, setting in LATER.items() if _known(self._model, setting, name)]

    @property
    def in_process(self) -> bool:
        """True, since the model reads the original cases."""
        return True

    @property
    def restarts(self) -> bool:
        """True, since each connection has its own model."""
        return True

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer for each case; an exception in the model is a failure of that case."""
        if operation not in self.hello.operations:
            problem = f"{operation} is not offered"
            raise AdapterError("ask", problem, "", "", self.adapter, "unknown-operation")
        return [self._answer(operation, case) for case in batch]

    def _answer(self, operation: str, case: JSON) -> JSON:
        try:
            return self._model.answer(operation, case)
        except Exception as error:
            return {"failed": failure_text(error)}

    def bye(self) -> None:
        """Do nothing, since no process has to stop."""

    def close(self) -> None:
        """Do nothing, since nothing is open."""


def failure_text(error: BaseException) -> str:
    """Return `Type: text (file.py:12)`, with the place where the error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def connect_reference(
    rest: str,
    name: str,
    profile: str,
    readings: Mapping[str, str],
    limits: Limits,  # noqa: ARG001  the signature of every kind
) -> Connection:
    """Connect to the model of this profile and these readings, named `reference`.

    `reference:neutral` is a release whose undocumented settings have no effect.
    """
    if rest not in ("", NEUTRAL):
        problem = f"reference takes nothing after it but :{NEUTRAL}"
        raise AdapterError("start", problem, "write reference", "", name)
    return ReferenceConnection(name, profile, readings, neutral=rest == NEUTRAL)


def _version() -> str:
    try:
        return version("pulsar-conformance")
    except PackageNotFoundError:
        return ""
