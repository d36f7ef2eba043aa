"""Mutants of the judge: a check, or a quantity that checks use, with one change.

`python -m mutants.judge` tries each mutant in its own process, where the changed suite judges the
model, the seeded defects and the allowances. A mutant is killed if it draws other cases than those
recorded, changes a recorded verdict or message, finds a violation by the model or an allowance,
reaches none of the cases drawn for a rule, no longer finds a defect, or fails a unit test of its
folder.

Most mutants change only functions. For these, a process that has drawn the cases is forked, and the
fork's functions get the changed code. A mutant that changes a table or a decorator needs a new
process.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from random import Random
from types import FrameType
from typing import TYPE_CHECKING

from mutants.children import run_tasks
from mutants.explained import FOLDER, explained_in, stale
from mutants.judge_page import Fate, page
from mutants.loading import ChangedSources
from mutants.making import Mutant, changed, made
from mutants.patching import JUDGE, PACKAGE, SUBJECTS, change_functions, forget

if TYPE_CHECKING:
    from pulsar_conformance.specs import Rule

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

EXPLAINED = "mutants/explained_judge.yaml"
"""File, below `tests/`, with the mutants that may live."""

MUTANT = "PULSAR_CONFORMANCE_MUTANT"
"""Environment variable with the ID of the mutant that a pytest process tests."""

EDITS = "any_answer/edits.py"
"""The module that edits drawn cases; rules about any answer have no edited cases."""

QUICKLY_EDITED = {"bundles.create", "channel.apply", "place.broker", "report.bundles", "report.due"}
"""Operations with edited cases, other than stories and policies, which share their edits."""

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
    """Return the rules that a module checks; without checks, the rules of its folder."""
    from pulsar_conformance import specs
    from pulsar_conformance.conformance.catalogue import checks

    own = RULE.findall((JUDGE / file).read_text("utf-8"))
    folder = (JUDGE / file).parent
    every = own or [rule for one in folder.glob("*.py") for rule in RULE.findall(one.read_text())]
    known = specs.load().rules
    if file == EDITS:
        every = [one.id for one in known.values() if QUICKLY_EDITED & {*one.operations}]
    return sorted(set(every) & checks().keys())


ENTERED: dict[str, frozenset[Place]] = {}
"""The functions of the judge that each rule enters when it judges answers; set by `prepare`."""


def likeliest_first(mutant: Mutant) -> list[str]:
    """Return the rules of a mutant's module; rules that enter the changed function come first."""
    place = mutant.file, mutant.entered
    return sorted(rules_of(mutant.file), key=lambda one: place not in ENTERED.get(one, ()))


def _entered_by(work: Callable[[], object]) -> frozenset[Place]:
    """Return the functions of the judge that are entered in some work."""
    entered: set[Place] = set()

    def called(frame: FrameType, event: str, _given: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(f"{JUDGE}/"):
            entered.add((file.removeprefix(f"{JUDGE}/"), frame.f_code.co_firstlineno))

    forget()
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
    return frozenset(entered)


def first_mistake(rules: Sequence[str], mutant: Mutant | None = None) -> str:
    """Return the first mistake of the judge in this process, or '' if it makes none.

    `mutant` has changed functions of this process after it had drawn the cases. Then clauses are
    tested only if the function is entered when their rule is judged.
    """
    from pulsar_conformance import specs

    from mutants.verdicts import redraws_otherwise

    known = [specs.load().rules[one] for one in rules]
    drawn = known if mutant is not None else []
    entering = [
        one
        for one in known
        if mutant is None or mutant.entered is None or _place(mutant) in ENTERED[one.id]
    ]
    return next(
        chain(
            (why for one in known for why in _changes(one)),
            (f"{one.id} draws other cases" for one in drawn if redraws_otherwise(one.id)),
            _changed_aims(known),
            (why for one in entering for why in _mistakes(one)),
        ),
        "",
    )


def _place(mutant: Mutant) -> Place:
    return mutant.file, mutant.entered


def _changes(rule: Rule) -> Iterator[str]:
    """Yield each difference between a rule's drawn cases and verdicts and those recorded."""
    from mutants.verdicts import record, recorded

    now, known = record(rule.id), recorded()[rule.id]
    if now.cases != known.cases:
        yield f"{rule.id} draws other cases"
    if now.verdicts != known.verdicts:
        yield f"{rule.id} changes a recorded verdict"
    if now.messages != known.messages:
        yield f"{rule.id} changes a message"
    if now.operations != known.operations:
        yield f"{rule.id} has an operation that says something else of its cases"


def _changed_aims(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield each reading of some rules' operations with other cases aimed at it than recorded."""
    from pulsar_conformance.conformance.catalogue import aims_by_reading
    from pulsar_conformance.conformance.engine.draw import forget_drawn_trials

    from mutants.verdicts import aimed_cases, recorded_aims

    operations = {name for one in rules for name in one.operations}
    forget_drawn_trials()
    for reading, aims in aims_by_reading().items():
        concerned = operations & {one.operation for one in aims}
        if concerned and aimed_cases(reading) != recorded_aims()[reading]:
            yield f"{reading} draws other cases"


def _mistakes(rule: Rule) -> Iterator[str]:
    """Yield each wrong verdict of a rule on the model, or on a defect or allowance of a clause."""
    from mutants.clauses import allowances, found_by_drawn_cases, outcomes_of
    from mutants.defects import defects
    from mutants.evaluations import PROFILES, SEED

    if not {*PROFILES} & {*rule.profiles}:
        return
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


def failed_unit_test(mutant: Mutant) -> str:
    """Return the first unit test of a mutant's folder that fails with the mutant, or ''.

    These are the tests in files that name the module, or in all files of the folder if none does;
    a file may name it in its own name.
    """
    folder, name = FOLDER / "conformance" / Path(mutant.file).parent, Path(mutant.file).stem
    files = sorted(folder.glob("test_*.py"))
    naming = [one for one in files if name in one.name or name in one.read_text("utf-8")]
    words = [sys.executable, "-m", "pytest", "-xqrf", "-p", "no:cacheprovider"]
    words += ["-m", "not thorough", "-p", "mutants.changed_judge", *map(str, naming or [folder])]
    done = subprocess.run(words, capture_output=True, check=False, env=_environment(mutant))
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout.decode(), re.MULTILINE)
    return failed[0] if failed else "" if done.returncode == 0 else "its unit tests do not start"


def _environment(mutant: Mutant) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), MUTANT: mutant.id}


