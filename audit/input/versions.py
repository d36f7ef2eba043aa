"""The Pulsar version in the load reports of a history, and its profile."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from pulsar_conformance.audit.input.files import GZIP, PARQUET
from pulsar_conformance.audit.input.paths import HIDDEN, LOCAL, escape_existing_path
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.judged import nearest_profile
from pyspark.sql import functions as F

VERSION = re.compile(rb'\\?"brokerVersionString\\?"\s*:\s*\\?"v?(\d+\.\d+[^"\\]*)')
EXTENSIBLE = re.compile(rb'loadManagerClassName\\?"\s*:\s*\\?"[\w.]*ExtensibleLoadManagerImpl')
DOCUMENTED = "documented-4.2"
"""The profile for histories of the extensible manager whose records name no version."""

FILES_PER_END, BYTES_PER_FILE = 8, 1 << 18
"""Number of files searched at each end of the sorted list, and number of bytes searched in each."""

LINES = 1_000
"""Number of lines to search if this process cannot open the files."""


def profile_of_history(spark: Any, path: str) -> str | None:
    """Return and print the released profile nearest to the version in most load reports.

    Only the first and last files are searched. If they name no version, return `DOCUMENTED` if
    settings name the extensible manager, and otherwise None.
    """
    files = sorted(_history_files(path.removeprefix(LOCAL)))
    texts = list(
        map(_read_beginning, dict.fromkeys((*files[:FILES_PER_END], *files[-FILES_PER_END:])))
    )
    found = _count_versions(texts)
    if not found and (not files or any(file.suffix == PARQUET for file in files)):
        texts = list(_lines_read_by_spark(spark, path))
        found = _count_versions(texts)
    if not found and any(EXTENSIBLE.search(text) for text in texts):
        told = f"the extensible load manager is judged by {DOCUMENTED}"
        print_note(f"{told}; to judge by another profile, add --judge-by")
        return DOCUMENTED
    if not found:
        return None
    versions = [version for version, _ in found.most_common()]
    profile = nearest_profile(versions[0])
    others = f"; some brokers run {', '.join(versions[1:])}" if versions[1:] else ""
    told = f"Pulsar {versions[0]} is judged by {profile}{others}"
    print_note(f"{told}; to judge by another profile, add --judge-by")
    return profile


def _count_versions(texts: Iterable[bytes]) -> Counter[str]:
    found = (VERSION.findall(text) for text in texts)
    return Counter(version.decode("ascii", "replace") for version in chain.from_iterable(found))


def _history_files(path: str) -> list[Path]:
    anchor = Path(path).anchor
    roots = [Path(path)] if Path(path).exists() else Path(anchor).glob(path.removeprefix(anchor))
    every = chain.from_iterable(root.rglob("*") if root.is_dir() else [root] for root in roots)
    return [one for one in every if one.is_file() and not one.name.startswith(HIDDEN)]


def _read_beginning(file: Path) -> bytes:
    opened = gzip.open if file.suffix == GZIP else open
    try:
        with opened(file, "rb") as lines:
            return bytes(lines.read(BYTES_PER_FILE))
    except (OSError, EOFError, zlib.error):
        return b""


def _lines_read_by_spark(spark: Any, path: str) -> Iterator[bytes]:
    """Yield the first lines of a history, read by Spark as Parquet and then as text."""
    for form in ("parquet", "text"):
        with suppress(Exception):  # The audit itself reports unreadable files.
            files = spark.read.option("recursiveFileLookup", True).format(form)
            rows = files.load(escape_existing_path(path)).select(F.to_json(F.struct("*")))
            yield from (str(row[0]).encode() for row in rows.limit(LINES).collect())
