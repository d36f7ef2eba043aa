"""Mutants of the judge: a check, or a quantity that checks use, with one change.

`python -m mutants.judge` tries each mutant in its own process, where the changed suite judges the
model, the seeded defects and the allowances. A mutant is killed if it changes a recorded verdict,
finds a violation by the model or an allowance, reaches none of the cases drawn for a rule, or no
longer finds a defect.

Most mutants change only functions. For these, a process that has drawn the cases is forked, and the
fork's functions get the changed code. A mutant that changes a table or a decorator needs a new
process.
"""

from __future__ import annotations

import argparse
import ast
import gc
import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import groupby
from pathlib import Path
from random import Random
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING

from mutants.children import run_tasks
from mutants.loading import ChangedSources
from mutants.making import MODEL, Mutant, changed, code, made

if TYPE_CHECKING:
    from pulsar_conformance.specs import Rule

JUDGE = MODEL.parent / "conformance"
PACKAGE = "pulsar_conformance.conformance"
SUBJECTS = (
    "bundles", "load_data", "managers", "settings", "shedding", "placement", "any_answer",
)  # fmt: skip
NOT_CHECKS = ("draw_", "aimed", "operations", "renaming", "transformations", "__init__")
"""Prefixes of the names of modules that make cases, and do not judge answers."""

RULE = re.compile(r'"([A-Z]+-[0-9]{2})"')
DRAWN = re.compile("Questions|SearchStrategy|Trial|Json|sampled_from|st[.]|draws")
"""Pattern in the source of statements that draw cases, such as their return annotations."""

PATIENCE = 300
"""Maximum seconds of CPU for one mutant."""

ENOUGH = 0.9
"""Minimum share of the mutants that has to be killed."""

SEED = 0
TO = Path("reports/mutants")

INTRODUCTION = """\
# Mutants of the judge

Each is the suite with one change in a check, or in a quantity that checks use. It is killed if a
rule of its module then changes a recorded verdict, fails the model or an implementation that a
clause allows, reaches no case that is drawn for it, or no longer finds the seeded defect of a
clause. `python -m mutants.judge`
makes this page and [judge.jsonl](judge.jsonl), one mutant a line.
"""

OF_SUBJECTS = tuple(f"{PACKAGE}.{subject}." for subject in SUBJECTS)
CACHE = type(cache(lambda: None))
Fate = dict[str, str]
"""A mutant's ID, its change, and as `by` the reason why it is killed, empty if it survives."""

Place = tuple[str, int | None]
"""A file below `conformance/`, and the first line of a function."""


def judge_modules() -> list[str]:
    """Return the modules with checks, and with quantities for checks, below `conformance/`."""
    every = (file for subject in SUBJECTS for file in sorted((JUDGE / subject).glob("*.py")))
    return [one.relative_to(JUDGE).as_posix() for one in every if not _asks(one.name)]


def _asks(name: str) -> bool:
    return name.startswith(NOT_CHECKS)


def mutants_of(file: str) -> list[Mutant]:
    """Return a judge module's mutants, except changes of messages, rule IDs and drawn cases."""
    source = (JUDGE / file).read_text("utf-8")
    tree = ast.parse(source)
    texts = [one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr)]
    printed = {id(part) for text in texts for part in ast.walk(text)}
    names = {id(one) for text in RULE.findall(source) for one in _constants(tree, text)}
    asking = {name for one in tree.body if _makes_cases(one) for name in _names(one)}
    return [
        one.mutant
        for one in made(file, source, tree)
        if id(one.node) not in printed | names
        and one.mutant.function.partition(".")[0] not in asking
    ]


def _makes_cases(node: ast.stmt) -> bool:
    """True if a statement of a module defines cases to draw, and not which answers are allowed."""
    if isinstance(node, ast.FunctionDef):
        drawn = {one.arg for one in node.args.args} & {"draw", "random"}
        return bool(drawn or DRAWN.search(ast.unparse(node.returns or ast.Constant(None))))
    return isinstance(node, ast.Assign | ast.AnnAssign) and bool(DRAWN.search(ast.unparse(node)))


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield ast.unparse(node.targets[0])
    elif isinstance(node, ast.AnnAssign):
        yield ast.unparse(node.target)


def _constants(tree: ast.Module, text: str) -> Iterator[ast.Constant]:
    for one in ast.walk(tree):
        if isinstance(one, ast.Constant) and one.value == text:
            yield one