def import_with(name: str) -> Mutant:
    """Let this process import the judge with a mutant; return the mutant."""
    [mutant] = [one for one in mutants_of(name.partition(":")[0]) if one.id == name]
    module = f"{PACKAGE}.{mutant.file.removesuffix('.py').replace('/', '.')}"
    source = changed(mutant, JUDGE)
    sys.meta_path.insert(0, ChangedSources({module: (mutant.file, source)}, JUDGE))
    return mutant


def try_here(name: str) -> None:
    """Import the judge with a mutant in this process, and print the mutant's fate as JSON."""
    print(json.dumps(_fate(import_with(name))))


def _fate(mutant: Mutant) -> Fate:
    """Return the fate of a mutant that is already part of the judge in this process."""
    try:
        drawn = mutant if ENTERED else None
        by = first_mistake(likeliest_first(mutant), drawn) or failed_unit_test(mutant)
        return _with(mutant, by)
    except Exception as error:
        return _with(mutant, f"it fails: {type(error).__name__}")


def _with(mutant: Mutant, by: str) -> Fate:
    return {"id": mutant.id, "was": mutant.was, "becomes": mutant.becomes, "by": by}


def try_in_new_process(mutant: Mutant) -> Fate:
    """Try a mutant in a new process, whose modules are changed from the start."""
    words = [sys.executable, "-m", "mutants.judge", "--here", mutant.id]
    try:
        done = subprocess.run(
            words, capture_output=True, timeout=PATIENCE, check=False, env=_environment(mutant)
        )
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
    """Draw the cases for a module's mutants, and record the functions that are entered."""
    from mutants.verdicts import answered_trials, record

    for rule in rules_of(file):
        if rule not in ENTERED:
            answered_trials(rule)
            ENTERED[rule] = _entered_by(partial(record, rule))


def publish(results: Sequence[Fate], among: int, seed: int, folder: Path, add: bool) -> None:
    """Write the page and its data; if `add`, mutants of other samples in the folder are kept."""
    file = folder / "judge.jsonl"
    known: list[Fate] = [json.loads(line) for line in file.open("rb")] if add else []
    tried = {one["id"]: one for one in known}
    tried |= {one["id"]: {**one, "seed": str(seed)} for one in results}
    sample = sorted(tried.values(), key=lambda one: one["id"].partition(":")[0])
    folder.mkdir(parents=True, exist_ok=True)
    text = page(sample, among, explained_in(FOLDER, EXPLAINED))
    (folder / "judge.md").write_text(text, "utf-8")
    lines = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in sample)
    file.write_text(lines, "utf-8")


def main() -> int:
    """Return 0 if at least the share `ENOUGH` of the tried mutants is killed, else 1.

    An outdated explanation is an error, too.
    """
    parser = argparse.ArgumentParser(prog="python -m mutants.judge", description=__doc__)
    parser.add_argument("--here", metavar="ID", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="PATTERN", help="mutants by name; no page is written")
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, metavar="N", help="(%(default)s)")
    parser.add_argument("--to", type=Path, default=TO, metavar="DIR", help="(%(default)s)")
    parser.add_argument("--add", action="store_true", help="keep the mutants that DIR has")
    args = parser.parse_args()
    if args.here:
        try_here(args.here)
        return 0
    every = [one for file in judge_modules() for one in mutants_of(file)]
    chosen = [one for one in every if args.only is None or fnmatchcase(one.id, args.only)]
    if args.sample:
        chosen = Random(args.seed).sample(chosen, min(args.sample, len(chosen)))
    results: list[Fate] = []
    for _, those in groupby(sorted(chosen, key=lambda one: one.file), lambda one: one.file):
        for one in try_mutants(list(those), args.workers):
            results.append(one)
            state = one["by"] or "lives"
            print(f"{len(results)} of {len(chosen)}: {one['id']}: {state}", flush=True)
    explained = explained_in(FOLDER, EXPLAINED)
    outdated = list(stale(explained, every, (one["id"] for one in results if one["by"])))
    if args.only is None:
        publish(results, len(every), args.seed, args.to, args.add)
    killed = sum(bool(one["by"]) for one in results)
    print(f"{killed} of {len(results)} mutants of the judge are killed")
    print("\n".join(outdated), end="\n" * bool(outdated))
    return int(killed < ENOUGH * len(results) or bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
