"""Proofs about the model's functions: each runs on symbols, once for every execution path."""

from __future__ import annotations

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver has no wheel for this platform")


class Refuted(AssertionError):
    """Raised for a claim that does not hold. The message has values that show it."""

    def __init__(self, values):
        super().__init__(f"refuted by {values}")
        self.values = values


class Unreachable(Exception):
    """Raised if the conditions of an execution path contradict each other."""


class Paths:
    """The execution paths of a function: the conditions assumed on the current path, and the paths
    that remain.
    """

    def __init__(self, assumptions):
        self.assumptions = list(assumptions)
        self.taken, self.conditions = [], []

    def decide(self, condition):
        """Return True for a condition first, and False for it on a later path."""
        place = len(self.conditions)
        if place == len(self.taken):
            self.taken.append(True)
        value = self.taken[place]
        self.conditions.append(condition if value else z3.Not(condition))
        if self.solver().check() == z3.unsat:
            raise Unreachable
        return value

    def solver(self):
        """Return a solver with the assumptions and the conditions of this path."""
        solver = z3.Solver()
        solver.set("timeout", 10_000)
        solver.add(*self.assumptions, *self.conditions)
        return solver

    def go_on(self):
        """Go to the next path; return False if there is none."""
        while self.taken and not self.taken[-1]:
            self.taken.pop()
        if self.taken:
            self.taken[-1] = False
        return bool(self.taken)


CURRENT: list[Paths] = []
"""The paths of the running proof."""


class Condition:
    """A comparison of symbols; its evaluation to true or false chooses a path."""

    def __init__(self, expression):
        self.expression = plain(expression)

    def __bool__(self):
        return CURRENT[-1].decide(self.expression)

    def __radd__(self, other):
        return other + int(bool(self))

    __add__ = __radd__


def plain(value):
    """Return the solver's expression for a symbol or a number."""
    if isinstance(value, Symbol | Condition):
        return value.expression
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return value if isinstance(value, int | z3.ExprRef) else z3.RealVal(str(value))


class Symbol:
    """An unknown number; arithmetic with it builds an expression."""

    __hash__ = None

    def __init__(self, expression):
        self.expression = expression

    def __add__(self, other):
        return (
            other + self if isinstance(other, Condition) else Symbol(self.expression + plain(other))
        )

    __radd__ = __add__

    def __sub__(self, other):
        return Symbol(self.expression - plain(other))

    def __rsub__(self, other):
        return Symbol(plain(other) - self.expression)

    def __mul__(self, other):
        return Symbol(self.expression * plain(other))

    __rmul__ = __mul__

    def __truediv__(self, other):
        return Symbol(self.expression / plain(other))

    def __rtruediv__(self, other):
        return Symbol(plain(other) / self.expression)

    def __floordiv__(self, other):
        return Symbol(self.expression / plain(other))

    def __lt__(self, other):
        return Condition(self.expression < plain(other))

    def __le__(self, other):
        return Condition(self.expression <= plain(other))

    def __gt__(self, other):
        return Condition(self.expression > plain(other))

    def __ge__(self, other):
        return Condition(self.expression >= plain(other))

    def __eq__(self, other):
        return Condition(self.expression == plain(other))

    def __ne__(self, other):
        return Condition(self.expression != plain(other))


def reals(names):
    """Return symbols for real numbers."""
    return [Symbol(z3.Real(name)) for name in names.split()]


def integers(names):
    """Return symbols for whole numbers."""
    return [Symbol(z3.Int(name)) for name in names.split()]


def prove(claim, *assumptions):
    """Prove under assumptions that `claim()` returns true on every execution path.

    Errors: `Refuted` with the values of all symbols.
    """
    paths = Paths(plain(one) for one in assumptions)
    CURRENT.append(paths)
    try:
        _prove_way(paths, claim)
        while paths.go_on():
            _prove_way(paths, claim)
    finally:
        CURRENT.pop()


def _prove_way(paths, claim):
    paths.conditions = []
    try:
        claims = [plain(one) for one in claim()]
    except Unreachable:
        return
    solver = paths.solver()
    solver.add(z3.Not(z3.And(*claims)))
    found = solver.check()
    if found == z3.sat:
        model = solver.model()
        raise Refuted({str(one): str(model[one]) for one in model.decls()})
    assert found == z3.unsat, "the solver cannot tell"
