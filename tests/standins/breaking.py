"""The model in this process, which breaks on some cases and records its messages."""

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.reference import ReferenceConnection

SAID = {
    "crashes": "exited with status 7",
    "hangs": "wrote nothing for 0.5 s, the time limit",
    "refuses": "it answered with an error, internal: oh",
    "answers nonsense": "answers[",
}
"""Ways to break on a message with a bad case, with the error reported for each."""


class Breaking(ReferenceConnection):
    """Connection that breaks in one way on each message that contains a bad case."""

    how = ""
    asked: list

    @staticmethod
    def bad(operation, case):
        """True if the connection breaks on a case."""
        return False

    def exchange(self, operation, batch):
        self.asked.append(len(batch))
        places = [place for place, case in enumerate(batch) if self.bad(operation, case)]
        if places and self.how != "answers nonsense":
            count = f"{len(batch)} case{'s' if len(batch) > 1 else ''}"
            problem = f"{operation}, {count}: {SAID[self.how]}"
            code = "internal" if self.how == "refuses" else ""
            raise AdapterError("ask", problem, "mend it", "", self.adapter, code)
        answers = super().exchange(operation, batch)
        for place in places:
            answers[place] = {"nonsense": 1}
        return answers


def breaking(how, bad):
    """Return an adapter whose model breaks in the way `how` on bad cases, and its message sizes."""
    asked = []
    told = {"how": how, "bad": staticmethod(bad), "asked": asked}
    kind = type("OnSome", (Breaking,), told)

    def connected(name, profile, readings, *_limits):
        return kind(name, profile, readings)

    return connected, asked
