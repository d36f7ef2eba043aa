"""The mutants of a module, each of which changes one expression that affects answers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pulsar_conformance import reference

from mutants.operators import changes

MODEL = Path(reference.__file__).parent

TEXTS = frozenset({
    "derivation.py", "isolation_steps.py", "shedding_steps.py", "split_steps.py",
    "transfer_steps.py", "uniform_steps.py",
})  # fmt: skip
"""Modules that only explain answers. No rule judges explanations."""

UNASKED = frozenset({"in_turn.py", "story/transfers.py"})
"""Modules about cycles of a simulation, and about stories under TransferShedder, on which no rule
of a document is judged.
"""

TELLING = frozenset({
    "WRITTEN", "BELOW_WRITTEN", "SHARE_WRITTEN", "BOUND_WRITTEN", "MULTIPLE_WRITTEN",
    "DIFFERENCE_WRITTEN", "WHAT_DIFFERS", "PREFACES", "MAX_SUMMANDS", "MAX_VALUE_LENGTH",
    "MAX_REPEATED_TERMS", "MIN_WITH_EXPONENT", "PLACES", "explain", "RATE_PLACES",
    "written", "preface", "plain", "tell", "_event_fields_text", "_quoted_value", "_quoted_text",
    "_threshold_text", "_why_too_little", "_may_shed", "too_soon_text", "measured_by", "_sum_text",
    "_rates_text", "_class_name_text", "_decision", "_decision_text", "_mean_text",
    "_fading_step_text", "_FULL", "_candidate_text", "_score_text",
    "__all__", "CACHED_NUMBERS", "EXACT_PLACES", "KEPT_CONTEXTS", "_hash_note", "HASH_RULE",
    "AMOUNT_WRITTEN", "_preface_function", "busiest_text", "_busiest_text", "places_apart",
    "_value_text",
})  # fmt: skip
"""Names, in any module, of functions, tables and variables that only make explanations or size
caches.
"""

TELLING_IN = frozenset({
    "numbers.py:throughput", "numbers.py:messages", "ranges.py:COUNTED",
    "threshold.py:smoothed_text", "threshold.py:Levels.places", "context.py:Settings.counts",
    "candidates.py:Growth.assumed",
})  # fmt: skip
"""Names that only make explanations in the named module, but affect answers in other modules."""

BESIDE = frozenset({
    "model.py:Model.with_defaults", "model.py:Model.with_changes", "context.py:Readings.with_value",
    "ranges.py:HashRange.__contains__", "answers/shedding.py:strategy_in",
    "channel.py:with_numbered_changes", "model.py:Model.at_addresses", "model.py:Model.in_turn",
    "model.py:Model.with_ways", "choosing.py:index_for_question",
})  # fmt: skip
"""Functions that only the suite calls, and that no answer depends on."""

SAID = frozenset({"Step", "tell", "Ignored", "Refused", "Unreadable", "ValueError"})
"""Functions and classes that are called with texts for people, which no rule compares."""

GUARDS = frozenset({"strict", "maxsize", "above"})
"""Keyword arguments that change no answer."""

PLACES = ("f'{place}", "f'{where}")
"""Beginnings of texts that say where in a load report a value is wrong."""

ILLEGAL = "MissingSetting"
"""The error of illegal cases. A branch that only raises it is not mutated, since no question
reaches it.
"""


@dataclass(frozen=True)
class Mutant:
    """The model with one change. Its `id` stays the same as long as the changed function does."""

    file: str
    """Path below `reference/`, such as `story/world.py`."""
    function: str
    """The function or table that contains the change."""
    operator: str
    ordinal: int
    """Position, from 1, of the change among the function's changes by the same operator."""
    line: str
    """The line of the source without surrounding blanks."""
    was: str
    becomes: str
    entered: int | None = field(compare=False)
    """First line of the innermost function; None for cached functions and code run at import."""

    @property
    def id(self) -> str:
        """File, function, operator and ordinal, separated by colons."""
        return f"{self.file}:{self.function}:{self.operator}:{self.ordinal}"


@dataclass(frozen=True)
class Made:
    """A mutant, and the transformation that changes a syntax tree into it."""

    mutant: Mutant
    node: ast.AST
    instead: ast.AST


def modules() -> list[str]:
    """Return the model's modules in order, without those that no rule of a document judges."""
    files = sorted(file.relative_to(MODEL).as_posix() for file in MODEL.rglob("*.py"))
    documented = (file for file in files if not file.startswith("released/"))
    left_out = TEXTS | UNASKED
    return [one for one in documented if one not in left_out and not one.endswith("__init__.py")]


