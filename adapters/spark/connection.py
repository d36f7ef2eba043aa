"""The Spark engine as an adapter; one job answers thousands of cases."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib.metadata import PackageNotFoundError, version
from threading import Lock
from typing import TYPE_CHECKING

from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.protocol import JSON, PROTOCOL, Hello, json_text
from pulsar_conformance.adapters.spark import rows, session
from pulsar_conformance.adapters.spark.background import collect_garbage, run_within
from pulsar_conformance.specs import load
from pulsar_conformance.specs.text import WIDTH, counted, paragraph

if TYPE_CHECKING:
    from pulsar_conformance.adapters.spark.cases import PlanBasis, SparkOperation
    from pyarrow import Table

NAME = "spark"
BATCH = 20_000
"""Number of cases in a batch; a batch is one job unless its cases are too large."""

MAX_JOB_CHARACTERS = 1 << 26
"""Maximum number of characters of JSON in a job, sent to executors in several messages."""

FIRST_JOB_SECONDS = 60.0
"""Extra seconds for an operation's first job, which loads and compiles classes."""

MAX_HELD_CHARACTERS = 160_000_000
"""Number of characters of JSON after which memory is freed.

Java keeps the cases of a job until Python has collected the objects that refer to the job's plan.
Python itself collects them only after hours. The number is above that of a default run, because a
collection stops all threads for seconds while the cases of a run exist.
"""

MAX_JOBS = 2
"""Number of jobs at a time: one core plans a job while the other runs tasks of another job."""


STRATEGIES = ("OverloadShedder", "ThresholdShedder", "UniformLoadShedder")
"""The strategies that every profile's documents describe."""


