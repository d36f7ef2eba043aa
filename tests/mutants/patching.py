"""Changes the functions of the judge in a running process, as a mutant does."""

from __future__ import annotations

import ast
import gc
import inspect
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType

from mutants.making import MODEL, Mutant, changed

JUDGE = MODEL.parent / "conformance"
PACKAGE = "pulsar_conformance.conformance"
SUBJECTS = (
    "bundles", "load_data", "managers", "settings", "shedding", "placement", "any_answer",
)  # fmt: skip

OF_SUBJECTS = tuple(f"{PACKAGE}.{subject}." for subject in SUBJECTS)
CACHE = type(cache(lambda: None))


def forget() -> None:
    """Empty the caches of the subjects' functions."""
    for one in gc.get_objects():
        if isinstance(one, CACHE) and one.__module__.startswith(OF_SUBJECTS):
            one.cache_clear()


def change_functions(mutant: Mutant) -> bool:
    """Give this process's functions a mutant's code; return False if more than functions change."""
    path = JUDGE / mutant.file
    source = path.read_text("utf-8")
    texts = source, ast.unparse(ast.parse(source)), changed(mutant, JUDGE)
    here, before, after = (compile(text, path, "exec") for text in texts)
    if [*map(_alone, _bodies(before))] != [*map(_alone, _bodies(after))]:
        return False
    rows = zip(*(list(_functions(one)) for one in (here, before, after)), strict=True)
    new = {old: instead for old, was, instead in rows if was != instead}
    found = [
        one
        for one in gc.get_objects()
        if isinstance(one, FunctionType) and one.__code__.co_name in {old.co_name for old in new}
    ]
    found = [one for one in found if one.__code__ in new]
    if {one.__code__ for one in found} != new.keys():
        return False
    if any(one.co_freevars != instead.co_freevars for one, instead in new.items()):
        return False
    for function in found:
        function.__code__ = new[function.__code__]
    forget()
    return True


def _bodies(code: CodeType) -> Iterator[CodeType]:
    """Yield the bodies of a module and of its classes."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType) and not one.co_flags & inspect.CO_OPTIMIZED:
            yield from _bodies(one)


def _functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of the functions of a module and of its classes."""
    for body in _bodies(code):
        for one in body.co_consts:
            if isinstance(one, CodeType) and one.co_flags & inspect.CO_OPTIMIZED:
                yield one


def _alone(body: CodeType) -> tuple[object, ...]:
    """Return the statements of a body other than definitions of functions and classes, as a key."""
    constants = tuple(one for one in body.co_consts if not isinstance(one, CodeType))
    return body.co_code, body.co_names, repr(constants)
