"""The smallest clusters that violate a rule, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pulsar_conformance.audit.simulation.course import SimulatedCycle
from pulsar_conformance.audit.simulation.measures import average_compared_usage, limit_of
from pulsar_conformance.audit.simulation.reporting import markdown_table
from pulsar_conformance.audit.simulation.rules import (
    CONSTANT_LOAD,
    ENDLESS,
    loop_faults,
    loop_rules,
)
from pulsar_conformance.audit.simulation.smallest.clusters import CHANGE, loads_text
from pulsar_conformance.audit.simulation.smallest.search import SmallestCluster
from pulsar_conformance.conformance.explain.focus import Focus
from pulsar_conformance.conformance.explain.paper import format_derivation
from pulsar_conformance.reference import Derivation, Model
from pulsar_conformance.reference.answers.shedding import SHED
from pulsar_conformance.specs.text import counted

USAGES = "the usage that each bundle causes, in percent; `;` separates brokers."
CHANGING = f"`40 → 5` is 40 % at first, and 5 % from cycle {CHANGE} on."
REST = """\
* `broken`: the rules about the long run that are broken, such as LOOP-03 (a bundle that was shed
  does not return with its next unload) and LOOP-07 (under constant load, unloads come to an end);
  `pulsar-conformance rule ID` prints one.
* In releases, OverloadShedder also sheds its margin from a broker at exactly the threshold of 85 %;
  the documents demand it only above the threshold.
""".splitlines()
REPEATED = """\
* `period`: the number of cycles after which the owners of all bundles repeat. Smoothed usage that
  is still changing can delay the first unloads, so the first round may take longer.
* `unloads in the first period`: unloads in that number of cycles from the start. The texts below
  show the cycles with unloads among these and the first of the next period, at most eight in all.
""".splitlines()
VIOLATED = """\
* `cycles`: the number of cycles up to the first violation.
* `unloads`: the unloads in these cycles. The texts below show the last eight cycles with unloads.
""".splitlines()


def legend_lines(rule: str) -> list[str]:
    """Return an explanation of the table's columns, and of the texts below it, for a rule."""
    loads = [f"* `bundles of each broker`: {USAGES}"]
    loads += [] if rule in CONSTANT_LOAD else [f"  {CHANGING}"]
    return [*loads, *(REPEATED if rule == ENDLESS else VIOLATED), *REST]


MAX_SHOWN_CYCLES = 8
"""Maximum number of cycles with unloads that a text describes."""


def cycle_lines(cluster: SmallestCluster, profiles: Sequence[str]) -> Iterator[str]:
    """Yield lines about the cycles with unloads that show the violation: usage, arithmetic, moves.

    The arithmetic is from the first of these profiles whose model unloads the same bundles.
    """
    endless = cluster.fault.rule.id == ENDLESS
    models = [Model(profile) for profile in profiles]
    for cycle in (
        cluster.shedding[:MAX_SHOWN_CYCLES] if endless else cluster.shedding[-MAX_SHOWN_CYCLES:]
    ):
        used = ", ".join(f"{name} {percent:g} %" for name, percent in cycle.usage.items())
        limit = limit_of(cluster.course, cycle)
        about = f"; average {average_compared_usage(cycle):g} %" + (
            f", limit {limit:g} %" if limit else ""
        )
        yield f"cycle {cycle.number}: {used}{about}"
        if cycle.number < len(cluster.questions):
            derived = (model.derive(SHED, cluster.questions[cycle.number]) for model in models)
            yield from next(filter(None, (list(_arithmetic(one, cycle)) for one in derived)), ())
        for move in cycle.sheds:
            yield f"  {move.bundle}: {move.source} → {move.target}"
    if not endless:
        yield f"{cluster.fault.rule.id}: {cluster.fault.text}"


def _arithmetic(derivation: Derivation, cycle: SimulatedCycle) -> Iterator[str]:
    """Yield the model's arithmetic for the brokers that shed.

    Yield nothing if the model would unload other bundles.
    """
    derived = {one["bundle"] for one in derivation.answer.get("unload", ())}
    if derived != {move.bundle for move in cycle.sheds}:
        return
    for broker in dict.fromkeys(str(move.source) for move in cycle.sheds):
        steps = Focus(broker).shown_steps(derivation.steps)
        own = [one for one in steps if one.label == broker or one.label.startswith(" ")]
        yield from (f"    {line}" for line in format_derivation(own))


def none_found_text(rule: str, examples: int, cycles: int) -> str:
    """Return a text that says that a search found no cluster with a violation of a rule."""
    span = f"within {counted(cycles, 'cycle')}"
    if examples == 1:
        problem = "repeat itself" if rule == ENDLESS else f"violate {rule}"
        return f"the only cluster drawn does not {problem} {span}"
    problem = "repeats itself" if rule == ENDLESS else f"violates {rule}"
    return f"none of {examples} clusters {problem} {span}"


def smallest_page(
    rule: str,
    clusters: Mapping[str, SmallestCluster | None],
    cycle_texts: Mapping[str, Sequence[str]],
    command: str,
    searched: str,
) -> str:
    """Return a Markdown page about the smallest cluster of each variant.

    `clusters` and `cycle_texts` are by the name of the variant. `searched` is the text for a
    variant without such a cluster.
    """
    rows = []
    for variant, one in clusters.items():
        if one is None:
            rows.append((variant, searched, "", "", ""))
            continue
        rules = ", ".join(fault.rule.id for fault in loop_faults(one.course))
        unloads = sum(move.cycle < one.length for move in one.course.sheds)
        rows.append((variant, loads_text(one.loads), str(one.length), str(unloads), rules))
    chapters = [
        line
        for variant, lines in cycle_texts.items()
        for line in (f"## {variant}", "", "```text", *lines, "```", "")
    ]
    return "\n".join(
        [
            *_heading(rule),
            "Generated by:",
            "",
            f"    {command}",
            "",
            *markdown_table(("variant", "bundles of each broker", *_columns(rule), "broken"), rows),
            "",
            *legend_lines(rule),
            "",
            *chapters,
        ]
    )


def _columns(rule: str) -> tuple[str, str]:
    return ("period", "unloads in the first period") if rule == ENDLESS else ("cycles", "unloads")


def _heading(rule: str) -> list[str]:
    if rule == ENDLESS:
        return [
            "# The smallest clusters that never come to rest",
            "",
            "The owners of their bundles repeat endlessly, although the load is constant.",
        ]
    return [
        f"# The smallest clusters that violate {rule}",
        "",
        f"{rule}: {loop_rules()[rule].title}.",
    ]
