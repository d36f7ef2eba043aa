"""Measures how much the suite detects: `python -m mutants`."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeVar

from pulsar_conformance.conformance.common import WORKSPACE
from pulsar_conformance.conformance.reporters import show_progress
from pulsar_conformance.specs.errors import SpecError

from mutants.children import run_tasks
from mutants.defects import Defect, Exhibit, defects, shown
from mutants.evaluations import Evaluation, draw_all, worked
from mutants.explained import all_mutants, explained, stale
from mutants.hunting import Catch, catch_by_draws, catch_by_examples
from mutants.making import Mutant
from mutants.page import is_missed, is_untold, killed_share, page, summary
from mutants.results import Fate, StoredResults

TO = Path("reports/mutants")
KEPT = WORKSPACE / "mutants.jsonl"
CPU_SECONDS = 900
"""Maximum seconds of CPU time for all questions about one mutant or defect."""

STOPPED = 130

SEED = 0
"""Seed with which a sample is drawn."""

SEEDED_SHARE = 10
"""Number of mutants in a sample for each seeded defect in it."""

ENOUGH = 0.95
"""Drawn cases must kill at least this share of the mutants that violate a document."""

T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if all mutants are caught or explained, and all seeded defects found, 1 if not.

    Outdated explanations also give 1. With `--drawn`, 0 means that drawn cases kill the share
    `ENOUGH`. Return 2 for invalid input, and 130 if interrupted.
    """
    args = _arguments(argv)
    try:
        return _judged(args)
    except (SpecError, OSError) as wrong:
        print(f"mutants: {wrong}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nmutants: stopped; the next run goes on, by {args.kept}", file=sys.stderr)
        return STOPPED


