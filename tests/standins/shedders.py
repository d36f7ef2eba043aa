"""The model in this process, with strategies that keep too much, or too little, between cycles."""

from pulsar_conformance.adapters.reference import ReferenceConnection

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")


class Shedder(ReferenceConnection):
    """Answers a row cycle by cycle by `cycle`; all else is the model's."""

    def _answer(self, operation, case):
        if operation != "shed.cycles":
            return super()._answer(operation, case)
        whole = super()._answer(operation, case)
        if "cycles" not in whole:
            return whole
        said = [one["unload"] for one in whole["cycles"]]
        return {"cycles": [{"unload": self.cycle(case, said, n)} for n in range(len(said))]}

    def alone(self, case, place):
        """The model's unloads in a cycle, without any earlier cycle."""
        cycle = {name: value for name, value in case["cycles"][place].items() if name != "minutes"}
        more = {name: case[name] for name in ("strategy", "settings")}
        return super()._answer("shed.select", {**more, **cycle})["unload"]


class StaleMap(Shedder):
    """Never empties what it selected in earlier cycles."""

    def cycle(self, case, said, place):
        return [one for each in said[: place + 1] for one in each]


class StaleOwners(Shedder):
    """Unloads again what it unloaded in the cycle before, where it still knows the owner."""

    def cycle(self, case, said, place):
        return said[place] or (said[place - 1] if place else [])


class WithoutGrace(Shedder):
    """Forgets between cycles what it unloaded."""

    def cycle(self, case, said, place):
        return self.alone(case, place)


class FirstLook(Shedder):
    """Keeps the usages that it saw first."""

    def cycle(self, case, said, place):
        first = case["cycles"][0]["brokers"]
        cycles = [dict(one) for one in case["cycles"]]
        for cycle in cycles:
            cycle["brokers"] = {
                name: {
                    **{key: value for key, value in report.items() if key not in RESOURCES},
                    **{key: first[name][key] for key in RESOURCES if key in first[name]},
                }
                for name, report in cycle["brokers"].items()
            }
        return self.as_the_model({**case, "cycles": cycles})[place]["unload"]

    def as_the_model(self, case):
        return ReferenceConnection._answer(self, "shed.cycles", case)["cycles"]


class Idle(ReferenceConnection):
    """Sheds nothing, in one cycle as in many."""

    def _answer(self, operation, case):
        if operation == "shed.select":
            return {"unload": []}
        if operation == "shed.cycles":
            return {"cycles": [{"unload": []} for _ in case["cycles"]]}
        return super()._answer(operation, case)


REMEMBERING = {
    StaleMap: {"SHED-15", "SHED-16"},
    StaleOwners: {"SHED-15", "SHED-16"},
    WithoutGrace: {"SHED-16"},
    FirstLook: {"OVERLOAD-12"},
}
"""Each of those that keep the wrong things, and the rules that have to tell."""
