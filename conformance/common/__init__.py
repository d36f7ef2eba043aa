"""Code that all subjects share: questions and answers, operations, checks, expectations."""

from pathlib import Path

WORKSPACE = Path(".conformance")
"""Folder in the current directory where runs keep their data."""

GC_THRESHOLDS = (8_000_000, 50, 1000)
"""Thresholds of Python's garbage collector during a session.

Cases and answers are kept until the end, so that the collector finds little. With default
thresholds, it takes a quarter of the time. With these, it does not run in a usual session, which
then needs about 150 MB more.
"""
