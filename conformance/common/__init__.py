"""Parts that all subjects share: questions and answers, operations, checks, and expectations."""

from pathlib import Path

WORKSPACE = Path(".conformance")
"""The folder in which runs keep their data, below the current one."""

GC_THRESHOLDS = (4_000_000, 50, 1000)
"""Thresholds of Python's garbage collector during a session.

The collector finds little, since cases and answers are kept until the end, and takes a quarter of
the time by default. With these thresholds it does not start in a usual run, at some 150 MB more.
"""
