"""The Spark session of a process: started when needed, shared, and ended by its last user."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, TypeVar
from urllib.parse import urlsplit

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.programs import no_java

SPARK = 4
EXTRA = "pip install 'pulsar-conformance[spark]'"
SUBMITTED = "submitted"
"""The Spark that `spark-submit` has set up for this process, with its own settings."""

CONNECT_PORT = 15002
"""Where a Spark Connect server listens unless its address says otherwise."""

REACHED_WITHIN = 5.0
"""Seconds in which a Spark Connect server must accept a connection."""

ENDS_WITHIN = 10.0
"""Seconds that a session may take to end, before it is left to itself."""

TAIL = 20
"""Lines of Spark's standard error that a message shows."""

ZONE = "spark.sql.session.timeZone"
OF_THE_SESSION: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.icu.caseMappings.enabled": "false",
    ZONE: "UTC",
}
"""One question is one job: nothing is tried out or sent round in jobs of its own. `True` is put in
small letters without the tables of every alphabet, which take most of a second to load."""

UNTRACED: Mapping[str, str] = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""No column remembers which line of Python made it: measured, that is half of what it takes to make
one. It can be set where Spark starts alone.
"""

OF_THE_PROCESS: Mapping[str, str] = {
    "spark.api.mode": "classic",
    "spark.app.name": "pulsar-conformance",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Quiet, reached by this machine alone, and compiled once: a run lasts a minute. Measured, all its
jobs together take 60 % of the CPU time that they take with Java's second compiler, and a tenth less
where garbage is collected by one thread."""

Session = Any
"""A `pyspark.sql.SparkSession`, classic or of Spark Connect: only what both have is used."""


def lacking() -> str | None:
    """What this machine lacks to run Spark itself, in words, or an empty text."""
    without_java = no_java()
    return _no_pyspark() or (without_java and f"it {without_java}")


def _no_pyspark() -> str | None:
    wanted = f"it needs PySpark {SPARK}: {EXTRA}"
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        return wanted
    return None if found.startswith(f"{SPARK}.") else f"{wanted}; {found} is installed"


@dataclass
class Spark:
    """A running session: where it runs, and how many connections use it."""

    target: str
    session: Session
    version: str
    users: int = 0
    log: Log | None = None

    @property
    def told(self) -> str:
        """Which Spark this is: `Spark 4.1.0 on local[*]`."""
        return f"Spark {self.version} on {self.target}"

    def interrupt(self) -> None:
        """Cancel its current work."""
        with suppress(Exception):
            within(ENDS_WITHIN, self.session.interruptAll)

    @property
    def tail(self) -> str:
        """The last lines that its Java process wrote to standard error."""
        return self.log.tail() if self.log else ""


