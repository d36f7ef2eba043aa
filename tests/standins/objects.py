"""Implementations for the adapter `python:objects:NAME`, each with one trait."""

import os
import sys


class Good:
    def __init__(self, profile, readings):
        self.made_for = (profile, readings)

    def hello(self, profile, readings):
        assert self.made_for == (profile, readings)
        return {"name": "good", "operations": ["settings.defaults"], "readings": readings}

    def answer(self, operation, case):
        return {"settings": {"profile": self.made_for[0]}}


def factory(profile, readings):
    return Good(profile, readings)


class Ready(Good):
    def __init__(self):
        pass

    def hello(self, profile, readings):
        self.made_for = (profile, readings)
        return super().hello(profile, readings)


ready = Ready()


class Chatty(Good):
    """Prints from Python and from the C level, and reads the suite's standard input."""

    def answer(self, operation, case):
        print("a word from Python")
        os.write(1, b"a word from below\n")
        assert sys.stdin.read() == ""
        return super().answer(operation, case)


class Raises(Good):
    count = 0

    def answer(self, operation, case):
        self.count += 1
        if self.count == 2:
            raise KeyError("no such broker")
        return super().answer(operation, case)


class AnswersWithASet(Good):
    def answer(self, operation, case):
        return {"settings": {1, 2}}


class AnswersWithNaN(Good):
    def answer(self, operation, case):
        return {"settings": {"share": float("nan")}}


class CannotBeMade:
    def __init__(self):
        pass
