"""The Spark session of a process: started on demand, shared, and stopped by its last user."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.programs import SPARK_EXTRA, pyspark_problem, spark_problem
from pulsar_conformance.adapters.spark.background import run_in_background, run_within
from pulsar_conformance.adapters.spark.configuring import INTERPRETED, configure
from pulsar_conformance.adapters.spark.java import (
    EARLY_IMPORTS,
    JAVA,
    SESSION_SETTINGS,
    TIME_ZONE,
    UNTRACED_COLUMNS,
    Log,
)

SUBMITTED_TARGET = "submitted"
"""Target of a process started by `spark-submit`, which selects Spark and its settings."""

CONNECT_PORT = 15002
"""Default port of a Spark Connect server."""

CONNECT_SECONDS = 5.0
"""Seconds within which a Spark Connect server must accept a connection."""

END_SECONDS = 10.0
"""Maximum time in seconds to wait for the end of a session."""

COMPILED_FROM = 250
"""Number of cases from which on compiled plans take less CPU time than interpreted ones.

Measured on a run with 24 jobs, 13 of which have fewer cases: 43 s of Java's CPU time instead of 50.
"""

Session = Any
"""A `pyspark.sql.SparkSession`, classic or of Spark Connect, limited to the API of both."""


@dataclass
class Spark:
    """A running Spark session, its target, and the number of its users."""

    target: str
    session: Session
    version: str
    users: int = 0
    log: Log | None = None
    _interpreted: Session | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def session_for(self, cases: int) -> Session:
        """Return the session that answers this number of cases in the least CPU time.

        A small number of cases is answered by interpreted plans, since compiling takes longer.
        Plans of a Spark Connect server are always compiled.
        """
        if cases >= COMPILED_FROM:
            return self.session
        with self._turn:
            if self._interpreted is None:
                other = separate_session(self.session)
                if other is not None:
                    configure(other, INTERPRETED)
                self._interpreted = other or self.session
            return self._interpreted

    @property
    def title(self) -> str:
        """The name and version, such as `Spark 4.1.0 on local[*]`."""
        return f"Spark {self.version} on {self.target}"

    def interrupt(self) -> None:
        """Cancel the running work of all sessions."""
        for one in filter(None, (self.session, self._interpreted)):
            with suppress(Exception):
                run_within(END_SECONDS, one.interruptAll)

    def defer_freeing(self) -> None:
        """Defer freeing Java objects until a user releases this session or another one starts."""
        if self.log is not None:
            JAVA.defer_freeing()

    @property
    def tail(self) -> str:
        """The last lines of output of Spark's Java process; empty if it was not started here."""
        return self.log.tail() if self.log else ""


@dataclass
class _Process:
    """The Spark session that all users in this process share."""

    running: Spark | None = None
    ending: Future[None] | None = None
    """The end of the previous session, which a background thread stops."""

    turn: threading.Lock = field(default_factory=threading.Lock)


_PROCESS = _Process()


PY4J_ERROR_START = "An error occurred while calling "
"""Beginning of Py4J's message if a Java method fails."""

TARGETS = re.compile(r"local(\[(\*|[1-9]\d{0,3})\])?|spark://[^\s/]+|sc://[^\s/]+(/\S*)?")
"""Pattern of all targets except `SUBMITTED_TARGET`."""


def check_target(target: str, adapter: str) -> None:
    """Raise `AdapterError` unless `target` is a Spark target such as local[4] or sc://HOST:PORT."""
    if target != SUBMITTED_TARGET and not TARGETS.fullmatch(target):
        hint = "give local[4], local[*] for all cores, spark://HOST:PORT, or sc://HOST:PORT"
        raise AdapterError("start", f"{target!r} is not a Spark target", hint, "", adapter)


