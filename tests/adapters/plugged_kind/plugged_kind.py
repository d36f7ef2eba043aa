"""A kind of adapter in another package: `constant:ANSWER` gives the same answer to every case."""

import json

from pulsar_conformance.adapters import PROTOCOL, Connection, Hello


class Constant(Connection):
    """Gives the same answer to every case of `usage.max`."""

    def __init__(self, answer, name):
        self.adapter = name
        self.answer = json.loads(answer)
        self.hello = Hello(PROTOCOL, "constant", operations=("usage.max",))

    def exchange(self, operation, batch):
        return [self.answer for _ in batch]

    def bye(self):
        pass

    def close(self):
        pass


def connect_constant(rest, name, profile, readings, limits):
    return Constant(rest, name)
