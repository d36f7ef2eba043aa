"""Load balancers that people proposed in public discussions of Pulsar."""

import re
import zlib
from itertools import pairwise

from pulsar_conformance.reference import Model

OFFERS = {"protocol": 1, "version": "1", "batch": 1000, "manager": "modular"}


class RoundRobin:
    """Puts a topic's partitions into consecutive bundles, starting at the bundle of its name."""

    def __init__(self, profile, readings):
        pass

    def hello(self, profile, readings):
        offers = {"operations": ["bundles.locate"], "strategies": [], "algorithms": []}
        return {**OFFERS, **offers, "name": "round-robin", "readings": {}, "neutral": {}}

    def answer(self, operation, case):
        edges = case["boundaries"]
        names = [f"{low}_{high}" for low, high in pairwise(edges)]

        def place(topic):
            named = re.fullmatch(r"(.*)-partition-(\d+)", topic)
            own = zlib.crc32((named[1] if named else topic).encode())
            first = sum(own >= int(edge, 16) for edge in edges[1:-1])
            return names[(first + int(named[2] if named else 0)) % len(names)]

        return {"bundles": list(map(place, case["topics"]))}


class Continuous:
    """Decides like 4.2, but also accepts thresholds that are not whole numbers."""

    def __init__(self, profile, readings):
        self._model = Model("released-4.2")

    def hello(self, profile, readings):
        offers = {"operations": ["shed.select"], "strategies": ["OverloadShedder"]}
        return {
            **OFFERS,
            **offers,
            "name": "continuous",
            "algorithms": [],
            "readings": {},
            "neutral": {},
        }

    def answer(self, operation, case):
        whole = {
            name: int(value) if isinstance(value, float) else value
            for name, value in case["settings"].items()
        }
        return self._model.answer(operation, {**case, "settings": whole})
