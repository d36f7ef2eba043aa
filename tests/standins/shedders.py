"""The model in this process, whose strategies keep too much or too little state between cycles."""

from pulsar_conformance.adapters.reference import ReferenceConnection

RESOURCES = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")


class Shedder(ReferenceConnection):
    """Answers `shed.cycles` by calling `cycle` for each cycle, and the rest like the model."""

    def _answer(self, operation, case):
        if operation != "shed.cycles":
            return super()._answer(operation, case)
        whole = super()._answer(operation, case)
        if "cycles" not in whole:
            return whole
        said = [one["unload"] for one in whole["cycles"]]
        return {"cycles": [{"unload": self.cycle(case, said, n)} for n in range(len(said))]}

    def alone(self, case, place):
        """Return the unloads that the model chooses in a cycle without any earlier cycle."""
        cycle = {name: value for name, value in case["cycles"][place].items() if name != "minutes"}
        more = {name: case[name] for name in ("strategy", "settings")}
        return super()._answer("shed.select", {**more, **cycle})["unload"]


class StaleMap(Shedder):
    """Answers each cycle with the unloads of all cycles so far: its map is never emptied."""

    def cycle(self, case, said, place):
        return [one for each in said[: place + 1] for one in each]


class StaleOwners(Shedder):
    """Repeats the unloads of the previous cycle if a cycle has no unloads."""

    def cycle(self, case, said, place):
        return said[place] or (said[place - 1] if place else [])


class WithoutGrace(Shedder):
    """Forgets its unloads after each cycle, so that no grace period applies."""

    def cycle(self, case, said, place):
        return self.alone(case, place)


class FirstLook(Shedder):
    """Uses the brokers' usage in the first cycle for all cycles."""

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
    """Never sheds, neither in single cycles nor in consecutive cycles."""

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
"""The implementations with wrong state, each with the rules that have to fail."""