def acquire(target: str, adapter: str, options: Mapping[str, str] = MappingProxyType({})) -> Spark:
    """Return the running Spark at a target, and count one more user; call `release` at the end.

    The target is `SUBMITTED_TARGET`, or a text such as `local[2]`, `spark://host:port` or
    `sc://host:port`. `options` override the suite's settings if Spark is started here; a running
    Spark keeps its own. Errors: `AdapterError` if Spark cannot be reached or started, or if the
    process uses another Spark.
    """
    check_target(target, adapter)
    if _PROCESS.running is None and target != SUBMITTED_TARGET:
        check_installed(target, adapter)
    return _share_running(target, adapter, options)


def _share_running(
    target: str, adapter: str, options: Mapping[str, str] = MappingProxyType({})
) -> Spark:
    """Return this process's Spark, started if necessary, and count one more user."""
    with _PROCESS.turn:
        running = _PROCESS.running
        if running is None:
            _check_ended(adapter)
            running = _start_spark(target, adapter, options)
        elif running.target != target:
            problem = f"this process already uses the Spark at {running.target}"
            hint = "run a separate command for each target"
            raise AdapterError("start", problem, hint, "", adapter)
        running.users += 1
        _PROCESS.running = running
        return running


def _check_ended(adapter: str) -> None:
    """Wait until the previous Spark session has stopped, so that a new one does not reuse it."""
    if _PROCESS.ending is not None and wait([_PROCESS.ending], END_SECONDS).not_done:
        problem = f"the previous Spark of this process did not stop within {END_SECONDS:g} s"
        raise AdapterError("start", problem, "use another process", "", adapter)


def acquire_in_background(target: str, adapter: str) -> Future[Spark]:
    """Return a future of the Spark at a target, and start Java in the background if needed.

    Starting takes seconds, in which cases can be drawn. If it is already known that Spark cannot be
    used, this function itself raises AdapterError.
    """
    check_target(target, adapter)
    check_installed(target, adapter)
    if _is_remote(target) or _PROCESS.running is not None:
        promised: Future[Spark] = Future()
        promised.set_result(_share_running(target, adapter))
        return promised
    JAVA.launch(target, {}, EARLY_IMPORTS)
    return run_in_background(partial(_share_running, target, adapter), "spark")


def start_java(target: str, adapter: str, options: Mapping[str, str]) -> None:
    """Start the Java process that `acquire` will need, if any, in the background.

    Modules can be imported during the seconds that this takes. Errors: those of `acquire`.
    """
    check_target(target, adapter)
    if target != SUBMITTED_TARGET and not _is_remote(target) and _PROCESS.running is None:
        check_installed(target, adapter)
        JAVA.launch(target, options)


def separate_session(session: Session) -> Session | None:
    """Return another session of the same Spark, with settings of its own.

    None on a Spark Connect server, which keeps the new session after the first one has ended.
    """
    from pyspark.sql.utils import is_remote

    if is_remote():
        return None
    other = session.newSession()
    configure(other, {name: session.conf.get(name) for name in SESSION_SETTINGS})
    return other


def release(spark: Spark, *, idle: bool = False) -> None:
    """Release a Spark from `acquire`; its last user stops it.

    If the session is `idle` and belongs to the suite's own Java process, do not wait for its end.
    """
    with _PROCESS.turn:
        spark.users -= 1
        if spark.users:
            JAVA.free_objects()
        if spark.users == 0 and _PROCESS.running is spark:
            _PROCESS.running = None
            JAVA.restore_thread_switching()
            _PROCESS.ending = run_in_background(partial(_stop, spark), "end")
            if not (idle and spark.log):
                wait([_PROCESS.ending], END_SECONDS)
            os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)


def release_started(starting: Future[Spark], *, idle: bool = False) -> None:
    """Release the Spark from `acquire_in_background`, if it started."""
    if starting.exception() is None:
        release(starting.result(), idle=idle)


@contextmanager
def spark_acquired(
    target: str, adapter: str, options: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Spark]:
    """Acquire a Spark for the block, and release it at the end."""
    spark = acquire(target, adapter, options)
    try:
        yield spark
    except BaseException:
        release(spark)
        raise
    release(spark, idle=True)