def rules_of(file: str) -> list[str]:
    """Return the documented rules that a module checks; without checks, the rules of its folder."""
    from pulsar_conformance import specs
    from pulsar_conformance.conformance.catalogue import checks

    own = RULE.findall((JUDGE / file).read_text("utf-8"))
    folder = (JUDGE / file).parent
    every = own or [rule for one in folder.glob("*.py") for rule in RULE.findall(one.read_text())]
    known = specs.load().rules
    documented = ("documented", "unwritten")
    return [
        one
        for one in sorted(set(every) & checks().keys())
        if any(name.startswith(documented) for name in known[one].profiles)
    ]


ENTERED: dict[str, frozenset[Place]] = {}
"""The functions of the judge that each rule enters when it judges the model; set by `prepare`."""


def likeliest_first(mutant: Mutant) -> list[str]:
    """Return the rules of a mutant's module; rules that enter the changed function come first."""
    place = mutant.file, mutant.entered
    return sorted(rules_of(mutant.file), key=lambda one: place not in ENTERED.get(one, ()))


def _entered_by(rule: Rule) -> frozenset[Place]:
    """Judge the model by a rule, and return the functions of the judge that are entered."""
    from mutants.clauses import allowances, outcomes_of
    from mutants.evaluations import SEED

    entered: set[Place] = set()

    def called(frame: FrameType, event: str, _given: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(f"{JUDGE}/"):
            entered.add((file.removeprefix(f"{JUDGE}/"), frame.f_code.co_firstlineno))

    forget()
    sys.setprofile(called)
    try:
        outcomes_of(allowances()["the model itself"], rule, SEED)
    finally:
        sys.setprofile(None)
    return frozenset(entered)


def forget() -> None:
    """Empty the caches of the subjects' functions."""
    for one in gc.get_objects():
        if isinstance(one, CACHE) and one.__module__.startswith(OF_SUBJECTS):
            one.cache_clear()


def first_mistake(rules: Sequence[str]) -> str:
    """Return the first mistake of the judge in this process, or '' if it makes none."""
    from pulsar_conformance import specs

    known = specs.load().rules
    return next((why for one in rules for why in _mistakes(known[one])), "")


def _mistakes(rule: Rule) -> Iterator[str]:
    """Yield each wrong verdict of a rule on the model, or on a defect or allowance of a clause."""
    from mutants.clauses import allowances, found_by_drawn_cases, outcomes_of
    from mutants.defects import defects
    from mutants.evaluations import SEED
    from mutants.verdicts import recorded, verdicts

    if verdicts(rule.id) != recorded().get(rule.id, ""):
        yield f"{rule.id} changes a recorded verdict"
    itself, seeded = allowances()["the model itself"], {one.name: one for one in defects()}
    words = {one.word for one in outcomes_of(itself, rule, SEED)[0]}
    if "violated" in words:
        yield f"{rule.id} accuses the model"
    if "allowed" not in words:
        yield f"{rule.id} reaches no case"
    for clause in rule.clauses:
        if clause.broken_by and not found_by_drawn_cases(seeded[clause.broken_by], SEED):
            yield f"{rule.id} misses {clause.broken_by}"
    for most in {one.most for one in rule.clauses if one.most} - {itself.name}:
        if any(one.violated for one in outcomes_of(allowances()[most], rule, SEED)[0]):
            yield f"{rule.id} accuses {most}"


def try_here(name: str) -> None:
    """Import the judge with a mutant in this process, and print the mutant's fate as JSON."""
    [mutant] = [one for one in mutants_of(name.partition(":")[0]) if one.id == name]
    module = f"{PACKAGE}.{mutant.file.removesuffix('.py').replace('/', '.')}"
    source = changed(mutant, JUDGE)
    sys.meta_path.insert(0, ChangedSources({module: (mutant.file, source)}, JUDGE))
    print(json.dumps(_fate(mutant)))


def _fate(mutant: Mutant) -> Fate:
    """Return the fate of a mutant that is already part of the judge in this process."""
    try:
        return _with(mutant, first_mistake(likeliest_first(mutant)))
    except Exception as error:
        return _with(mutant, f"it fails: {type(error).__name__}")


def _with(mutant: Mutant, by: str) -> Fate:
    return {"id": mutant.id, "was": mutant.was, "becomes": mutant.becomes, "by": by}


def try_in_new_process(mutant: Mutant) -> Fate:
    """Try a mutant in a new process, whose modules are changed from the start."""
    words = [sys.executable, "-m", "mutants.judge", "--here", mutant.id]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False, env=env)
        said: Fate = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return _with(mutant, "no end")
    except (IndexError, ValueError):
        return _with(mutant, "it does not start")
    return said


