"""Connections to implementations; exports the errors and types of all transports.

`names.connect` loads the transport that an adapter's name selects.
"""

from pulsar_conformance.adapters.connection import Connect, Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError, CannotLoad
from pulsar_conformance.adapters.protocol import PROTOCOL, Hello

__all__ = [
    "PROTOCOL",
    "AdapterError",
    "CannotLoad",
    "Connect",
    "Connection",
    "Hello",
    "Limits",
]
