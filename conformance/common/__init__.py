"""Code that all subjects share: questions and answers, operations, checks, expectations."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WORKSPACE = Path(".conformance")
"""Folder in the current directory where runs keep their data."""

GC_THRESHOLDS = (8_000_000, 50, 1000)
"""Thresholds of Python's garbage collector during a session. Cases and answers are kept until the
end of a session, so there is little to collect. With Python's default thresholds, collecting takes
a quarter of a session's time. With these thresholds, the collector does not run in a usual session,
which then needs about 150 MB more memory.
"""


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Set the garbage collector's thresholds to `GC_THRESHOLDS` within a `with` block."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