def try_mutants(mutants: Sequence[Mutant], workers: int = 1) -> Iterator[Fate]:
    """Try mutants of one module, each in its own process."""
    prepare(mutants[0].file)

    def lost(mutant: Mutant, _status: int | None) -> Fate:
        return _with(mutant, "no end")

    yield from (fate for _, fate in run_tasks(mutants, _try, lost, workers, PATIENCE))


def _try(mutant: Mutant) -> Fate:
    return _fate(mutant) if change_functions(mutant) else try_in_new_process(mutant)


def prepare(file: str) -> None:
    """Draw the cases for a module's mutants, record the functions that judging enters, and build
    models.
    """
    from pulsar_conformance import specs

    from mutants.clauses import allowances, profile_of
    from mutants.defects import bench_of, defects
    from mutants.verdicts import answered_trials

    known, seeded = specs.load().rules, {one.name: one for one in defects()}
    for rule in (known[one] for one in rules_of(file)):
        answered_trials(rule.id)
        if rule.id not in ENTERED:
            ENTERED[rule.id] = _entered_by(rule)
        for clause in rule.clauses:
            if clause.broken_by:
                bench_of(seeded[clause.broken_by], profile_of(rule.id))
            if clause.most:
                _ = allowances()[clause.most].model


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


def page(results: Sequence[Fate], among: int) -> str:
    """Return the page about the mutants that were tried, with a list of those that survive."""
    lives = [one for one in results if not one["by"]]
    of_each = Counter(one["id"].partition(":")[0] for one in results)
    living = Counter(one["id"].partition(":")[0] for one in lives)
    killed = len(results) - len(lives)
    rows = [
        f"| {file} | {count - living[file]} | {living[file]} |" for file, count in of_each.items()
    ]
    changes = [f"| `{one['id']}` | {code(one['was'])} → {code(one['becomes'])} |" for one in lives]
    return "\n".join(
        [
            INTRODUCTION,
            f"{len(results)} of {among} were tried, drawn by seed {SEED}: {killed} are killed,",
            f"{killed / len(results):.1%}, and {len(lives)} live.",
            "",
            "| module | killed | live |",
            "| --- | --- | --- |",
            *rows,
            "",
            "## Those that live",
            "",
            "| mutant | change |",
            "| --- | --- |",
            *changes,
            "",
        ]
    )


def main() -> int:
    """Return 0 if at least the share `ENOUGH` of the tried mutants is killed, else 1."""
    parser = argparse.ArgumentParser(prog="python -m mutants.judge", description=__doc__)
    parser.add_argument("--here", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="PATTERN", help="mutants by name; no page is written")
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them, always the same")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="(%(default)s)")
    parser.add_argument("--to", type=Path, default=TO, metavar="DIR", help="(%(default)s)")
    args = parser.parse_args()
    if args.here:
        try_here(args.here)
        return 0
    every = [one for file in judge_modules() for one in mutants_of(file)]
    chosen = [one for one in every if args.only is None or fnmatchcase(one.id, args.only)]
    if args.sample:
        chosen = Random(SEED).sample(chosen, min(args.sample, len(chosen)))
    results: list[Fate] = []
    for _, those in groupby(sorted(chosen, key=lambda one: one.file), lambda one: one.file):
        for one in try_mutants(list(those), args.workers):
            results.append(one)
            state = one["by"] or "lives"
            print(f"{len(results)} of {len(chosen)}: {one['id']}: {state}", flush=True)
    if args.only is None:
        args.to.mkdir(parents=True, exist_ok=True)
        (args.to / "judge.md").write_text(page(results, len(every)), "utf-8")
        lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in results)
        (args.to / "judge.jsonl").write_text(lines, "utf-8")
    killed = sum(bool(one["by"]) for one in results)
    print(f"{killed} of {len(results)} mutants of the judge are killed")
    return int(killed < ENOUGH * len(results))


if __name__ == "__main__":
    sys.exit(main())
