"""The Java process that is started for Spark: its settings, output and sessions."""

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
from pulsar_conformance.adapters.spark.background import run_in_background
from pulsar_conformance.adapters.spark.messages import defer_freeing, save_messages

THREAD_SWITCH_SECONDS = 0.001
"""Seconds after which a Python thread lets another thread run; Python's default is 0.005.

PySpark sends Java thousands of messages while another thread draws cases, and each message waits
that long. Measured: Spark is ready after 7 s instead of 11.
"""

TAIL_LINES = 20
"""Maximum number of lines of the Java process's output in an error message."""

TIME_ZONE = "spark.sql.session.timeZone"
SESSION_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.icu.caseMappings.enabled": "false",
    TIME_ZONE: "UTC",
}
"""Settings of a session in which a query is one job: no adaptive execution, no broadcast joins.

Text is converted to lower case without ICU's tables, which take most of a second to load.
"""

UNTRACED_COLUMNS: Mapping[str, str] = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Setting that stops PySpark from recording which line of Python creates a column.

Recording takes half of the time of creating a column. The setting works only when Spark starts.
"""

UNCHECKED_PLANS: Mapping[str, str] = {
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.maxPlanStringLength": "100",
    "spark.sql.ui.explainMode": "simple",
}
"""Settings that switch off the web page's text of plans, and the checks after each optimizer rule.

Measured on a small audit: this saves 1 of 25 s of CPU time.
"""

CLASS_PATH, OPTIONS = "spark.driver.extraClassPath", "spark.driver.extraJavaOptions"
JAVA_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:-DontCompileHugeMethods",
    "-XX:+UseSerialGC",
    "-XX:NewSize=400m",
    "-XX:ReservedCodeCacheSize=256m",
    "-XX:MetaspaceSize=256m",
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:SymbolTableSize=262144",
)
"""Options of Java: one compiler, and one thread that collects garbage.

One such thread takes a tenth less CPU time. Compiled code gets as much memory as with two
compilers: with one, the default is 48 MB, which is full after some 80 s, and all further code is
interpreted. In a run of a minute, all jobs together take 60 % of the CPU time that they take with
Java's second compiler. Methods above 8000 bytes are compiled, too: some that Spark generates are
that large, and all rows of a table pass through them.

Young objects get 400 MB, since the objects of a plan are large and most live briefly. Measured on a
small audit: garbage collection takes 2 s of CPU time instead of 7.

Classes and their names get all the memory that Spark's classes need from the start: otherwise Java
collects all garbage whenever it needs more. Measured on a small audit: these two options save 1.5
of 30 s of CPU time.
"""

PROCESS_SETTINGS: Mapping[str, str] = {
    "spark.api.mode": "classic",
    "spark.app.name": "pulsar-conformance",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of the Java process: no output, no web page."""


LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""Settings of a session whose tasks run in the Java process, out of reach of other machines."""


class Log:
    """The output of the Java process, to standard output and standard error; stored, not shown."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  as long as Java lives

    def tail(self) -> str:
        """Return the last lines, without Java's messages about the class archive."""
        self.file.seek(0)
        lines = self.file.read().decode(errors="replace").splitlines()
        return "\n".join([line for line in lines if "[cds" not in line][-TAIL_LINES:])


EARLY_IMPORTS = ("pandas", "pyspark.sql")
"""Python modules that are imported while Java starts, before another thread needs them.

Another thread may draw with Hypothesis meanwhile, which fails while NumPy is only partly imported.
Two threads that import PySpark at the same time get incomplete modules.
"""


