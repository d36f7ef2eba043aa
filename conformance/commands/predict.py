"""`pulsar-conformance predict ADAPTER`: print the share of answers that the model predicts."""

from __future__ import annotations

import argparse
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import (
    add_adapter,
    add_drawing_options,
    add_judging_options,
    limits_within,
)
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.compare.predictions import (
    ByOperation,
    Predictor,
    Share,
    branches_of,
    read_questions,
    write_questions,
)
from pulsar_conformance.conformance.engine.draw import distinct_questions, sample_questions
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.engine.readings import resolve_readings
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the adapter, the profile, and options that select questions."""
    add_adapter(parser)
    add_drawing_options(parser)
    parser.add_argument(
        "--decisions",
        type=int,
        metavar="N",
        help="draw cases until each operation has N questions",
    )
    parser.add_argument(
        "--cases",
        type=Path,
        metavar="FILE",
        help="ask the questions of a file, one per line in the format of `ask`, instead of "
        "drawing them",
    )
    parser.add_argument(
        "--missed",
        type=Path,
        metavar="FILE",
        help="write the questions that the model decides differently to a file, one per line, "
        "which `ask` and --cases read",
    )
    add_judging_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the share per operation and overall, with mispredictions by cause."""
    implementation = None
    try:
        profile = specs.load().profile(args.profile)
        given = None if args.cases is None else read_questions(args.cases)
        readings, limits = (
            chosen_readings(args.reading, args.profile),
            limits_within(args.time_limit),
        )
        implementation = Implementation(args.adapter, args.profile, readings, limits)
        for note in implementation.notes():
            print_note(note)
        followed = resolve_readings(implementation, args.seed)
        predictor = Predictor(JudgedImplementation.of(implementation, followed))
        operations = _operations(implementation, args.operation)
        if given is None:
            branches = branches_of(args.profile)
            shares = [_drawn_share(predictor, one, branches, args) for one in operations]
            what = f"drawn for the rules of {profile.title}"
            more = sum(len(branches.get(one, ())) for one in operations)
            what += f", and {more} for branches of its source" if branches else ""
        else:
            asked = [one for one in operations if one in given]
            shares = [predictor.share(one, given[one], as_given=True) for one in asked]
            what = f"of {args.cases}"
        if args.missed is not None:
            write_questions(Share.of_all(shares).examples, args.missed)
        if len(shares) > 1:
            shares.append(Share.of_all(shares))
        for line in [
            *(line for one in shares for line in one.lines()),
            f"These are questions {what}.",
        ]:
            print("\n".join(paragraph(line, 8, "")) or line)
    finally:
        if implementation is not None:
            implementation.close()
    return 0


def _drawn_share(
    predictor: Predictor, operation: str, branches: ByOperation, args: argparse.Namespace
) -> Share:
    """Return the share of an operation's answers that the model predicts.

    The questions are drawn. For a release, questions that reach branches of its source are added.
    """
    drawn = predictor.share(operation, _draw_questions(operation, args))
    if operation not in branches:
        return drawn
    more = predictor.share(operation, branches[operation], as_given=True)
    return Share.of_all([drawn, more], operation)


def _draw_questions(operation: str, args: argparse.Namespace) -> list[Trial]:
    """Return an operation's questions that are drawn for the rules."""
    drawn = (operation, args.profile, args.seed, args.examples)
    if args.decisions is None:
        return distinct_questions(*drawn)
    return sample_questions(*drawn, args.decisions)


def _operations(implementation: Implementation, wanted: list[str] | None) -> list[str]:
    """Return the requested operations, or all that the implementation offers."""
    offered = [one for one in implementation.hello.operations if one in Model.operations]
    for operation in wanted or ():
        if operation not in offered:
            raise BadPlan(
                f"{operation} cannot be predicted for this implementation; choose from "
                f"{', '.join(offered)}"
            )
    return [one for one in offered if wanted is None or one in wanted]