def mutants(file: str) -> list[Mutant]:
    """Return every mutant of a module of the model. Errors: `OSError`."""
    source = (MODEL / file).read_text("utf-8")
    return [one.mutant for one in made(file, source, ast.parse(source))]


def changed(mutant: Mutant, folder: Path = MODEL) -> str:
    """Return the changed source of a mutant's module. Errors: `LookupError` if it is unknown."""
    source = (folder / mutant.file).read_text("utf-8")
    tree = ast.parse(source)
    for one in made(mutant.file, source, tree):
        if one.mutant == mutant:
            whole = _Replacement(one.node, one.instead).visit(tree)
            return ast.unparse(ast.fix_missing_locations(whole))
    raise LookupError(mutant.id)


def code(text: str) -> str:
    """Return source code as a cell of a Markdown table."""
    return f"`{' '.join(text.split())}`".replace("|", "\\|")


class _Replacement(ast.NodeTransformer):
    def __init__(self, node: ast.AST, instead: ast.AST) -> None:
        self._node, self._instead = node, instead

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the node, or its replacement."""
        return self._instead if node is self._node else self.generic_visit(node)


def made(file: str, source: str, tree: ast.Module) -> Iterator[Made]:
    """Yield every change of a module, from its first line to its last."""
    lines = source.splitlines()
    counts: Counter[tuple[str, str]] = Counter()
    for node, function, entered in _decisive(tree, file, "", None):
        for operator, instead in changes(node):
            counts[function, operator] += 1
            # A `for` of a comprehension alone has no line of its own, and a target that has one.
            place = getattr(node, "lineno", None) or node.target.lineno  # type: ignore[attr-defined]
            yield Made(
                Mutant(
                    file, function, operator, counts[function, operator],
                    lines[place - 1].strip(), _short(node), _short(instead), entered,
                ),
                node,
                instead,
            )  # fmt: skip


def _short(node: ast.AST) -> str:
    """Return a node's source; for `if` and `while`, only the keyword and the condition."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {ast.unparse(node.test)}"
    return ast.unparse(node).strip()


Found = tuple[ast.AST, str, int | None]
"""A node, the function that contains it, and that function's first line (None at module level)."""


def _decisive(node: ast.AST, file: str, function: str, entered: int | None) -> Iterator[Found]:
    """Yield a node and the nodes below it that affect an answer: no texts, annotations or guards.

    A string with a blank is a text: no field, setting, class or value of the protocol has a blank.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    elif not function and isinstance(node, ast.Assign | ast.AnnAssign):
        function = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    if _only_tells(node, file, function):
        return
    below: Iterable[ast.AST | None] = ast.iter_child_nodes(node)
    if isinstance(node, ast.FunctionDef):
        entered = (
            None
            if _cached(node)
            else min([node.lineno, *(one.lineno for one in node.decorator_list)])
        )
        below = (*node.args.defaults, *node.args.kw_defaults, *node.body)
    elif isinstance(node, ast.ClassDef):
        below = node.body
    elif isinstance(node, ast.AnnAssign):
        below = (node.value,)
    elif isinstance(node, ast.Lambda):
        entered, below = node.lineno, (node.body,)
    yield node, function, entered
    for one in below:
        if one is not None:
            yield from _decisive(one, file, function, entered)


def _only_tells(node: ast.AST, file: str, name: str) -> bool:
    """True if a node affects no answer, such as a text for people or a guard."""
    own = name.rpartition(".")[2]
    if isinstance(node, ast.FunctionDef):
        returned = ast.unparse(node.returns) if node.returns is not None else ""
        elsewhere = f"{file}:{name}" in TELLING_IN | BESIDE
        return "Step" in returned or own in TELLING or elsewhere
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        alias = target == name and name[0].isupper() and not name.isupper()
        return alias or target in TELLING or f"{file}:{target}" in TELLING_IN
    if isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        return called in SAID
    if isinstance(node, ast.keyword):
        return node.arg in GUARDS
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and " " in node.value
    if isinstance(node, ast.JoinedStr):
        return ast.unparse(node).startswith(PLACES)
    if isinstance(node, ast.If):
        guard = all(isinstance(one, ast.Raise) and ILLEGAL in ast.unparse(one) for one in node.body)
        return guard or ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assert) or _docstring(node)


def _docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _cached(function: ast.FunctionDef) -> bool:
    """True if a function is entered only once for the same arguments."""
    return any("lru_cache" in ast.unparse(one) for one in function.decorator_list)
