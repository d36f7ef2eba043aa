"""Samples in other languages, each with one planted fault or with a variation that is permitted.

`python -m mutants.planted` judges them all, and writes a page with the rules that each breaks. This
takes a quarter of an hour; with `--found FILE`, it can be interrupted and continued.
`python -m mutants.planted --cpu N` measures in how much CPU time runs find N of them.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml
from pulsar_conformance.conformance.common.trial import Json, Trial
from pulsar_conformance.conformance.engine.evaluate import Outcome, RuleEvaluator
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.reference import Readings

from mutants.found_in import OPTIONS, Times, measure, section, section_of, spread, with_section

SAMPLES = Path(__file__).parents[2] / "adapters" / "samples"
FOLDER = Path(__file__).parent
PAGE = Path("reports/mutants/planted.md")
PROFILES = ("documented-3.0", "unwritten-3.0")
"""The profiles by which a sample is judged unless its entry names others."""

PROGRAMS = {"javascript": "node", "go": "go"}

INTRODUCTION = """\
# Faults that were planted in samples

The samples in JavaScript and Go with one fault each, which share no quantity with the judge. The
faults were written from the documents and the protocol, without a look at what is drawn. Each is
judged as in a run with default options, and the table has the rule that is broken first, in the
order of a run. `python -m mutants.planted` makes this page; the changes are in
[planted.yaml](../../tests/mutants/planted.yaml).

They were written in five sets, and each set was judged before more was drawn because of it:

| set | written | break no sentence | found at once | missed until more was drawn | still missed |
| --- | --- | --- | --- | --- | --- |
| first | 64 | 3 | 58 of 61 | 3 | 0 |
| second | 80 | 7 | 68 of 73 | 4 | 1 |
| third | 60 | 3 | 53 of 57 | 4 | 0 |
| fourth | 60 | 2 | 56 of 58 | 2 | 0 |
| fifth | 60 | 1 | 56 of 59 | 3 | 0 |

A fault that breaks no sentence was replaced in the first set, and left out of the others. It
declines a case, does what the documents leave open, or changes only a message that no run sends.

* Missed of the first set: ports of one address, capitals of topics, and limits about the load
  assumed of a bundle never measured.
* Missed of the second set, which was judged by the rules of its areas alone: numerals as names that
  differ in leading zeros, a usage closer to the lower boundary, a short term of more than 50
  samples, and a setting of null taken for 0. One is still missed, and is not in the list below: the
  load of a broker's bundles beyond the 200th in a placement. Two faults about whole thresholds were
  added later.
* Missed of the third set: a usage of 0 in a broker's history, two idle brokers, windows of more
  than a thousand samples, and domains with more than a hundred namespaces.
* Missed of the fourth set: automatic splits that look at the default algorithm, and a usage exactly
  at the lower boundary.
* Missed of the fifth set: a group whose name begins like another's, a namespace whose name begins
  like a hash range, and a difference in percent of the highest rate, since no rule about 4.x
  demanded then that UniformLoadShedder sheds at all.

Faults about rules of newer documents, such as those about isolation policies, AvgShedder, written
load reports and the channel of ownership, are judged by documented-5.0, all others by
documented-3.0 and unwritten-3.0. Rules that a sample breaks without any change, since it follows
other documents, do not count.
"""

PERMITTED = """\
## What is permitted