def _judged(args: argparse.Namespace) -> int:
    if "fork" not in multiprocessing.get_all_start_methods():
        raise OSError("each mutant has a process of its own, made by fork; this system has none")
    every, known = all_mutants(), explained()
    chosen = [one for one in every if _chosen(one.id, args.only)]
    seeded = [one for one in defects() if _chosen(one.name, args.only)]
    if not chosen and not seeded:
        raise OSError(f"--only {args.only}: no mutant and no defect has such a name")
    if args.sample:
        chosen = sampled(chosen, args.sample)
        seeded = sampled(seeded, args.sample // SEEDED_SHARE)
    fates = _fates(chosen, args)
    told = [] if args.drawn else list(_seeded(seeded, args))
    caught = [one.id for one in fates if one.verdict == "killed"]
    wrong = [
        *(f"{one.id} survived: {one.was} -> {one.becomes}" for one in fates if is_missed(one)),
        *(f"{one.name}: {one.rule} does not see it" for one, case in told if case is None),
        *stale(known, every, caught),
    ]
    for name, count in summary(fates).items():
        print(f"{name}: {count}")
    print(f"seeded defects found: {sum(case is not None for _, case in told)} of {len(told)}")
    print("\n".join(wrong), end="\n" if wrong else "")
    if args.only is None:
        args.to.mkdir(parents=True, exist_ok=True)
        text = page(fates, known, told, of=(len(every), len(defects())), drawn=args.drawn)
        name, lines = ("drawn.md", "drawn") if args.drawn else ("README.md", "mutants")
        (args.to / name).write_text(text, "utf-8")
        each = "".join(f"{one.line()}\n" for one in fates)
        (args.to / f"{lines}.jsonl").write_text(each, "utf-8")
        print(f"written: {args.to / name}")
    return int(killed_share(fates) < ENOUGH if args.drawn else bool(wrong))


def sampled(those: Sequence[T], count: int) -> list[T]:
    """Return a reproducible sample; a smaller sample is the beginning of a larger one."""
    return Random(SEED).sample(those, len(those))[:count]


def _chosen(name: str, only: str | None) -> bool:
    return only is None or fnmatchcase(name, only)


def _fates(chosen: Sequence[Mutant], args: argparse.Namespace) -> list[Fate]:
    """Return each mutant's fate, in order; worked examples are tried first, then drawn cases.

    Drawn cases take minutes for a mutant that survives, so they are tried on explained mutants only
    on request. With `--drawn`, survivors are asked the worked examples at the end, including those
    of an earlier run that was stopped before.
    """
    file = args.kept.with_stem(f"{args.kept.stem}-drawn") if args.drawn else args.kept
    kept, known = StoredResults(file), explained()
    earlier = {} if args.anew else kept.earlier()
    if args.explained:
        earlier = {name: one for name, one in earlier.items() if one.verdict == "killed"}
    found = {one.id: earlier[one.id].explained_by(known) for one in chosen if one.id in earlier}
    kept.begin(earlier.values())

    def note(mutant: Mutant, catch: Catch) -> None:
        found[mutant.id] = Fate.of(mutant, catch, known)
        kept.add(found[mutant.id])

    left = [one for one in chosen if one.id not in found]
    stored = [one for one in chosen if one.id in found]
    unseen = [one for one in stored if args.drawn and is_untold(found[one.id])]
    if not left and not unseen:
        return [found[one.id] for one in chosen]
    living: list[tuple[Mutant, Catch]] = []
    for mutant, catch in _by_examples(left, args):
        if catch.caught or (mutant.id in known and not args.explained):
            note(mutant, catch)
        else:
            living.append((mutant, catch))
    before = {mutant.id: catch.seconds for mutant, catch in living}
    examples = worked() if living or unseen else []
    if living:
        draw_all()
    for mutant, catch in _hunted([one for one, _ in living], catch_by_draws, examples, args):
        seconds = before[mutant.id] + catch.seconds
        note(mutant, Catch(catch.caught, catch.rule, catch.by, seconds))
        unseen += [] if catch.caught or not args.drawn else [mutant]
    for mutant, catch in _hunted(unseen, catch_by_examples, examples, args):
        note(mutant, Catch(False, catch.rule, catch.by, catch.seconds))
    return [found[one.id] for one in chosen]


def _by_examples(
    left: Sequence[Mutant], args: argparse.Namespace
) -> Iterable[tuple[Mutant, Catch]]:
    """Return each mutant with its fate by worked examples; with `--drawn`, all count as living."""
    if args.drawn:
        return [(mutant, Catch(False)) for mutant in left]
    return _hunted(left, catch_by_examples, worked(), args)


Hunt = Callable[[Mutant, Sequence[Evaluation]], Catch]


def _hunted(
    mutants: Sequence[Mutant], by: Hunt, examples: Sequence[Evaluation], args: argparse.Namespace
) -> Iterator[tuple[Mutant, Catch]]:
    lives = 0
    hunts = run_tasks(mutants, partial(_hunt, by, examples), _lost, args.workers, CPU_SECONDS)
    for number, (mutant, catch) in enumerate(hunts, start=1):
        lives += not catch.caught
        show_progress(f"{number} of {len(mutants)} mutants, {lives} live")
        yield mutant, catch


def _hunt(by: Hunt, examples: Sequence[Evaluation], mutant: Mutant) -> Catch:
    return by(mutant, examples)


def _lost(_mutant: Mutant, status: int | None) -> Catch:
    """Count a mutant that ended its process as caught, since no implementation may do that."""
    return Catch(True, by=f"ended with status {status}")


def _seeded(
    seeded: Sequence[Defect], args: argparse.Namespace
) -> Iterator[tuple[Defect, Exhibit | None]]:
    found: dict[str, Exhibit | None] = {}
    hunts = run_tasks(seeded, shown, lambda _one, _status: None, args.workers, CPU_SECONDS)
    for number, (defect, case) in enumerate(hunts, start=1):
        found[defect.name] = case
        show_progress(f"seeded defects: {number} of {len(seeded)}")
    show_progress("")
    yield from ((one, found[one.name]) for one in seeded)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s mutants --", description=__doc__)
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        help="mutants or defects by name, such as 'overload.py:*'; the page is not written",
    )
    parser.add_argument(
        "--drawn",
        action="store_true",
        help="ask drawn cases alone, and no worked example; it has a page of its own",
    )
    parser.add_argument(
        "--sample",
        type=_positive,
        metavar="N",
        help="try N mutants, always the same, as the page says",
    )
    parser.add_argument("--workers", type=_positive, default=2, metavar="N", help="(%(default)s)")
    parser.add_argument("--to", type=Path, default=TO, metavar="DIR", help="(%(default)s)")
    parser.add_argument(
        "--kept",
        type=Path,
        default=KEPT,
        metavar="FILE",
        help="what is known already of the same sources (%(default)s)",
    )
    parser.add_argument(
        "--explained", action="store_true", help="ask drawn cases of explained mutants, too"
    )
    parser.add_argument("--anew", action="store_true", help="forget what is known already")
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number from 1 on")
    return number


if __name__ == "__main__":
    sys.exit(main())
