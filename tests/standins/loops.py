"""Implementations whose single answers are correct, but whose behavior over cycles is wrong."""

from pulsar_conformance.adapters.reference import ReferenceConnection


class Circling(ReferenceConnection):
    """Moves one bundle to the next broker in every cycle."""

    def exchange(self, operation, batch):
        case = batch[0]
        names = sorted(case["brokers"])
        if operation == "place.select":
            owner = next(
                name for name in names if case["bundle"] in case["brokers"][name]["bundles"]
            )
            return [{"broker": names[(names.index(owner) + 1) % len(names)]}]
        bundle = min(one for said in case["brokers"].values() for one in said["bundles"])
        owner = next(name for name in names if bundle in case["brokers"][name]["bundles"])
        return [{"unload": [{"broker": owner, "bundle": bundle}]}]


class Forgetting(ReferenceConnection):
    """Forgets the recent unloads after ten questions."""

    asked = 0

    def exchange(self, operation, batch):
        self.asked += operation == "shed.select"
        if operation == "shed.select" and self.asked > 10:
            batch = [{**case, "recentlyUnloaded": {}} for case in batch]
        return super().exchange(operation, batch)


class Losing(ReferenceConnection):
    """Finds no broker for the bundles that it sheds."""

    def exchange(self, operation, batch):
        if operation == "place.select":
            return [{"broker": None} for _ in batch]
        return super().exchange(operation, batch)


class Confused(ReferenceConnection):
    """Unloads bundles from brokers that do not own them."""

    def exchange(self, operation, batch):
        answers = super().exchange(operation, batch)
        if operation == "shed.select":
            return [
                {"unload": [{**one, "broker": "broker-2"} for one in answer["unload"]]}
                for answer in answers
            ]
        return answers


class Busiest(ReferenceConnection):
    """Places a bundle on the broker with the most traffic, other than the former owner."""

    def exchange(self, operation, batch):
        if operation != "place.select":
            return super().exchange(operation, batch)
        return [{"broker": max(case["candidates"], key=_traffic(case))} for case in batch]


def _traffic(case):
    def traffic(name):
        report = case["brokers"][name]
        return case["bundle"] not in report["bundles"], report["msgThroughputIn"]

    return traffic


class Resting(ReferenceConnection):
    """Never sheds."""

    def exchange(self, operation, batch):
        if operation == "shed.select":
            return [{"unload": []} for _ in batch]
        return super().exchange(operation, batch)
