"""`pulsar-conformance predict ADAPTER`: the share of decisions that the model foresees."""

from __future__ import annotations

import argparse

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import add_adapter, add_drawn, add_judged_by, limits_of
from pulsar_conformance.conformance.compare.predictions import Predictor
from pulsar_conformance.conformance.engine.draw import distinct_questions, sample_questions
from pulsar_conformance.conformance.engine.implementation import Implementation
from pulsar_conformance.conformance.engine.judge import JudgedImplementation
from pulsar_conformance.conformance.engine.plan import BadPlan, chosen_readings
from pulsar_conformance.conformance.engine.readings import resolve_readings
from pulsar_conformance.reference import Model
from pulsar_conformance.specs.text import paragraph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the adapter, the profile, and the options that select the questions."""
    add_adapter(parser)
    add_drawn(parser)
    parser.add_argument(
        "--decisions",
        type=int,
        metavar="N",
        help="draw for each rule until each operation has N questions",
    )
    add_judged_by(parser)


def run(args: argparse.Namespace) -> int:
    """Print a share for each operation, with the misses by cause."""
    implementation = None
    try:
        specs.load().profile(args.profile)
        readings, limits = chosen_readings(args.reading), limits_of(args.time_limit)
        implementation = Implementation(args.adapter, args.profile, readings, limits)
        followed = resolve_readings(implementation, args.seed)
        predictor = Predictor(JudgedImplementation.of(implementation, followed))
        for operation in _operations(implementation, args.operation):
            drawn = (operation, args.profile, args.seed, args.examples)
            if args.decisions is None:
                trials = distinct_questions(*drawn)
            else:
                trials = sample_questions(*drawn, args.decisions)
            for line in predictor.share(operation, trials).lines():
                print("\n".join(paragraph(line, 8, "")) or line)
    finally:
        if implementation is not None:
            implementation.close()
    return 0


def _operations(implementation: Implementation, wanted: list[str] | None) -> list[str]:
    """The operations that are offered, limited to the wanted ones if any are named."""
    offered = [one for one in implementation.hello.operations if one in Model.operations]
    for operation in wanted or ():
        if operation not in offered:
            raise BadPlan(f"{operation} is not offered; there are {', '.join(offered)}")
    return [one for one in offered if wanted is None or one in wanted]
