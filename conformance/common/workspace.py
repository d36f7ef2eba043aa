"""The folder in which runs keep what they find, below the one that they are run in."""

from pathlib import Path

WORKSPACE = Path(".conformance")
