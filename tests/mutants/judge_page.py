"""Makes the page about mutants of the judge, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from mutants.explained import Explained
from mutants.making import code

INTRODUCTION = """\
# Mutants of the judge

Each is the suite with one change in a check, or in a quantity that checks use. It is killed if a
rule of its module then draws other cases than those recorded for a fixed seed, changes a recorded
verdict or message, fails the model or an implementation that a clause allows, reaches no case that
is drawn for it, or no longer finds the seeded defect of a clause, or if a unit test of its folder
fails. `python -m mutants.judge` makes this page and [judge.jsonl](judge.jsonl), one mutant a line;
with `--add`, it keeps earlier samples, whose mutants are of the suite as it was then.
"""

Fate = dict[str, str]
"""A mutant's ID, its change, the `seed` of its sample, and as `by` the reason why it is killed,
empty if it survives.
"""


def page(results: Sequence[Fate], among: int, explained: Mapping[str, Explained]) -> str:
    """Return the page about the mutants that were tried, with a list of those that survive."""
    drawn = sorted({one["seed"] for one in results}, key=int)
    seeds = f"seed{'s' * (len(drawn) > 1)} {' and '.join(drawn)}"
    lives = [one for one in results if not one["by"]]
    of_each = Counter(one["id"].partition(":")[0] for one in results)
    living = Counter(one["id"].partition(":")[0] for one in lives)
    killed = len(results) - len(lives)
    rows = [
        f"| {file} | {count - living[file]} | {living[file]} |" for file, count in of_each.items()
    ]
    changes = [
        f"| `{one['id']}` | {code(one['was'])} → {code(one['becomes'])} | {_why(one, explained)} |"
        for one in lives
    ]
    return "\n".join(
        [
            INTRODUCTION,
            f"{len(results)} of {among} were tried, drawn by {seeds}: {killed} are killed,",
            f"{killed / len(results):.1%}, and {len(lives)} live.",
            "",
            "| module | killed | live |",
            "| --- | --- | --- |",
            *rows,
            "",
            "## Those that live",
            "",
            "| mutant | change | why |",
            "| --- | --- | --- |",
            *changes,
            "",
        ]
    )


def _why(fate: Fate, explained: Mapping[str, Explained]) -> str:
    return explained[fate["id"]].why if fate["id"] in explained else "**not explained**"
