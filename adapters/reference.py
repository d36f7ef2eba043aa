"""The reference model as an adapter in this process; cases are not serialized."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, PROTOCOL, Hello
from pulsar_conformance.reference import Model
from pulsar_conformance.reference.answers.shedding import strategies_of
from pulsar_conformance.reference.splitting import BY_RATES, FLOW_MARGIN
from pulsar_conformance.specs import load

BATCH = 100_000
"""Maximum number of cases in a batch; any number would do, since no messages are built."""

NEUTRAL_SUFFIX = "neutral"

ALGORITHMS = (
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
)


def _name_if_documented(model: Model, setting: str, name: str) -> tuple[str, ...]:
    """Return a tuple of `name`, or an empty tuple if the profile does not document the setting."""
    return (name,) if setting in model.defaults else ()


class ReferenceConnection(Connection):
    """Connection to the model in this process, without serialization and time limits."""

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
            strategies=strategies_of(self._model.defaults),
            algorithms=(*ALGORITHMS, *_name_if_documented(self._model, FLOW_MARGIN, BY_RATES)),
            readings={**load().default_readings(profile), **readings},
        )

    @property
    def in_process(self) -> bool:
        """True, because the model reads the original cases."""
        return True

    @property
    def restarts(self) -> bool:
        """True, because each connection creates its own model."""
        return True

    def in_turn(self) -> Callable[[JSON, float], JSON] | None:
        """Return a function that answers consecutive shedding cycles; None for a release's
        profile.
        """
        return self._model.in_turn()

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case; an exception in the model fails only that case."""
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
        """Do nothing: there is no process to stop."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def failure_text(error: BaseException) -> str:
    """Format an exception as `Type: text (file.py:12)`, with the line that raised it."""
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
    """Connect to the reference model, which answers by this profile and these readings.

    With the name `reference:neutral`, undocumented settings of a release have no effect.
    """
    if rest not in ("", NEUTRAL_SUFFIX):
        problem = f"reference can be followed only by :{NEUTRAL_SUFFIX}"
        raise AdapterError("start", problem, "write reference", "", name)
    return ReferenceConnection(name, profile, readings, neutral=rest == NEUTRAL_SUFFIX)


def _version() -> str:
    try:
        return version("pulsar-conformance")
    except PackageNotFoundError:
        return ""
