"""The pytest plug-in: each rule of `specs/rules/*.yaml` is an item, a run of it a verdict."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance import allure_results, stream
from pulsar_conformance.conformance.aside import at_once
from pulsar_conformance.conformance.deviations import of_others
from pulsar_conformance.conformance.options import add_options, destination, plan_of
from pulsar_conformance.conformance.plan import BadPlan, Plan
from pulsar_conformance.conformance.progress import Progress
from pulsar_conformance.conformance.replay import reached, said_of_none
from pulsar_conformance.conformance.run import Run
from pulsar_conformance.conformance.telling import told
from pulsar_conformance.conformance.verdict import Verdict
from pulsar_conformance.reports import table
from pulsar_conformance.specs.words import counted

SUITE = pytest.StashKey["Suite"]()
ASKED_AT_ONCE = 2
"""Implementations, while others are judged."""
VERDICT = "verdict"
IMPLEMENTATION = "implementation"
NOTES = "notes"
ENDED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""How a session ends that was not broken off."""
LETTERS = {
    "pass": (".", "PASS"),
    "not_applicable": ("-", "NOT APPLICABLE"),
    "unexercised": ("u", "UNEXERCISED"),
    "known_deviation": ("k", "KNOWN DEVIATION"),
    "unexpected_pass": ("X", "UNEXPECTED PASS"),
    "fail": ("F", "FAIL"),
    "error": ("E", "ERROR"),
}


class Violation(AssertionError):
    """A verdict against an implementation, as text for people."""


class Unusable(Exception):
    """An implementation that could not be judged, as text for people."""


