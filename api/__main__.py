"""`python -m pulsar_conformance`, for a Python whose scripts are not on the PATH."""

from pulsar_conformance.conformance.__main__ import entry

entry()