def _stop(spark: Spark) -> None:
    """Stop a session, after a call that is allowed to fail.

    If a thread was interrupted during a call to Java, Java closes all its connections. The next
    call may get such a closed connection and fail; the call after it works.
    """
    if not _is_remote(spark.target):
        with suppress(Exception):
            spark.session.conf.get(TIME_ZONE)
    spark.session.stop()


def _start_spark(target: str, adapter: str, options: Mapping[str, str]) -> Spark:
    if target == SUBMITTED_TARGET:
        return _use_submitted(adapter, options)
    return (
        _connect_remote(target, adapter)
        if _is_remote(target)
        else _start_own(target, adapter, options)
    )


def _is_remote(target: str) -> bool:
    return target.startswith("sc://")


def check_installed(target: str, adapter: str) -> None:
    """Raise `AdapterError` if this machine lacks something that Spark at this target requires."""
    problem = pyspark_problem() if _is_remote(target) else spark_problem()
    if problem:
        asked = adapter.partition(":")[0] == "spark"
        hint = "run without this adapter" if asked else "try nox -s audit, which installs PySpark"
        raise AdapterError("start", problem, f"install it, or {hint}", "", adapter)


def _start_own(master: str, adapter: str, options: Mapping[str, str]) -> Spark:
    """Return a Spark whose Java process is started here."""
    try:
        session = JAVA.session(master, options)
    except Exception as error:
        problem = f"Spark does not start: {exception_message(error)}"
        hint = "try `spark-submit --version`: it uses the same Java"
        raise AdapterError("start", problem, hint, JAVA.log.tail(), adapter) from None
    return Spark(master, session, session.version, log=JAVA.log)


def _use_submitted(adapter: str, options: Mapping[str, str]) -> Spark:
    """Return the Spark of this process, which `spark-submit` started."""
    try:
        from pyspark.sql import SparkSession

        session = SparkSession.builder.config(map={**UNTRACED_COLUMNS, **options}).getOrCreate()
        session.conf.set(TIME_ZONE, SESSION_SETTINGS[TIME_ZONE])
    except Exception as error:
        problem = f"Spark does not start: {exception_message(error)}"
        raise AdapterError("start", problem, "start it with spark-submit", "", adapter) from None
    return Spark(SUBMITTED_TARGET, session, session.version)


def _connect_remote(url: str, adapter: str) -> Spark:
    """Return a Spark with a session on a Spark Connect server."""
    parts = urlsplit(url)
    address = (parts.hostname or "localhost", parts.port or CONNECT_PORT)
    try:
        socket.create_connection(address, CONNECT_SECONDS).close()
    except OSError as error:
        problem = f"no Spark Connect server at {address[0]}:{address[1]}: {error}"
        hint = "start one with start-connect-server.sh, in Spark's sbin folder"
        raise AdapterError("start", problem, hint, "", adapter) from None
    from pyspark.sql import SparkSession

    try:
        session = SparkSession.builder.remote(url).getOrCreate()
        configure(session, SESSION_SETTINGS)
    except Exception as error:
        os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        problem = f"{url} provides no session: {exception_message(error)}"
        raise AdapterError(
            "start", problem, f"install its client: {SPARK_EXTRA}", "", adapter
        ) from None
    return Spark(url, session, session.version)


def exception_message(error: BaseException) -> str:
    """Return an exception's message without Java's long stack trace.

    The first line of Py4J's message names only the Java method that failed; the second is Java's
    message.
    """
    first, *others = str(error).strip().splitlines() or [type(error).__name__]
    return others[0].lstrip(": ") if others and first.startswith(PY4J_ERROR_START) else first


JAVA_CAUSE = re.compile(r"^\s*(?:Caused by)?:? ?(?:[a-z][\w$]*\.)+[A-Z][\w$]*: (.+)", re.MULTILINE)
"""Pattern of the line that gives a cause in a Java stack trace."""


def last_cause(error: BaseException) -> str:
    """Return the message of the innermost cause in a Spark error."""
    causes: list[str] = JAVA_CAUSE.findall(str(error)) or [exception_message(error)]
    return causes[-1].strip().rstrip(".")