class Suite:
    """The runs of a session, one an implementation and profile."""

    def __init__(self, plan: Plan, alone: bool, show: bool) -> None:
        self.plan = plan
        self.alone = alone
        self.prepared = False
        self.progress = Progress(show)
        self.aside = ThreadPoolExecutor(ASKED_AT_ONCE, "asking")
        asking = self.aside.submit if alone else at_once
        self.runs = {
            (adapter, profile): Run(plan, adapter, profile, self.progress.tell, asking)
            for adapter in plan.adapters
            for profile in plan.profiles
        }

    def rules(self, profile: str) -> tuple[specs.Rule, ...]:
        """The rules to judge by a profile."""
        plan = self.plan
        return plan.replayable(profile) if plan.replay else plan.rules_of(profile)

    def judged(self, run: Run, area: str) -> tuple[specs.Rule, ...]:
        """The rules of an area to judge a run by; of a replayed case, those that it reaches."""
        rules = tuple(rule for rule in self.rules(run.profile) if rule.area == area)
        return reached(run, rules) if self.plan.replay else rules

    def verdict(self, run: Run, rule: specs.Rule) -> Verdict:
        """The verdict; in a process of its own, everything is asked aside from the beginning."""
        if self.alone and not self.prepared:
            self._prepare()
        try:
            return run.verdict(rule)
        finally:
            self.progress.clear()

    def _prepare(self) -> None:
        """Nothing is asked aside before everything is drawn: Hypothesis is to be alone."""
        self.prepared = True
        runs = list(self.runs.values())
        for run in runs:
            with suppress(AdapterError):  # each rule's verdict says so
                run.draw(self.rules(run.profile))
        for run in sorted(runs, key=lambda run: run.in_process):
            run.ask()

    def close(self) -> None:
        """Ends every connection."""
        self.aside.shutdown(wait=False, cancel_futures=True)
        for run in self.runs.values():
            run.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One implementation after the other, by rules in the order in which they are asked about."""
    runs, rules = list(config.stash[SUITE].runs.values()), list(specs.load().rules)

    def turn(item: pytest.Item) -> tuple[int, int]:
        if not isinstance(item, RuleItem):
            return -1, 0
        return runs.index(item.run), rules.index(item.rule.id)

    items.sort(key=turn)


class RuleFile(pytest.File):
    """A file of rules, an area."""

    def collect(self) -> Iterator[RuleItem]:
        """An item for each rule, implementation and profile."""
        suite = self.config.stash[SUITE]
        area = self.path.stem.upper()
        for run in suite.runs.values():
            for rule in suite.judged(run, area):
                name = f"{rule.id}[{run.adapter} {run.profile}]"
                yield RuleItem.from_parent(self, name=name, run=run, rule=rule)


class RuleItem(pytest.Item):
    """One rule, to be judged on one implementation."""

    def __init__(self, *, run: Run, rule: specs.Rule, **given: Any) -> None:
        super().__init__(**given)
        self.run = run
        self.rule = rule
        self.explain: Callable[[], None] | None = None
        allure_results.mark(self, rule, run.profile)

    def runtest(self) -> None:
        """Judges; the verdict travels with the report, also from another worker."""
        suite = self.config.stash[SUITE]
        verdict = suite.verdict(self.run, self.rule)
        self.user_properties.append((VERDICT, verdict.as_json()))
        self.user_properties.append((IMPLEMENTATION, implementation(self.run)))
        self.user_properties.append((NOTES, self.run.notes))
        text = told(self.rule, verdict, self.run.name)
        name = self.run.name
        allure_results.attach(self, suite.plan, self.rule, verdict, name, text)
        self.explain = partial(allure_results.explain, self, self.rule, verdict, name, text)
        if verdict.verdict == "known_deviation":
            pytest.xfail(f"known deviation: {verdict.why}")
        if verdict.verdict == "not_applicable":
            pytest.skip(f"not applicable: {verdict.why}")
        if verdict.verdict == "unexercised" and not suite.plan.enough:
            pytest.skip(f"unexercised: {verdict.why}")
        if verdict.verdict == "error":
            raise Unusable(verdict.why)
        if verdict.exit_status(suite.plan.enough):
            word = verdict.verdict.replace("_", " ")
            raise Violation(text if verdict.failure else f"{self.rule.id} {word}: {verdict.why}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> str:
        """The failure text alone; a mistake of the suite's own keeps its traceback."""
        if isinstance(excinfo.value, Violation | Unusable):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the rule stands."""
        return self.path, self.rule.line - 1, f"{self.rule.id} {self.rule.title}"


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, None, None]:
    """Has the Allure result, once there is one, say what the verdict is."""
    yield
    if call.when == "call" and isinstance(item, RuleItem) and item.explain:
        item.explain()


def implementation(run: Run) -> dict[str, Any]:
    """What the first line of the stream says of a run."""
    try:
        found = run.respondent
    except AdapterError:
        return {
            "adapter": run.adapter,
            "profile": run.profile,
            "name": run.adapter,
            "readings": {},
            "neutral": {},
        }
    return {
        "adapter": run.adapter,
        "profile": run.profile,
        "name": found.name,
        "readings": dict(found.readings.choices),
        "neutral": dict(found.hello.neutral),
    }


class Reporter:
    """Gathers the verdicts, whichever worker made them, and writes the run's products."""

    def __init__(self, config: pytest.Config, plan: Plan) -> None:
        self.config = config
        self.plan = plan
        self.found: dict[tuple[str, str, str], Verdict] = {}
        self.crashes: list[str] = []
        """Tracebacks of the suite's own mistakes: a rule that they hit has no verdict."""
        self.implementations: dict[tuple[str, str], dict[str, Any]] = {}
        self.notes: dict[tuple[str, str, Any], list[str]] = {}
        """What each implementation told last of how it worked, in each worker."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps the verdict of a report, or the crash that left none."""
        properties = dict(report.user_properties)
        if VERDICT not in properties:
            if report.failed:
                self.crashes.append(f"{report.nodeid}: the suite broke\n{report.longreprtext}")
            return
        if report.when != "call":
            return
        verdict = Verdict.from_json(json.loads(json.dumps(properties[VERDICT])))
        self.found[verdict.implementation, verdict.profile, verdict.rule] = verdict
        told_of: Any = properties[IMPLEMENTATION]
        self.implementations[verdict.implementation, verdict.profile] = told_of
        notes: Any = properties[NOTES]
        worker = getattr(report, "node", None)
        self.notes[verdict.implementation, verdict.profile, worker] = notes

    @property
    def verdicts(self) -> list[Verdict]:
        """Every verdict, in the order of implementations, profiles and rules."""
        rules = list(specs.load().rules)
        plan = self.plan

        def place(verdict: Verdict) -> tuple[int, int, int]:
            return (
                plan.adapters.index(verdict.implementation),
                plan.profiles.index(verdict.profile),
                rules.index(verdict.rule),
            )

        return sorted(self.found.values(), key=place)

    @property
    def first_line(self) -> dict[str, Any]:
        """What was run."""
        order = product(self.plan.adapters, self.plan.profiles)
        known = [self.implementations[pair] for pair in order if pair in self.implementations]
        return stream.first_line(self.plan, known)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the stream, and makes the exit status of the verdicts."""
        if self.crashes:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        replayed = self.plan.replay is not None and session.exitstatus in ENDED
        if not self.found and not replayed:
            return
        stream.write(self._directory, self.first_line, self.verdicts)
        if session.exitstatus in ENDED:
            session.exitstatus = max(
                (verdict.exit_status(self.plan.enough) for verdict in self.verdicts), default=0
            )

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int
    ) -> None:
        """What failed, the table of areas and verdicts, and where the products are."""
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            stopped = f"stopped before its end, after {counted(len(self.found), 'verdict')}"
            terminalreporter.write_line(f"\n{stopped}; run it again for all of them")
        for text in (*self.crashes, *self._failures()):
            terminalreporter.write_line(f"\n{text}")
        for text in self._unreached():
            terminalreporter.write_line(text)
        if not self.found:
            return
        lines = [self.first_line, *(verdict.as_json() for verdict in self.verdicts)]
        for line in ("", *table.lines(lines)):
            terminalreporter.write_line(line)
        for line in (*self._told(), *of_others(self.plan.deviations, self._names)):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"verdicts: {self._directory / stream.FILE}")

    def _unreached(self) -> Iterator[str]:
        """What is to be said where a replayed case reaches no rule."""
        suite = self.config.stash[SUITE]
        for pair, run in suite.runs.items():
            if self.plan.replay and pair not in self.implementations:
                yield said_of_none(run, suite.rules(run.profile))

    @property
    def _names(self) -> set[str]:
        """What an implementation may be called: its adapter, its name, and that with a version."""
        runs = self.implementations.values()
        names = {name for run in runs for name in (run["adapter"], run["name"])}
        return names | {name.rpartition(" ")[0] for name in names}

    def _told(self) -> Iterator[str]:
        """How the implementations worked, in the order in which they were named."""
        for pair in product(self.plan.adapters, self.plan.profiles):
            for (adapter, profile, _worker), lines in self.notes.items():
                if (adapter, profile) == pair:
                    yield from lines

    def _failures(self) -> Iterator[str]:
        """The text of every failure that is not known, and of every different error once."""
        rules, errors = specs.load().rules, set()
        for verdict in self.verdicts:
            run = self.implementations[verdict.implementation, verdict.profile]
            if verdict.failure is not None and verdict.verdict != "known_deviation":
                yield told(rules[verdict.rule], verdict, run["name"])
            if verdict.verdict == "error" and verdict.why not in errors:
                errors.add(verdict.why)
                yield verdict.why

    @property
    def _directory(self) -> Path:
        return Path(getattr(self.config.option, destination("--out")))


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a run."""
    add_options(parser.getgroup("conformance", "conformance of load balancers").addoption)


