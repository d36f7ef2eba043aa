"""The model in this process, whose answers wrongly depend on earlier questions."""

from pulsar_conformance.adapters.reference import ReferenceConnection


class Rememberer(ReferenceConnection):
    """Answers an operation by the method named after it, and other operations like the model."""

    def _answer(self, operation, case):
        answer = getattr(self, operation.replace(".", "_"), None)
        return answer(case) if answer else self.right(operation, case)

    def right(self, operation, case):
        return super()._answer(operation, case)


class StaleUsage(Rememberer):
    """Answers with the earlier usage of a broker that reported the same resources."""

    def __init__(self, *given):
        super().__init__(*given)
        self.kept = {}

    def usage_max(self, case):
        key = tuple(case["broker"])
        return self.kept.setdefault(key, self.right("usage.max", case))


class EachThird(Rememberer):
    """Counts its questions, and answers every third one as if no resource were used."""

    count = 0

    def usage_max(self, case):
        self.count += 1
        return self.right("usage.max", case if self.count % 3 else {**case, "broker": {}})


class GrowsWithEach(Rememberer):
    """Adds a little more usage to each answer, from the second question on."""

    asked = -1

    def usage_max(self, case):
        self.asked += 1
        answer = self.right("usage.max", case)
        return {**answer, "percent": answer["percent"] + self.asked}


class SharesSettings(Rememberer):
    """Uses the settings of a case as the defaults of the next case."""

    def __init__(self, *given):
        super().__init__(*given)
        self.settings = {}

    def shed_select(self, case):
        self.settings |= case["settings"]
        return self.right("shed.select", {**case, "settings": dict(self.settings)})


class KeepsWhatItUnloaded(Rememberer):
    """Never unloads a bundle that it unloaded in an earlier case."""

    known = frozenset()

    def shed_select(self, case):
        unload = self.right("shed.select", case)["unload"]
        kept = [one for one in unload if one["bundle"] not in self.known]
        self.known |= {one["bundle"] for one in unload}
        return {"unload": kept}


class KeepsItsWeights(Rememberer):
    """Weights usage that should be unweighted by the settings of the first weighted question."""

    settings = None

    def usage_max(self, case):
        if case["weighted"]:
            self.settings = self.settings or case["settings"]
        elif self.settings is not None:
            case = {**case, "weighted": True, "settings": self.settings}
        return self.right("usage.max", case)


class DisturbedByAnother(Rememberer):
    """Doubles the speed of network cards once it was asked for the usage of a broker."""

    disturbed = False

    def usage_max(self, case):
        self.disturbed = True
        return self.right("usage.max", case)

    def usage_nic(self, case):
        answer = self.right("usage.nic", case)
        return {"gbps": 2 * answer["gbps"]} if self.disturbed else answer


class LastPlacement(Rememberer):
    """Places a bundle on the broker of the previous bundle, if that broker is a candidate."""

    last = None

    def place_select(self, case):
        answer = self.right("place.select", case)
        if self.last in case["candidates"]:
            answer = {"broker": self.last}
        self.last = answer.get("broker")
        return answer


REMEMBERING = {
    StaleUsage: "USAGE-*",
    EachThird: "USAGE-*",
    GrowsWithEach: "USAGE-*",
    SharesSettings: "OVERLOAD-*",
    KeepsWhatItUnloaded: "OVERLOAD-*",
    KeepsItsWeights: "USAGE-*",
    DisturbedByAnother: "USAGE-*",
    LastPlacement: "PLACE-*",
}
"""The implementations, each with a pattern of rules that it breaks."""
