"""Ports of brokers on loopback are reserved from the moment at which they are chosen."""

import socket

import pytest
from pulsar_conformance.adapters.cluster.loopback import LOOPBACK, Ports


def test_a_chosen_port_is_given_to_nobody_else():
    ports = Ports.reserve()
    for port in (ports.web, ports.binary):
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind((LOOPBACK, port))


def test_a_broker_can_listen_at_a_reserved_port_again_and_again():
    ports = Ports.reserve()
    for _ in range(2):
        with (
            socket.create_server((LOOPBACK, ports.web)) as server,  # This server sets SO_REUSEADDR.
            socket.create_connection((LOOPBACK, ports.web)) as client,
        ):
            assert client.getpeername() == server.getsockname()
