"""Paths that an audit reads and writes. They are checked before the audit starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pulsar_conformance.specs.errors import UserError


class AuditError(UserError):
    """An error that the user can correct. The message is one sentence: the problem, its place and
    the remedy.
    """


LOCAL = "file:"
"""Prefix of the addresses of files that both Spark and this process can open."""

GLOB = re.compile(r"([\[\]{}*?\\])")
"""Pattern of characters that have a special meaning in Spark's paths."""

HIDDEN = ("_", ".")
"""Prefixes of the names of files and folders that are ignored."""


def escape_pattern(path: str) -> str:
    """Return a path with its special characters escaped, so that Spark takes it literally."""
    return GLOB.sub(r"\\\1", path)


def unescape_pattern(path: str) -> str:
    """Undo `escape_pattern`: return the path without its escapes."""
    return re.sub(r"\\(.)", r"\1", path)


def can_open_path(spark: Any, path: str) -> bool:
    """True if this process can open the paths that it gives to Spark, because both run on one
    machine.
    """
    return "://" not in path and ".connect." not in type(spark).__module__


def escape_existing_path(path: str) -> str:
    """Escape a path if a file or folder has exactly this name; otherwise it may be a pattern.

    A path with a colon is made absolute. Otherwise Spark would take the text before the colon for a
    URL scheme.
    """
    if not Path(path.removeprefix(LOCAL)).exists():
        return path
    whole = ":" not in path or path.startswith(LOCAL)
    return escape_pattern(path if whole else str(Path(path).absolute()))


PACKAGES = {
    "s3a": "org.apache.hadoop:hadoop-aws",
    "abfs": "org.apache.hadoop:hadoop-azure",
    "abfss": "org.apache.hadoop:hadoop-azure",
    "gs": "com.google.cloud.bigdataoss:gcs-connector",
}
"""Packages that Spark needs to open paths, by the scheme of the path."""

NO_CLASS = re.compile(r"ClassNotFoundException|Class \S+ not found|No FileSystem for scheme")
"""Pattern of errors that Spark raises if it lacks the classes for a file system."""


def storage_problem(path: str, cause: str) -> str | None:
    """Return why Spark cannot open a path with a scheme, and how to correct this.

    `cause` is Spark's error. None if it has nothing to do with the scheme or its host.
    """
    scheme, separator, _ = path.partition("://")
    if not separator or (not NO_CLASS.search(cause) and "UnknownHost" not in cause):
        return None
    if "UnknownHost" in cause:
        return f"the host in {path} is unknown; correct the path or the Hadoop setting fs.defaultFS"
    if scheme in ("s3", "s3n"):
        return "Spark cannot open this scheme; write s3a:// instead"
    if scheme not in PACKAGES:
        return f"Spark cannot open {scheme}://; choose from {', '.join(PACKAGES)}, hdfs, file"
    package = PACKAGES[scheme]
    return (
        f"Spark lacks {package}; set PYSPARK_SUBMIT_ARGS='--packages {package}:VERSION "
        "pyspark-shell' (for org.apache.hadoop, VERSION is the version of Spark's Hadoop)"
    )


def check_paths(source: str, output: str, summary: str | None) -> None:
    """Check that the input, the output and the file for the summary can be used. Errors:
    `AuditError`.
    """
    for option, path in (("input", source), ("output", output)):
        if not path:
            raise AuditError(f"--{option}: the path is empty; give a path")
    _check_output_outside_input(source, output)
    _check_folder("output", Path(output.removeprefix(LOCAL)))
    if summary is not None:
        _check_file(Path(summary))


def _check_output_outside_input(source: str, output: str) -> None:
    whole, part = (Path(one.removeprefix(LOCAL)).resolve() for one in (source, output))
    if whole != part and whole not in part.parents:
        return
    below = part.relative_to(whole).parts if whole != part else ()
    if any(name.startswith(HIDDEN) for name in below):
        return
    problem = f"it is inside --input {source}, where every file is read"
    raise AuditError(f"--output {output}: {problem}; give a folder outside of it")


def _check_folder(option: str, path: Path) -> None:
    for one in (path, *path.parents):
        if one.exists() and not one.is_dir():
            raise AuditError(f"--{option} {path}: {one} is not a folder; give another path")


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise AuditError(f"--json {path}: it is a folder; give a file")
    if not path.parent.is_dir():
        raise AuditError(f"--json {path}: there is no folder {path.parent}; create it first")
