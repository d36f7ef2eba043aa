"""What is looked up again and again in Spark's Java process, and takes a tenth of its time.

Java looks for a class in 280 jars, one after the other, and PySpark asks for the same few classes
and their functions for every column that it makes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FIRST = (
    "scala-library",
    "spark-catalyst",
    "spark-sql",
    "spark-core",
    "spark-common-utils",
    "spark-unsafe",
    "spark-variant",
    "spark-network-common",
    "janino",
    "commons-compiler",
    "hadoop-client-api",
    "jackson-core",
    "jackson-databind",
    "json4s-core",
    "py4j",
)
"""How the jars begin in which most classes are."""

ASKED = ("PythonUtils", "PythonSQLUtils", "functions", "org.apache.spark.sql.functions")
"""The classes that PySpark names for every column, as it names them."""


class Members:
    """A Java class whose functions are looked up once."""

    def __init__(self, java_class: Any) -> None:
        self._class = java_class

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._class, name)
        setattr(self, name, found)
        return found


def first_jars() -> str:
    """The class path of the jars to look in first: of this PySpark, and only those that it has."""
    import pyspark

    jars = Path(pyspark.__file__).with_name("jars")
    return os.pathsep.join(str(jar) for name in FIRST for jar in sorted(jars.glob(f"{name}*.jar")))


def remember(jvm: Any) -> None:
    """Look up the classes of `ASKED` once for a view of Java, which a session shares."""
    for name in ASKED:
        setattr(jvm, name, Members(getattr(jvm, name)))