class Log:
    """The Java process's standard error: kept, but not shown."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  as long as Spark lives

    def tail(self) -> str:
        """Its last lines."""
        self._file.seek(0)
        text = self._file.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-TAIL:])

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Processes that are started meanwhile use this file as standard error."""
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(self._file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@dataclass
class _Process:
    """The state of this process: all of it shares one Spark."""

    running: Spark | None = field(default=None)


_PROCESS = _Process()


PLACES = re.compile(r"local(\[(\*|[1-9]\d{0,3})\])?|sc://[^\s/]+(/\S*)?")
"""What names a Spark; `SUBMITTED` besides."""


def check_place(target: str, adapter: str) -> None:
    """Raises AdapterError where no Spark can be named so."""
    if target != SUBMITTED and not PLACES.fullmatch(target):
        hint = "write local[4], local[*] for every core, or sc://HOST:PORT"
        raise AdapterError("start", f"{target!r} is no place for Spark to run", hint, "", adapter)


def take(target: str, adapter: str, options: Mapping[str, str] = MappingProxyType({})) -> Spark:
    """The Spark of a target, to be given back by `release`.

    It is `local[2]` or the like, `sc://host:port`, or `SUBMITTED`.

    `options` are over our own where it is started here; one that runs already keeps its own.
    Raises AdapterError where it cannot be had, is none, or the process has another one.
    """
    check_place(target, adapter)
    running = _PROCESS.running
    if running is None:
        running = _started(target, adapter, options)
    elif running.target != target:
        problem = f"this process has a Spark already, {running.target}"
        raise AdapterError("start", problem, "ask the two in commands of their own", "", adapter)
    running.users += 1
    _PROCESS.running = running
    return running


def release(spark: Spark) -> None:
    """Release what `take` returned; the last user ends it."""
    spark.users -= 1
    if spark.users == 0 and _PROCESS.running is spark:
        _PROCESS.running = None
        with suppress(Exception):  # it is gone either way
            within(ENDS_WITHIN, spark.session.stop)
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def _started(target: str, adapter: str, options: Mapping[str, str]) -> Spark:
    if target == SUBMITTED:
        return _submitted(adapter, options)
    remote = target.startswith("sc://")
    problem = _no_pyspark() if remote else lacking()
    if problem:
        hint = "install it, or leave this one out"
        raise AdapterError("start", problem, hint, "", adapter)
    return _connected(target, adapter) if remote else _own(target, adapter, options)


def _own(master: str, adapter: str, more: Mapping[str, str]) -> Spark:
    """A Spark session in a Java process that we start."""
    from pyspark.sql import SparkSession

    log = Log()
    cores = re.search(r"\[(\d+)", master)
    tasks = int(cores[1]) if cores else (os.cpu_count() or 1)
    options = {
        **OF_THE_PROCESS,
        **OF_THE_SESSION,
        **UNTRACED,
        "spark.sql.shuffle.partitions": str(tasks),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "spark-warehouse")),
        **more,
    }
    python = os.environ.get("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).config(map=dict(options))
    try:
        with (
            log.taking(),
            _interrupts_kept(),
            _environment(SPARK_LOCAL_IP="127.0.0.1", SPARK_REMOTE=None, PYSPARK_PYTHON=python),
        ):
            session = builder.getOrCreate()
    except Exception as error:
        problem = f"Spark does not start: {first_line(error)}"
        hint = "try `spark-submit --version`: it uses the same Java"
        raise AdapterError("start", problem, hint, log.tail(), adapter) from None
    return Spark(master, session, session.version, log=log)


def _submitted(adapter: str, options: Mapping[str, str]) -> Spark:
    """The Spark that this process was submitted to."""
    try:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.config(map={**UNTRACED, **options}).getOrCreate()
        session.conf.set(ZONE, OF_THE_SESSION[ZONE])
    except Exception as error:
        problem = f"Spark does not start: {first_line(error)}"
        raise AdapterError("start", problem, "run it by spark-submit", "", adapter) from None
    return Spark(SUBMITTED, session, session.version)


def _connected(url: str, adapter: str) -> Spark:
    """A session of a Spark Connect server."""
    parts = urlsplit(url)
    address = (parts.hostname or "localhost", parts.port or CONNECT_PORT)
    try:
        socket.create_connection(address, REACHED_WITHIN).close()
    except OSError as error:
        problem = f"no Spark Connect server at {address[0]}:{address[1]}: {error}"
        hint = "start one, with start-connect-server.sh of Spark's sbin folder"
        raise AdapterError("start", problem, hint, "", adapter) from None
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(url).getOrCreate()
        for name, value in OF_THE_SESSION.items():
            session.conf.set(name, value)
    except Exception as error:
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        problem = f"{url} gives no session: {first_line(error)}"
        raise AdapterError("start", problem, f"for its client, {EXTRA}", "", adapter) from None
    return Spark(url, session, session.version)


Made = TypeVar("Made")


def within(seconds: float, work: Callable[[], Made]) -> Made:
    """The result of some work in a separate thread. Raises TimeoutError if it takes longer.

    A client of Spark Connect whose server is gone retries for minutes.
    """
    made: list[Made] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not made:
        raise TimeoutError(f"nothing within {seconds:g} s")
    return made[0]


def first_line(error: BaseException) -> str:
    """The message of an exception, without the pages of Java below it."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


RAISED = re.compile(r"^\s*(?:Caused by)?:? ?(?:[a-z][\w$]*\.)+[A-Z][\w$]*: (.+)", re.MULTILINE)
"""How a cause stands in a trace of Java."""


def last_cause(error: BaseException) -> str:
    """The last cause that an error of Spark names, without the pages around it."""
    causes: list[str] = RAISED.findall(str(error)) or [first_line(error)]
    return causes[-1].strip().rstrip(".")


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """What handles an interrupt of this process is as it was afterwards, and Py4J is silent on it.

    PySpark's own handler talks to Java in the middle of another talk, and Py4J then prints traces.
    """
    logging.getLogger().addFilter(_not_of_py4j)
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """What Py4J tells the root logger is raised as well, to whoever asked."""
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _environment(**wanted: str | None) -> Iterator[None]:
    """Variables as they are wanted, none for absent, and as they were afterwards."""
    before = {name: os.environ.get(name) for name in wanted}
    _set(wanted)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
