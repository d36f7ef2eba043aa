"""The Java process started for Spark: its settings, output and sessions."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from pulsar_conformance.adapters.spark.archive import Archive, archive_of, first_jars
from pulsar_conformance.adapters.spark.background import background
from pulsar_conformance.adapters.spark.messages import defer_freeing, save_messages

GIVES_WAY = 0.001
"""Seconds after which a Python thread yields, instead of 0.005. PySpark sends Java thousands of
messages while cases are drawn, and each waits that long for the drawing thread: measured, Spark is
ready after 7 s instead of 11.
"""

TAIL = 20
"""Number of lines of Spark's standard error in a message."""

ZONE = "spark.sql.session.timeZone"
OF_THE_SESSION: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.icu.caseMappings.enabled": "false",
    ZONE: "UTC",
}
"""One job per question: no adaptive execution, no broadcast joins. Case conversion works without
ICU's tables, which take most of a second to load.
"""

UNTRACED: Mapping[str, str] = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Disables recording the Python line of each column, which takes half of the time to create one. It
can only be set when Spark starts.
"""

UNCHECKED_PLANS: Mapping[str, str] = {
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.ui.explainMode": "simple",
}
"""Plans are neither formatted for the web page nor checked after each of Spark's rules. On a small
audit that saves 1 of 25 s of CPU time.
"""

CLASS_PATH, OPTIONS = "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:NewSize=400m",
    "-XX:ReservedCodeCacheSize=256m",
    "-XX:MetaspaceSize=256m",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:SymbolTableSize=262144",
)
"""One compiler, and one thread that collects garbage, which takes a tenth less CPU time. Compiled
code gets as much memory as with two compilers: one has only 48 MB by default, which are full after
some 80 s, and all further code is interpreted. In a run of a minute, all jobs together take 60 % of
the CPU time that they take with Java's second compiler.

Young objects get 400 MB: those of a plan are large, and most live briefly. Measured on
a small audit, garbage collection takes 2 s of CPU time instead of 7.

Classes and their names get the memory that Spark's need from the start: otherwise Java collects all
garbage whenever more is needed. Measured on a small audit, these two save 1.5 of 30 s of CPU time.
"""

OF_THE_PROCESS: Mapping[str, str] = {
    "spark.api.mode": "classic",
    "spark.app.name": "pulsar-conformance",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of the Java process: no output, no web page."""


LOCAL: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""Settings of a session whose tasks run in its own process: no other machine reaches it."""


class Log:
    """The Java process's standard output and error: stored, not shown."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  as long as Java lives

    def tail(self) -> str:
        """Return the last lines, without Java's messages about the class archive."""
        self.file.seek(0)
        lines = self.file.read().decode(errors="replace").splitlines()
        return "\n".join([line for line in lines if "[cds" not in line][-TAIL:])


BEFORE = ("pandas", "pyspark.sql")
"""Modules that Python loads for Spark while Java starts, before a thread of ours needs them:
Hypothesis, which may draw meanwhile, breaks on a NumPy that is half imported; and two threads that
import PySpark at once see halves of its modules.
"""


@dataclass
class JavaProcess:
    """A Java process that starts with its first session and outlives all sessions."""

    log: Log = field(default_factory=Log)
    _launching: Future[Any] | None = None
    _archive: Archive | None = None
    _interval: float = field(default_factory=sys.getswitchinterval)
    """Python's own interval, restored when no session is left."""

    _free: Callable[[], None] | None = None
    """Frees the Java objects whose freeing is deferred."""

    def launch(
        self, master: str, more: Mapping[str, str], modules: Sequence[str] = ("pyspark.sql",)
    ) -> Future[Any]:
        """Start the process unless it runs; load Python modules meanwhile.

        The result is PySpark's gateway to it, or the error that prevented its start.
        """
        sys.setswitchinterval(min(GIVES_WAY, self._interval))
        if self._launching is None or _failed(self._launching):
            # Only PySpark's own launcher can redirect the output of the process.
            import pyspark
            from pyspark import SparkConf
            from pyspark.java_gateway import launch_gateway

            # This variable must not select a different Spark installation.
            os.environ.pop("SPARK_REMOTE", None)
            jars = Path(pyspark.__file__).with_name("jars")
            first = _first_class_path(jars)
            settings = {**first, **_settings(master, more)}
            if OPTIONS not in settings:
                self._archive = archive_of((*JAVA_OPTIONS, *first.values()), jars)
                settings[OPTIONS] = " ".join((*JAVA_OPTIONS, *self._archive.options()))
            conf = SparkConf().setAll(list(settings.items()))
            output = {"stdout": self.log.file, "stderr": self.log.file}
            self._launching = background(partial(launch_gateway, conf, output), "java")
        for name in modules:
            with suppress(ImportError):
                import_module(name)
        return self._launching

    def without_session(self) -> None:
        """Restore the interval at which Python switches threads."""
        sys.setswitchinterval(self._interval)

    def defer_freeing(self) -> None:
        """Free no Java objects until `free` is called or another session starts."""
        self.free()
        if self._launching is not None:
            self._free = defer_freeing(self._launching.result())

    def free(self) -> None:
        """Free the Java objects that Python no longer uses."""
        if self._free is not None:
            self._free()
            self._free = None

    def session(self, master: str, more: Mapping[str, str]) -> Any:
        """Return a Spark session; settings in `more` override the suite's. Errors: PySpark's."""
        self.free()
        with _interrupts_kept():
            return self._session(self.launch(master, more).result(), _settings(master, more))

    def _session(self, gateway: Any, settings: Mapping[str, str]) -> Any:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._gateway is None:
            SparkContext(conf=SparkConf().setAll(list(settings.items())), gateway=gateway)
            save_messages(gateway.jvm)
            if self._archive is not None:
                self._archive.make_at_exit(gateway.jvm)
        session = SparkSession.builder.config(map=dict(settings)).getOrCreate()
        session.sparkContext.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return session


def _first_class_path(jars: Path) -> Mapping[str, str]:
    """Return the setting by which Java searches some jars first, unless users may have set it."""
    configured = "SPARK_CONF_DIR" in os.environ or jars.with_name("conf").exists()
    return {} if configured else {CLASS_PATH: first_jars(jars)}


def _failed(launching: Future[Any]) -> bool:
    return launching.done() and launching.exception() is not None


def _settings(master: str, more: Mapping[str, str]) -> dict[str, str]:
    """Return a session's settings; those in `more` override the suite's."""
    cores = re.search(r"\[(\d+)", master)
    tasks = int(cores[1]) if cores else (os.cpu_count() or 1)
    return {
        **OF_THE_PROCESS,
        **(LOCAL if master.startswith("local") else {}),
        **OF_THE_SESSION,
        **UNTRACED,
        **UNCHECKED_PLANS,
        "spark.master": master,
        "spark.sql.shuffle.partitions": str(tasks),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir(), "spark-warehouse")),
        **more,
    }


JAVA = JavaProcess()
"""The Java process that all sessions of this Python process share."""


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep this process's interrupt handler, and suppress Py4J's logs of interrupts.

    PySpark's own handler calls Java in the middle of another call, after which Py4J prints
    tracebacks.
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
    """True for log records not from Py4J, whose errors are raised anyway."""
    return "py4j" not in Path(record.pathname).parts
