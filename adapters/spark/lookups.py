"""Lookups in Spark's Java process that are made once, where PySpark makes them for every column.

They are of the same few classes and functions, and of the same columns and constants; and what a
function takes is handed over piece by piece. Measured on the findings of an audit, two of five
messages to Java are of these kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ASKED = ("PythonUtils", "PythonSQLUtils", "functions", "org.apache.spark.sql.functions")
"""The classes that PySpark names for every column, as it names them."""


CONSTANT = ("col", "lit")
"""Functions that come to the same column for the same plain argument, always."""

PLAIN = (str, bool, int, float, type(None))

SHORT = 10
"""What Java makes a list of by one call."""


class Members:
    """A Java class whose functions are looked up once."""

    def __init__(self, java_class: Any) -> None:
        self._class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._class, name)
        found = once_each(found) if name in CONSTANT else found
        setattr(self, name, found)
        return found


def once_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is asked once about each plain argument: a column does not change."""
    known: dict[tuple[type, str], Any] = {}

    def asked(*words: Any) -> Any:
        if len(words) != 1 or type(words[0]) not in PLAIN:
            return function(*words)
        key = type(words[0]), repr(words[0])
        if key not in known:
            known[key] = function(*words)
        return known[key]

    return asked


def at_once(to_seq: Callable[[Any], Any], list_of: Callable[..., Any]) -> Callable[[Any], Any]:
    """What hands columns over to Java, in one message where they are few."""

    def handed(columns: Any) -> Any:
        columns = list(columns)
        return to_seq(list_of(*columns) if len(columns) <= SHORT else columns)

    return handed


def remember(jvm: Any) -> None:
    """Look up the classes of `ASKED` once for a view of Java, which a session shares."""
    for name in ASKED:
        setattr(jvm, name, Members(getattr(jvm, name)))
    jvm.PythonUtils.toSeq = at_once(jvm.PythonUtils.toSeq, jvm.java.util.List.of)
