"""A Java virtual machine with one release's classes; a process can start only one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import jpype

# GMP takes over the signal of a division by zero. The JVM needs that signal, so it starts later.
import pulsar_conformance.reference.numbers  # noqa: F401  see above
from pulsar_conformance.adapters.errors import CannotLoad

Java: TypeAlias = Any
"""A Java object or class, as JPype represents it."""

OPTIONS = (
    "-Xmx1g",
    "-Xss1m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:MaxJavaStackTraceDepth=12",
    "-XX:+ErrorFileToStderr",
    "-Djava.awt.headless=true",
    "-Dlog4j2.StatusLogger.level=OFF",
    # Byte Buddy, which builds the stubs, needs this for Java versions that it does not know.
    "-Dnet.bytebuddy.experimental=true",
    # Netty and Jackson of the releases access internals of the JDK.
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.management/sun.management=ALL-UNNAMED",
)
"""Options of a short-lived JVM that writes no files, not even crash reports."""


def start_jvm(class_path: Sequence[Path], options: Sequence[str] = OPTIONS) -> None:
    """Start the JVM with these jars and folders, in this order; suppress its output."""
    jpype.startJVM(
        *options,
        classpath=[os.fspath(one) for one in class_path],
        convertStrings=False,
        interrupt=False,
    )
    _silence()


def jars_in(folder: Path) -> list[Path]:
    """Return the jars in a folder, in an order that does not depend on the file system."""
    return sorted(folder.glob("*.jar"))


@cache
def java_class(name: str) -> Java:
    """Return a class by its full name. Errors: `CannotLoad`."""
    try:
        return jpype.JClass(name)
    except TypeError:
        raise CannotLoad(f"there is no class {name}; {JARS_ADVICE}") from None


def missing_classes(error: jpype.JException, text: str = "") -> CannotLoad | None:
    """Return the error to raise if an exception means that a class could not be loaded, else None.

    Such an exception is not an answer of the release. The error quotes `text` or, if that is empty,
    the exception's own text.
    """
    if not isinstance(error, java_class("java.lang.LinkageError")):
        return None
    return CannotLoad(linkage_error_text(text or str(error.toString())))


def linkage_error_text(text: str) -> str:
    """Return a message for the user about a `LinkageError` with this text."""
    compiled = NEWER_CLASS_ERROR.search(text)
    if compiled:
        least = int(compiled[1]) - CLASS_FILE_OFFSET
        return f"a class needs Java {least} or newer; set JAVA_HOME accordingly"
    if MISMATCH_ERROR.match(text):
        return (
            f"a class uses something that this release lacks, {text}; compile a plug-in against "
            "the release that runs it, and check that all jars are of one version"
        )
    plug_in = (
        "that classpath= names all jars of a plug-in, and that it was compiled for this release"
    )
    return f"a class cannot be loaded, {text}; {JARS_ADVICE}, {plug_in}"


MISMATCH_ERROR = re.compile(
    r"java\.lang\.(NoSuchMethod|NoSuchField|AbstractMethod|IllegalAccess|"
    r"IncompatibleClassChange)Error\b"
)
"""Pattern of the error for a class that was compiled against another version of a loaded class."""

NEWER_CLASS_ERROR = re.compile(r"UnsupportedClassVersionError.*?\(class file version (\d+)")
"""Pattern of the error for a class compiled for a newer Java.

