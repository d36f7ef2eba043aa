"""Asks the cases of a campaign in parts, in this process or in Spark tasks, and merges the results.

A part is a section of a bounded world, or a number of cases drawn with the part's own seed. The
result of a part depends on no other part, so parts can run anywhere and in any order.
"""

from __future__ import annotations

import gc
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.adapters.workers import results_here, results_of_processes
from pulsar_conformance.conformance.campaign.worlds import BoundedWorld, bounded_worlds
from pulsar_conformance.conformance.cases.saved import Campaign, SearchResult
from pulsar_conformance.conformance.catalogue import checks
from pulsar_conformance.conformance.common import collecting_rarely
from pulsar_conformance.conformance.common.trial import Json, KnownAnswers, Trial
from pulsar_conformance.conformance.engine import draw, outcomes
from pulsar_conformance.conformance.engine.evaluate import Outcome
from pulsar_conformance.conformance.engine.implementation import Implementation, connect_for_plan
from pulsar_conformance.conformance.engine.judge import (
    AppliedRule,
    JudgedImplementation,
    JudgedModel,
)
from pulsar_conformance.conformance.engine.outcomes import agrees_with_model
from pulsar_conformance.conformance.engine.plan import BadPlan, Plan
from pulsar_conformance.conformance.engine.readings import ResolvedReadings, before_asking
from pulsar_conformance.conformance.engine.run import Run

PART = 1000
"""Number of cases that a part of a campaign draws for each rule."""

SECTION = 10_000
"""Maximum number of cases in a part of a bounded world."""

LAST_SECTION = 1_250
"""Minimum number of cases in a part. The last parts are small, so that no core waits long."""

REST_SHARE = 4
"""Divisor: a part has at most 1 / `REST_SHARE` of the cases that are not yet in any part."""

MANY_PARTS = 8
"""Minimum number of parts of bounded worlds for which several processes are used."""

MAX_KEPT = 8
"""Maximum number of violating cases of each rule that a campaign passes to the run."""

MAX_FAULTS = 3
"""Maximum number of violating cases of each rule that a part returns."""

SEED_STEP = 2**32
"""Difference between the seeds of consecutive parts."""

EXAMPLES = 5
"""Number of cases drawn for each rule before a search, to find out which readings are followed.
Five are enough, because aimed trials decide most readings: 20 cases lead to the same readings for
the sample implementations, but take 6.4 s of CPU time instead of 2.8.
"""

Results = dict[tuple[str, str, str], SearchResult]
"""Results of a search by adapter, profile and rule."""


@dataclass(frozen=True)
class Part:
    """A part of a campaign: the cases from `start` up to, but not including, `stop`."""

    profile: str
    world: str
    """Name of the bounded world that has the cases; empty if the cases are drawn."""
    start: int
    stop: int

    @property
    def text(self) -> str:
        """The part as JSON. Its result is stored under this text."""
        return json.dumps([self.profile, self.world, self.start, self.stop])


def worlds_matching(patterns: Sequence[str], plan: Plan) -> list[BoundedWorld]:
    """Return the bounded worlds that match a pattern and have cases for a selected rule.

    Errors: `BadPlan`.
    """
    worlds = bounded_worlds()
    for pattern in patterns:
        if not any(fnmatchcase(one.name, pattern) for one in worlds):
            names = ", ".join(one.name for one in worlds)
            raise BadPlan(f"--exhaustive {pattern}: there is no such world; choose from {names}")
    asked = {
        name for one in plan.profiles for rule in plan.rules_of(one) for name in rule.operations
    }
    known = [one for one in worlds if one.operation in asked]
    found = [one for one in known if any(fnmatchcase(one.name, each) for each in patterns)]
    if not found:
        given = ", ".join(patterns)
        raise BadPlan(
            f"--exhaustive {given}: none of the selected rules judges cases of these worlds"
        )
    return found


def parts_of(plan: Plan, worlds: Sequence[BoundedWorld], campaign: int) -> list[Part]:
    """Return the parts of the bounded worlds or, without worlds, of `campaign` cases per rule."""
    sections = list(_sections(worlds)) or [
        ("", start, min(start + PART, campaign)) for start in range(0, campaign, PART)
    ]
    return [Part(profile, *one) for profile in plan.profiles for one in sections]