class SparkConnection(Connection):
    """Connection that answers batches by jobs of the only Spark session of this process."""

    def __init__(
        self, target: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
    ) -> None:
        self.adapter = name
        self._profile = profile
        self._limits = limits
        specs = load()
        followed = {**specs.default_readings(profile), **readings}
        self._starting: Future[session.Spark] | None = session.acquire_in_background(target, name)
        from pulsar_conformance.adapters.spark import shedding, splitting
        from pulsar_conformance.adapters.spark.cases import PlanBasis
        from pulsar_conformance.adapters.spark.operations import OPERATIONS

        self._operations: Mapping[str, SparkOperation] = OPERATIONS
        defaults = specs.defaults(profile)
        self._chosen: PlanBasis = PlanBasis(defaults, followed)
        self._jobs: Counter[str] = Counter()
        self._cases: Counter[str] = Counter()
        self._held = 0
        self._lock = Lock()
        self.hello = Hello(
            protocol=PROTOCOL,
            name=NAME,
            version=_version(),
            batch=BATCH,
            operations=(*OPERATIONS, rows.NAME),
            strategies=tuple(sorted(shedding.documented_strategies(defaults))),
            algorithms=splitting.documented_algorithms(defaults),
            readings=followed,
        )

    @property
    def closed(self) -> bool:
        """True if the engine no longer answers questions."""
        return self._starting is None

    @property
    def concurrency(self) -> int:
        """Number of threads that may ask the engine at a time, each by its own job."""
        return MAX_JOBS

    def remarks(self) -> list[str]:
        """Return lines with the numbers of jobs and of answered cases per operation."""
        if not self._jobs or self._starting is None:
            return []
        jobs, cases = self._jobs.total(), self._cases.total()
        each = (
            f"{name} {self._cases[name]}" + (f" in {count} jobs" if count > 1 else "")
            for name, count in list(self._jobs.items())
        )
        unbroken = ", ".join(one.replace(" ", "\xa0") for one in each)
        lines = paragraph(unbroken, 2, width=WIDTH - 2)
        where = f"{self.adapter}, {self._profile}"
        asked = f"{counted(jobs, 'job')} of {self._running_spark().title}"
        first = f"{where}: {asked} answered {counted(cases, 'case')}"
        return [first, *(line.replace("\xa0", " ") for line in lines)]

    def exchange(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        """Return one answer per case, in order."""
        if operation not in self.hello.operations:
            problem = f"{operation} is not offered"
            raise AdapterError("ask", problem, "", "", self.adapter, "unknown-operation")
        if operation == rows.NAME:
            return rows.answers(batch, self._answer_in_jobs)
        return self._answer_in_jobs(operation, batch)

    def _answer_in_jobs(self, operation: str, batch: Sequence[JSON]) -> list[JSON]:
        answers: list[JSON] = []
        for texts in job_portions(map(json_text, batch)):
            answers += map(json.loads, self._run_job(operation, texts))
        return answers

    def _run_job(self, operation: str, texts: Sequence[str]) -> list[str]:
        """Return the answers to cases, computed in one job; cases and answers are JSON."""
        from pulsar_conformance.adapters.spark.cases import answers_as_json

        spark = self._running_spark()
        cases = spark.session_for(len(texts)).createDataFrame(_table(texts)).repartition("cycle")
        plan = answers_as_json(cases, self._operations[operation], self._chosen)
        rows = self._collect_answers(spark, plan, operation, len(texts))
        del cases, plan
        self._count(operation, texts)
        found = {row[0]: row[1] for row in rows}
        return [found[number] for number in range(len(texts))]

    def _count(self, operation: str, texts: Sequence[str]) -> None:
        """Count a job and its cases, and free memory once it holds too many texts.

        That is, once the texts since the last release of memory exceed `MAX_HELD_CHARACTERS`.
        """
        with self._lock:
            self._jobs[operation] += 1
            self._cases[operation] += len(texts)
            self._held += sum(map(len, texts))
            if self._held > MAX_HELD_CHARACTERS:
                self._held = 0
                collect_garbage(1)  # The cases of a run are older and stay.

    def _collect_answers(
        self, spark: session.Spark, plan: session.Session, operation: str, cases: int
    ) -> list[tuple[int, str]]:
        """Return pairs of a case's number and its answer.

        Errors: `AdapterError` if the job fails or takes too long.
        """
        seconds = self._limits.base + self._limits.per_case * cases
        seconds += 0 if operation in self._jobs else FIRST_JOB_SECONDS
        try:
            rows: list[tuple[int, str]] = run_within(seconds, plan.collect)
        except TimeoutError:
            spark.interrupt()
            self.bye()
            problem = f"no answer within {seconds:g} s, the time limit"
            hint = "give it more time (--time-limit), more cores (spark:local[4]), or fewer cases"
        except Exception as error:
            problem, hint = (
                session.exception_message(error),
                "Spark wrote this message; look for the cause there",
            )
        else:
            return rows
        message = f"{operation}, {counted(cases, 'case')}: {problem}"
        raise AdapterError("ask", message, hint, spark.tail, self.adapter, "internal")

    def _running_spark(self) -> session.Spark:
        """Return the running Spark. Errors: `AdapterError` if it does not start."""
        if self._starting is None:
            raise AdapterError("ask", "the connection is closed", "connect again", "", self.adapter)
        try:
            return self._starting.result()
        except AdapterError:
            self._starting = None
            raise

    def bye(self) -> None:
        """Release Spark once it has started; the last user of Spark stops it."""
        if self._starting is not None:
            self._starting.add_done_callback(session.release_started)
            self._starting = None

    def close(self) -> None:
        """Release Spark, as `bye` does."""
        self.bye()


def _table(texts: Sequence[str]) -> Table:
    """Return numbered cases as a table, which Spark reads without a Python process."""
    import pyarrow

    numbers = pyarrow.array(range(len(texts)), pyarrow.int64())
    return pyarrow.table({"cycle": numbers, "text": pyarrow.array(texts, pyarrow.string())})


def job_portions(texts: Iterator[str]) -> Iterator[list[str]]:
    """Yield the texts, in order, in lists of at most `MAX_JOB_CHARACTERS` each; a longer text is
    alone.
    """
    together: list[str] = []
    length = 0
    for text in texts:
        if together and length + len(text) > MAX_JOB_CHARACTERS:
            yield together
            together, length = [], 0
        together.append(text)
        length += len(text)
    if together:
        yield together


def connect_spark(
    rest: str, name: str, profile: str, readings: Mapping[str, str], limits: Limits
) -> Connection:
    """Connect to Spark: `spark`, `spark:local[N]`, or `spark:sc://host:port`."""
    target = rest or "local[*]"
    if not session.TARGETS.fullmatch(target):
        hint = "write spark, spark:local[4], or spark:sc://HOST:PORT"
        raise AdapterError("start", f"{rest!r} is not a Spark target", hint, "", name)
    return SparkConnection(target, name, profile, readings, limits)


def _version() -> str:
    try:
        return version("pulsar-conformance")
    except PackageNotFoundError:
        return ""