Its group is the version of the class file.
"""

CLASS_FILE_OFFSET = 44
"""Version of a class file, less the version of Java that the file needs."""

JARS_ADVICE = "check that all jars are present and complete"
"""Advice to the user if a class is missing."""


@cache
def class_exists(name: str) -> bool:
    """True if the release has a class."""
    loader = jpype.java.lang.ClassLoader.getSystemClassLoader()
    try:
        jpype.java.lang.Class.forName(name, False, loader)
    except jpype.JException:
        return False
    return True


def load_problem(name: str, version: str) -> str:
    """Return why an existing class cannot be loaded; empty if it loads or does not exist."""
    loader = jpype.java.lang.ClassLoader.getSystemClassLoader()
    try:
        jpype.java.lang.Class.forName(name, False, loader)
    except java_class("java.lang.LinkageError") as error:
        return load_problem_text(name, str(error.toString()), version)
    except jpype.JException:
        return ""
    return ""


def load_problem_text(name: str, text: str, version: str) -> str:
    """Return a message about a class whose loading failed; `text` is from the `LinkageError`."""
    if other := WRONG_NAME.search(text):
        named = other[1].replace("/", ".")
        return (
            f"the file of {name} contains {named}; give this name and, in classpath=, the folder "
            "that contains its topmost package"
        )
    missing = MISSING_CLASS_ERROR.fullmatch(text)
    if missing is None:
        return f"{name} was found, but {linkage_error_text(text)}"
    return (
        f"{name} was found, but it needs {missing[2].replace('/', '.')}, which is neither in "
        f"classpath= nor in Pulsar {version} ({missing[1]}); name all jars and folders that the "
        f"class needs, as in classpath=mine.jar{os.pathsep}other.jar"
    )


WRONG_NAME = re.compile(r"\(wrong name: ([^\s()]+)\)")
"""Pattern of the error for a file with a class of another name; its group is that name."""

MISSING_CLASS_ERROR = re.compile(r"(?:[\w.]+\.)?(NoClassDefFoundError): ([^\s()]+)")
"""Pattern of the error for a class whose superclass or interface is missing.

Its groups are the error and the missing class.
"""


def field(target: Java, name: str) -> Java:
    """Return a field of a class or of its superclasses, even a private one; None without such a
    field.
    """
    return _field(_class(target), name)


def _class(target: Java) -> Java:
    return target if isinstance(target, jpype.JClass) else type(target)


@cache
def _field(kind: type[Any], name: str) -> Java:
    java = kind.class_
    while java is not None:
        for one in java.getDeclaredFields():
            if str(one.getName()) == name:
                one.setAccessible(True)
                return one
        java = java.getSuperclass()
    return None


def methods(target: Java, name: str) -> Sequence[Java]:
    """Return the methods with this name of a class or its superclasses, even private ones.

    Methods with fewer parameters come first; the JVM itself returns them in no particular order.
    """
    return _methods(_class(target), name)


@cache
def _methods(kind: type[Any], name: str) -> tuple[Java, ...]:
    java, found = kind.class_, []
    while java is not None:
        own = [one for one in java.getDeclaredMethods() if str(one.getName()) == name]
        found += sorted(own, key=lambda one: (int(one.getParameterCount()), str(one)))
        java = java.getSuperclass()
    for one in found:
        one.setAccessible(True)
    return tuple(found)


def call(target: Java, name: str, *arguments: Java) -> Java:
    """Call a method that is not public. Errors: the exceptions of the method."""
    [method, *_] = [m for m in methods(target, name) if m.getParameterCount() == len(arguments)]
    try:
        return method.invoke(target, jpype.JArray(jpype.java.lang.Object)(list(arguments)))
    except java_class("java.lang.reflect.InvocationTargetException") as error:
        raise error.getCause() from None


@cache
def json_mapper() -> Java:
    """Return the Jackson mapper that the release uses for its metadata store."""
    factory = java_class("org.apache.pulsar.common.util.ObjectMapperFactory")
    if not methods(factory, "getMapper"):
        return factory.create()
    return factory.getMapper().getObjectMapper()


def capitalized(name: str) -> str:
    """Return a property's name with a capital letter, as in the name of its getter."""
    return name[:1].upper() + name[1:]


def java_list(values: Iterable[Any]) -> Java:
    """Return a `java.util.ArrayList` of these objects."""
    found = java_class("java.util.ArrayList")()
    for value in values:
        found.add(value)
    return found


def _silence() -> None:
    """Turn off logging, and redirect the classes' standard output to standard error."""
    jpype.java.lang.System.setProperty("log4j2.level", "OFF")
    jpype.java.lang.System.setOut(jpype.java.lang.System.err)
    if class_exists("org.apache.logging.log4j.core.config.Configurator"):
        off = java_class("org.apache.logging.log4j.Level").OFF
        java_class("org.apache.logging.log4j.core.config.Configurator").setRootLevel(off)
