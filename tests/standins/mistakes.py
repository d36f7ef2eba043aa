"""Models with one wrong number, loaded in addition to the right model, which judges them."""

import importlib
import sys
from dataclasses import replace
from fractions import Fraction

PACKAGE = "pulsar_conformance.reference"


def _of_the_model(name):
    return name == PACKAGE or name.startswith(f"{PACKAGE}.")


def another_model():
    """Return a second copy of the model's modules, which can be changed without side effects."""
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
    """Return a change that replaces a constant by another number."""

    def change(modules):
        assert getattr(modules[module], name) != value
        setattr(modules[module], name, Fraction(value))

    return change


def function_off(module, name, off):
    """Return a change that adds `off` to the result of a function."""

    def change(modules):
        right = getattr(modules[module], name)
        setattr(modules[module], name, lambda *given: right(*given) + Fraction(off))

    return change


def level_off(name, off):
    """Return a change that adds `off` points to a level of ThresholdShedder."""

    def change(modules):
        levels = modules["threshold"].Levels
        right = levels.__dict__[name]
        read = right.fget if isinstance(right, property) else right.func
        setattr(levels, name, property(lambda self: read(self) + Fraction(off)))

    return change


def window_off(off):
    """Return a change that adds `off` samples to the window of averages."""

    def change(modules):
        answers = modules["answers.load_data"]
        right = answers.average

        def average(samples, window, *more):
            return right(samples, max(1, window + off), *more)

        answers.average = average

    return change


def placement_threshold_off(off):
    """Return a change that adds `off` points to the threshold of placement."""

    def change(modules):
        answers = modules["answers.placement"]
        right = answers.placement

        def placement(*given):
            placed = right(*given)
            return replace(placed, threshold=placed.threshold + Fraction(off))

        answers.placement = placement

    return change


def mistaken(change, profile, readings):
    """Return the changed model, which follows these readings."""
    modules = another_model()
    change(modules)
    return modules[PACKAGE].Model(profile, readings)