@dataclass
class JavaProcess:
    """A Java process that starts with its first session and outlives all sessions."""

    log: Log = field(default_factory=Log)
    _launching: Future[Any] | None = None
    _archive: Archive | None = None
    _interval: float = field(default_factory=sys.getswitchinterval)
    """Python's own interval between thread switches, restored when no session is left."""

    _free: Callable[[], None] | None = None
    """Function that frees the Java objects whose freeing is deferred; None if no freeing is
    deferred.
    """

    def launch(
        self, master: str, more: Mapping[str, str], modules: Sequence[str] = ("pyspark.sql",)
    ) -> Future[Any]:
        """Start the process unless it is running, and import Python modules meanwhile.

        Return a future of PySpark's gateway to the process, or of the error that prevented the
        start.
        """
        sys.setswitchinterval(min(THREAD_SWITCH_SECONDS, self._interval))
        if self._launching is None or _has_failed(self._launching):
            # Only PySpark's own launcher can redirect the output of the process.
            import pyspark
            from pyspark import SparkConf
            from pyspark.java_gateway import launch_gateway

            # SPARK_REMOTE must not select another Spark.
            os.environ.pop("SPARK_REMOTE", None)
            jars = Path(pyspark.__file__).with_name("jars")
            first = _first_class_path(jars)
            settings = {**first, **_settings(master, more)}
            if OPTIONS not in settings:
                self._archive = archive_of((*JAVA_OPTIONS, *first.values()), jars)
                settings[OPTIONS] = " ".join((*JAVA_OPTIONS, *self._archive.options()))
            conf = SparkConf().setAll(list(settings.items()))
            output = {"stdout": self.log.file, "stderr": self.log.file}
            self._launching = run_in_background(partial(launch_gateway, conf, output), "java")
        for name in modules:
            with suppress(ImportError):
                import_module(name)
        return self._launching

    def restore_thread_switching(self) -> None:
        """Restore Python's own interval between thread switches."""
        sys.setswitchinterval(self._interval)

    def defer_freeing(self) -> None:
        """Defer freeing Java objects until `free_objects` is called or another session starts."""
        self.free_objects()
        if self._launching is not None:
            self._free = defer_freeing(self._launching.result())

    def free_objects(self) -> None:
        """Free the Java objects whose freeing was deferred."""
        if self._free is not None:
            self._free()
            self._free = None

    def session(self, master: str, more: Mapping[str, str]) -> Any:
        """Return a Spark session; settings in `more` override the suite's. Errors: PySpark's."""
        self.free_objects()
        with _interrupts_kept():
            return self._session(self.launch(master, more).result(), _settings(master, more))

    def _session(self, gateway: Any, settings: Mapping[str, str]) -> Any:
        from pyspark import SparkConf, SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._gateway is None:
            SparkContext(conf=SparkConf().setAll(list(settings.items())), gateway=gateway)
            save_messages(gateway.jvm)
            if self._archive is not None:
                self._archive.build_at_exit(gateway.jvm)
        session = SparkSession.builder.config(map=dict(settings)).getOrCreate()
        session.sparkContext.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return session


def _first_class_path(jars: Path) -> Mapping[str, str]:
    """Return the setting for the jars that Java searches first; empty if a user may set it."""
    configured = "SPARK_CONF_DIR" in os.environ or jars.with_name("conf").exists()
    return {} if configured else {CLASS_PATH: first_jars(jars)}


def _has_failed(launching: Future[Any]) -> bool:
    return launching.done() and launching.exception() is not None


def _settings(master: str, more: Mapping[str, str]) -> dict[str, str]:
    """Return a session's settings; settings in `more` override the suite's own."""
    cores = re.search(r"\[(\d+)", master)
    tasks = int(cores[1]) if cores else (os.cpu_count() or 1)
    return {
        **PROCESS_SETTINGS,
        **(LOCAL_SETTINGS if master.startswith("local") else {}),
        **SESSION_SETTINGS,
        **UNTRACED_COLUMNS,
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
    """Keep this process's interrupt handler in the block, and suppress Py4J's logs about
    interrupts.

    PySpark's own handler calls Java in the middle of another call; Py4J then prints tracebacks.
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
    """True if a log record is not from Py4J, which both logs and raises its errors."""
    return "py4j" not in Path(record.pathname).parts