These decide otherwise than the model and may: no rule accuses them
([permitted.yaml](../../tests/mutants/permitted.yaml)).
"""


@dataclass(frozen=True)
class Planted:
    """A sample with one piece of its source replaced."""

    name: str
    sample: str
    was: str
    becomes: str
    file: str = "main.mjs"
    kind: str = ""
    areas: tuple[str, ...] = ()
    """The areas of the rules about the fault; empty if the change is permitted."""
    profiles: tuple[str, ...] = PROFILES
    """The profiles by which the sample is judged."""
    also: Sequence[Mapping[str, str]] = ()
    """Other replacements in the same file."""

    @property
    def edits(self) -> list[tuple[str, str]]:
        """Return the texts of the file that are replaced, with their replacements."""
        return [(self.was, self.becomes), *((one["was"], one["becomes"]) for one in self.also)]

    def counts(self) -> list[int]:
        """Return, for each replaced text, how often it occurs in the sample."""
        source = (SAMPLES / self.sample / self.file).read_text("utf-8")
        return [source.count(was) for was, _ in self.edits]

    def adapter(self, folder: Path) -> str:
        """Write the changed sample to a new folder, and return the name of its adapter."""
        place = folder / re.sub(r"[^\w-]+", "-", self.name)
        shutil.copytree(SAMPLES / self.sample, place)
        file = place / self.file
        source = file.read_text("utf-8")
        for was, becomes in self.edits:
            source = source.replace(was, becomes)
        file.write_text(source, "utf-8")
        return _adapter_in(place, self.sample)


def _adapter_in(place: Path, sample: str) -> str:
    """Return the name of the adapter for a copy of a sample, which is compiled if it must be."""
    if sample == "javascript":
        return f"exec:node {place / 'main.mjs'}"
    subprocess.run([PROGRAMS[sample], "build", "-o", "sample"], cwd=place, check=True)
    return f"exec:{place / 'sample'}"


@cache
def planted(file: str) -> tuple[Planted, ...]:
    """Return the entries of `planted.yaml` or `permitted.yaml`."""
    entries = yaml.safe_load((FOLDER / file).read_text("utf-8"))
    lists = [
        {name: tuple(one[name]) for name in ("areas", "profiles") if name in one} for one in entries
    ]
    return tuple(Planted(**{**one, **some}) for one, some in zip(entries, lists, strict=True))


def broken_rules(adapter: str, root: Path, profiles: Sequence[str] = PROFILES) -> list[str]:
    """Return the rules that an implementation breaks, in the order of a run."""
    found: list[str] = []
    for profile in profiles:
        run = Run(Plan.make([adapter], [profile], root=root), adapter, profile)
        try:
            judged = run.judge()
            found += [name for name, one in judged.findings.items() if one.own or one.error]
            found += judged.errors
        finally:
            run.close()
    return found


@contextmanager
def remembered_judgments() -> Iterator[None]:
    """Remember outcomes in this context, so that equal answers to a trial are judged only once."""
    known: dict[tuple[str, int, frozenset[tuple[str, str]]], tuple[Trial, object, Outcome]] = {}
    judge = RuleEvaluator.judge

    def remembering(
        self: RuleEvaluator, rule: str, trial: Trial, answers: Sequence[Json]
    ) -> Outcome:
        if type(self.readings) is not Readings:  # It may record what is consulted.
            return judge(self, rule, trial, answers)
        key = rule, id(trial), frozenset(self.readings.choices.items())
        if key in known and known[key][1] == answers:
            return known[key][2]
        outcome = judge(self, rule, trial, answers)
        known.setdefault(key, (trial, answers, outcome))
        return outcome

    setattr(RuleEvaluator, "judge", remembering)  # noqa: B010
    try:
        yield
    finally:
        setattr(RuleEvaluator, "judge", judge)  # noqa: B010


@cache
def broken_unchanged(sample: str, root: Path, profiles: tuple[str, ...]) -> frozenset[str]:
    """Return the rules that a sample breaks without any change, by documents that it is not for."""
    place = root / f"unchanged-{sample}-{'-'.join(profiles)}"
    shutil.copytree(SAMPLES / sample, place)
    return frozenset(broken_rules(_adapter_in(place, sample), root / "cases", profiles))


def rules_broken_by_change(one: Planted, root: Path) -> list[str]:
    """Return the rules that only the changed sample breaks, in the order of a run."""
    unchanged = broken_unchanged(one.sample, root, one.profiles)
    broken = broken_rules(one.adapter(root), root / "cases", one.profiles)
    return [rule for rule in broken if rule not in unchanged]


def page(found: Mapping[str, Sequence[str]]) -> str:
    """Return the page; `found` has the rules that each entry breaks."""
    lines = ["| fault | kind | sample | found first by |", "| --- | --- | --- | --- |"]
    for one in planted("planted.yaml"):
        first, *_ = found[one.name] or ["nothing"]
        lines.append(f"| {one.name} | {one.kind} | {one.sample} | {first} |")
    permitted = [
        f"* {one.name} ({one.sample}): {', '.join(found[one.name]) or 'not accused'}"
        for one in planted("permitted.yaml")
    ]
    faults = planted("planted.yaml")
    seen = sum(bool(found[one.name]) for one in faults)
    right = sum(
        found[one.name][:1] != [] and found[one.name][0].partition("-")[0] in one.areas
        for one in faults
    )
    counts = f"Of {len(faults)} faults {seen} are found, {right} by a rule of their areas first."
    return "\n".join([INTRODUCTION, counts, "", *lines, "", PERMITTED, *permitted, ""])


def measured_times(count: int) -> dict[str, list[Times]]:
    """Run the command on `count` faults, by the rules of their areas, with each set of options."""
    times: dict[str, list[Times]] = {name: [] for name in OPTIONS}
    with TemporaryDirectory() as folder:
        for number, one in enumerate(spread(planted("planted.yaml"), count)):
            words = ["run", "--adapter", one.adapter(Path(folder))]
            words += [word for area in one.areas for word in ("--rules", f"{area}-*")]
            words += [word for profile in one.profiles for word in ("--judge-by", profile)]
            for place, (name, options) in enumerate(OPTIONS.items()):
                root = Path(folder, f"root-{number}-{place}")
                root.mkdir()
                times[name].append(measure([*words, *options], root))
                print(f"{one.name}, {name}: {times[name][-1]}", flush=True)
    return times


def found_before(file: Path | None) -> dict[str, list[str]]:
    """Return the rules that each entry broke in an interrupted run, by name of the entry."""
    lines = file.read_text("utf-8").splitlines() if file is not None and file.exists() else []
    return {one["name"]: one["broken"] for one in map(json.loads, lines)}


def _judged(entries: Sequence[Planted], file: Path | None) -> dict[str, list[str]]:
    """Return the rules that each entry breaks; entries that `file` has are not judged again."""
    found = found_before(file)
    with TemporaryDirectory() as folder, remembered_judgments():
        for one in entries:
            if one.name in found:
                continue
            found[one.name] = rules_broken_by_change(one, Path(folder))
            print(f"{one.name}: {', '.join(found[one.name]) or 'nothing'}", flush=True)
            if file is not None:
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(f"{json.dumps({'name': one.name, 'broken': found[one.name]})}\n")
    return found


def main(words: Sequence[str] | None = None) -> int:
    """Judge all entries, or measure CPU times, and write the page.

    Return 1 if a fault is missed or a variation fails.
    """
    parser = argparse.ArgumentParser(prog="python -m mutants.planted", description=__doc__)
    parser.add_argument(
        "--found", type=Path, metavar="FILE", help="add results to FILE; skip those that it has"
    )
    parser.add_argument("--cpu", type=int, metavar="N", help="measure the CPU time of N faults")
    args = parser.parse_args(words)
    if args.cpu:
        text = section(measured_times(args.cpu))
        print(text)
        PAGE.write_text(with_section(PAGE.read_text("utf-8"), text), "utf-8")
        return 0
    faults, permitted = planted("planted.yaml"), planted("permitted.yaml")
    found = _judged([*faults, *permitted], args.found)
    PAGE.write_text(with_section(page(found), section_of(PAGE)), "utf-8")
    missed = [one.name for one in faults if not found[one.name]]
    accused = [one.name for one in permitted if found[one.name]]
    return int(bool(missed or accused))


if __name__ == "__main__":
    sys.exit(main())
