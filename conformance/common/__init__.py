"""Code that all subjects share: questions and answers, operations, checks, expectations."""

from pathlib import Path

WORKSPACE = Path(".conformance")
"""Folder in the current directory where runs keep their data."""

GC_THRESHOLDS = (8_000_000, 50, 1000)
"""Thresholds of Python's garbage collector during a session.

Cases and answers are kept until the end. The collector finds little and, with default thresholds,
takes a quarter of the time. With these, it does not start in a usual run, which then needs about
150 MB more.
"""
