"""How implementations are reached: the protocol, and one transport per kind of adapter."""

from pulsar_conformance.adapters.connection import Connection, Limits
from pulsar_conformance.adapters.errors import AdapterError
from pulsar_conformance.adapters.names import check_name, connect
from pulsar_conformance.adapters.protocol import Hello

__all__ = ["AdapterError", "Connection", "Hello", "Limits", "check_name", "connect"]
