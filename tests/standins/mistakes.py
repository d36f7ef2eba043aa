"""Models with one wrong number, beside the right one, which judges them."""

import importlib
import sys
from dataclasses import replace
from fractions import Fraction

PACKAGE = "pulsar_conformance.reference"


def _of_the_model(name):
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def another_model():
    """The modules of the model once more: what is changed in these changes nothing else."""
    known = {name: sys.modules.pop(name) for name in list(sys.modules) if _of_the_model(name)}
    try:
        importlib.import_module(PACKAGE)
        found = {name: module for name, module in sys.modules.items() if _of_the_model(name)}
        return {name.removeprefix(f"{PACKAGE}."): module for name, module in found.items()}
    finally:
        for name in [name for name in sys.modules if _of_the_model(name)]:
            del sys.modules[name]
        sys.modules.update(known)


def number(module, name, value):
    """A constant that is another number."""

    def change(modules):
        assert getattr(modules[module], name) != value
        setattr(modules[module], name, Fraction(value))

    return change


def function_off(module, name, off):
    """A function that returns a number so far off."""

    def change(modules):
        right = getattr(modules[module], name)
        setattr(modules[module], name, lambda *given: right(*given) + Fraction(off))

    return change


def level_off(name, off):
    """A level of ThresholdShedder so many points off."""

    def change(modules):
        levels = modules["threshold"].Levels
        right = levels.__dict__[name]
        read = right.fget if isinstance(right, property) else right.func
        setattr(levels, name, property(lambda self: read(self) + Fraction(off)))

    return change


def window_off(off):
    """Samples in excess of a window."""

    def change(modules):
        answers = modules["answers.load_data"]
        right = answers.average

        def average(samples, window, *more):
            return right(samples, max(1, window + off), *more)

        answers.average = average

    return change


def placement_threshold_off(off):
    """A threshold of placement so many points off."""

    def change(modules):
        answers = modules["answers.placement"]
        right = answers.placement

        def placement(*given):
            placed = right(*given)
            return replace(placed, threshold=placed.threshold + Fraction(off))

        answers.placement = placement

    return change


def mistaken(change, profile, readings):
    """The model after a change, following these readings."""
    modules = another_model()
    change(modules)
    return modules[PACKAGE].Model(profile, readings)