def _sections(worlds: Sequence[BoundedWorld]) -> Iterator[tuple[str, int, int]]:
    """Yield sections of worlds; the last ones are small, so that all cores finish together."""
    rest = sum(one.size for one in worlds)
    for world in worlds:
        start = 0
        while start < world.size:
            step = min(SECTION, max(LAST_SECTION, rest // REST_SHARE), world.size - start)
            yield world.name, start, start + step
            start, rest = start + step, rest - step


Choices = Mapping[tuple[str, str], Mapping[str, str]]
"""The alternative of each reading, by adapter and profile."""


def readings_of(plan: Plan) -> dict[tuple[str, str], dict[str, str]]:
    """Return the readings by which each implementation is judged; a short run finds unknown ones.

    Implementations that cannot be reached are omitted; the run reports the error.
    """
    found = {}
    for adapter in plan.adapters:
        for profile in plan.profiles:
            run = Run(replace(plan, examples=min(plan.examples, EXAMPLES)), adapter, profile)
            try:
                known = before_asking(run.implementation)
                found[adapter, profile] = dict(
                    (known if not known.open else run.readings).chosen.choices
                )
            except AdapterError:
                continue
            finally:
                run.close()
    return found


class Connections:
    """The implementations of a plan, each connected when it is first needed."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._open: dict[tuple[str, str], Implementation] = {}

    def implementation(self, adapter: str, profile: str) -> Implementation:
        """Return an implementation. Errors: `AdapterError` if it cannot be reached."""
        key = adapter, profile
        if key not in self._open:
            self._open[key] = connect_for_plan(self._plan, adapter, profile)
        return self._open[key]

    def close(self) -> None:
        """Disconnect from all connected implementations."""
        for one in self._open.values():
            one.close()
        self._open.clear()


def search_part(
    plan: Plan, readings: Choices, text: str, connected: Connections | None = None
) -> str:
    """Ask the cases of a part, and return the results as JSON. Errors: `AdapterError`.

    Without `connected`, the implementations are started for this part alone.
    """
    if connected is None:
        with closing(Connections(plan)) as alone, collecting_rarely():
            return search_part(plan, readings, text, alone)
    part = Part(*json.loads(text))
    followed = {
        one: choices for (one, profile), choices in readings.items() if profile == part.profile
    }
    if part.world:
        found = _search_world(plan, part, followed, connected)
    else:
        found = _search_drawn(plan, part, followed)
        gc.collect()  # Otherwise, each part would leave 60 MB of garbage.
    return json.dumps(Campaign({}, found).as_json()["found"])


def _search_drawn(plan: Plan, part: Part, readings: Mapping[str, Mapping[str, str]]) -> Results:
    """Draw, ask and judge cases as a run does, but with the part's own seed."""
    number, known = part.start // PART, KnownAnswers[Outcome]()
    found: Results = {}
    for adapter, choices in readings.items():
        seeded = replace(
            plan,
            seed=plan.seed + number * SEED_STEP,
            examples=part.stop - part.start,
            readings=choices,
            saved=(),
            known=known,
        )
        run = Run(seeded, adapter, part.profile)
        try:
            judged = run.judge()
        finally:
            run.close()
        for error in judged.errors.values():
            raise error
        for rule, one in judged.findings.items():
            own = [trial for (trial, _) in one.answered if trial.origin in ("drawn", "edited")]
            faults = tuple(fault.trial for fault in one.own)
            found[adapter, part.profile, rule] = SearchResult(
                len(own), one.reached - len(faults[:MAX_FAULTS]), faults[:MAX_FAULTS]
            )
    draw.forget_drawn_trials()  # No other part uses these cases.
    outcomes.model_and_answers.cache_clear()
    return found


def _search_world(
    plan: Plan, part: Part, readings: Mapping[str, Mapping[str, str]], connected: Connections
) -> Results:
    """Ask every implementation all cases of a part, and judge the answers.

    An answer is judged by all rules only if it differs from the model's answer. The model's answers
    are judged once for all implementations that follow the same readings.
    """
    world = next(one for one in bounded_worlds() if one.name == part.world)
    trials = list(world.trials(part.start, part.stop))
    found: Results = {}
    models: list[JudgedModel] = []
    for adapter, choices in readings.items():
        implementation = connected.implementation(adapter, part.profile)
        domains = {name: (value,) for name, value in choices.items()}
        judged = JudgedImplementation.of(implementation, ResolvedReadings(part.profile, domains))
        rules = [
            rule
            for rule in plan.rules_of(part.profile)
            if rule.id in checks() and world.operation in rule.operations
            if judged.inapplicable(rule) is None
        ]
        if not rules:
            continue
        answers = implementation.answers(trials)
        model = next((one for one in models if one.holds_for(judged)), None)
        if model is None:
            alone = implementation.is_model and len(readings) == 1
            model = JudgedModel(trials, judged, answers if alone else ())
            models.append(model)
        results = _judged_by_rule(trials, answers, judged, rules, model)
        found |= {(adapter, part.profile, rule): one for rule, one in results.items()}
    return found


def _judged_by_rule(
    trials: Sequence[Trial],
    answers: Sequence[Sequence[Json]],
    judged: JudgedImplementation,
    rules: Sequence[specs.Rule],
    model: JudgedModel,
) -> dict[str, SearchResult]:
    """Return each rule's results; an answer equal to the model's is judged like the model's."""
    columns = [[*words] for words in model.words(judged, rules)]
    applied = [AppliedRule(rule, judged) for rule in rules]
    for place, (got, right) in enumerate(zip(answers, model.answers, strict=True)):
        if right is None or not all(map(agrees_with_model, got, right)):
            for words, one in zip(columns, applied, strict=True):
                words[place] = one.outcome_word(trials[place], got)
        elif any("unsupported" in one for one in got):
            for words in columns:
                words[place] = "unsupported"
    return {rule.id: _searched(trials, words) for rule, words in zip(rules, columns, strict=True)}


def _searched(trials: Sequence[Trial], words: Sequence[str]) -> SearchResult:
    """Count the trials by verdict; `words` has the verdict on each trial, such as `violated`."""
    counts = Counter(words)
    violated = (trial for trial, word in zip(trials, words, strict=True) if word == "violated")
    faults = tuple(islice(violated, min(counts["violated"], MAX_FAULTS)))
    reached = counts["allowed"] + counts["violated"] - len(faults)
    return SearchResult(len(trials), reached, faults)


def empty_results(plan: Plan, worlds: Sequence[BoundedWorld]) -> Results:
    """Return empty results for rules about the worlds' operations (without worlds: all rules)."""
    asked = {one.operation for one in worlds}
    return {
        (adapter, profile, rule.id): SearchResult()
        for adapter in plan.adapters
        for profile in plan.profiles
        for rule in plan.rules_of(profile)
        if not worlds or asked & {*rule.operations}
    }


def merge_parts(parts: Iterable[Results]) -> Results:
    """Merge the results of parts, in order; keep the first violating cases of each rule."""
    found: Results = {}
    for part in parts:
        for key, one in part.items():
            before = found.get(key, SearchResult())
            faults = (*before.faults, *one.faults)
            found[key] = SearchResult(
                before.drawn + one.drawn,
                before.reached + one.reached + len(faults[MAX_KEPT:]),
                faults[:MAX_KEPT],
            )
    return found


class StoredParts:
    """Results of completed parts: a folder for the search, with one file per part."""

    def __init__(self, folder: Path, plan: Plan, readings: Choices, *, resume: bool) -> None:
        listed = [[*key, dict(choices)] for key, choices in readings.items()]
        rules = [rule.id for profile in plan.profiles for rule in plan.rules_of(profile)]
        about = json.dumps([plan.adapters, listed, rules, plan.seed])
        self.folder = folder / sha256(about.encode()).hexdigest()[:12]
        if not resume:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    def file(self, part: Part) -> Path:
        """Return the file for a part's result."""
        return self.folder / f"{sha256(part.text.encode()).hexdigest()[:16]}.json"

    def store(self, part: Part, result: str) -> None:
        """Store a part's result."""
        file = self.file(part)
        partial_file = file.with_suffix(".partial")
        partial_file.write_text(result, "utf-8")
        partial_file.replace(file)

    def results(self, parts: Sequence[Part]) -> Iterator[Results]:
        """Yield the results of parts, in order."""
        for part in parts:
            data = json.loads(self.file(part).read_text("utf-8"))
            yield dict(Campaign.from_json({"about": {}, "found": data}).found)


RunParts = Callable[[Callable[[str], str], Sequence[str]], Iterable[tuple[str, str]]]
"""Function that applies a function to strings and yields (string, result) pairs in any order."""


@contextmanager
def connected_search(plan: Plan, readings: Choices) -> Iterator[Callable[[str], str]]:
    """Yield a function that asks a part's cases. Implementations stay connected until the end."""
    with closing(Connections(plan)) as connected, collecting_rarely():
        yield partial(search_part, plan, readings, connected=connected)


def _uses_processes(plan: Plan, parts: Mapping[str, Part]) -> bool:
    """True if parts run in several processes. Only one process can start a cluster."""
    few = len(parts) < MANY_PARTS or not all(one.world for one in parts.values())
    return not few and not any(one.startswith("cluster:") for one in plan.adapters)


def search(
    plan: Plan,
    parts: Sequence[Part],
    readings: Choices,
    stored: StoredParts,
    run_parts: RunParts | None = None,
    report: Callable[[int], object] = lambda _count: None,
) -> Results:
    """Run the parts that have no stored result yet; return the results of all parts.

    `run_parts` runs them elsewhere; by default, they run in this process, or in two processes if
    there are many. `report` is called with the number of completed parts. Errors: `AdapterError`.
    """
    open_parts = {part.text: part for part in parts if not stored.file(part).exists()}
    done = len(parts) - len(open_parts)
    report(done)
    asked = replace(plan, saved=(), known=KnownAnswers())  # Every task gets a copy of the plan.
    begin = partial(connected_search, asked, readings)
    if run_parts:
        results = run_parts(partial(search_part, asked, readings), list(open_parts))
    elif _uses_processes(plan, open_parts):
        results = results_of_processes(begin, list(open_parts))
    else:
        results = results_here(begin, list(open_parts))
    for text, result in results:
        stored.store(open_parts[text], result)
        done += 1
        report(done)
    return merge_parts(stored.results(parts))