def pytest_configure(config: pytest.Config) -> None:
    """Makes the plan; a mistake in it is a usage error."""
    try:
        plan = plan_of(config.option)
    except BadPlan as wrong:
        raise pytest.UsageError(str(wrong)) from None
    worker = hasattr(config, "workerinput")
    alone = not worker and not getattr(config.option, "numprocesses", None)
    config.stash[SUITE] = Suite(plan, alone, show=alone and sys.stderr.isatty())
    if not worker:
        config.pluginmanager.register(Reporter(config, plan), "conformance-reporter")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends every connection."""
    if SUITE in config.stash:
        config.stash[SUITE].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RuleFile | None:
    """Rules are collected from the suite's own specifications."""
    if file_path.suffix == ".yaml" and file_path.parent == rules_folder():
        # The same name wherever the suite is installed and called from: Allure goes by it.
        return RuleFile.from_parent(parent, path=file_path, nodeid=f"rules/{file_path.name}")
    return None


def rules_folder() -> Path:
    """Where the rules lie that are in force."""
    return Path(specs.__file__).parent / "rules"


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """A letter for each verdict."""
    found: Any = dict(getattr(report, "user_properties", ())).get(VERDICT)
    if report.when != "call" or found is None:
        return None
    verdict = Verdict.from_json(found)
    letter, word = ("w", "WARNING") if verdict.warns else LETTERS[verdict.verdict]
    said = verdict.verdict.replace("_", " ")
    return {"passed": "passed", "failed": "failed"}.get(report.outcome, said), letter, word
