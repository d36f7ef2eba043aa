"""The pytest plug-in: collects a test item for each rule of `specs/rules/*.yaml`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pulsar_conformance import specs
from pulsar_conformance.conformance.common.events import Verdict
from pulsar_conformance.conformance.engine.plan import (
    CAMPAIGN_FILE_OPTION,
    BadPlan,
    add_options,
    option_attribute,
    plan_of,
    rules_folder,
)
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.conformance.reporters import Progress, allure_results
from pulsar_conformance.conformance.reporters.terminal import (
    IMPLEMENTATION,
    NOTES,
    UNCHOSEN,
    VERDICT,
    Reporter,
    format_failure,
    implementation_entry,
)
from pulsar_conformance.conformance.session import Session, rules_reached
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import printable

SESSION = pytest.StashKey["Session"]()
ENDED_EARLY = pytest.StashKey[bool]()
"""Set if the session ended early because no implementation could be started and loaded."""

NOTHING_MORE = -2
"""Value of pytest's verbosity with which it prints no counts."""

LETTERS = {
    "pass": (".", "PASS"),
    "not_applicable": ("-", "NOT APPLICABLE"),
    "unexercised": ("u", "UNEXERCISED"),
    "undecided": ("?", "UNDECIDED"),
    "known_deviation": ("k", "KNOWN DEVIATION"),
    "unexpected_pass": ("X", "UNEXPECTED PASS"),
    "fail": ("F", "FAIL"),
    "error": ("E", "ERROR"),
}


class Violation(AssertionError):
    """Raised for a verdict that fails the run; the text is formatted for users."""


class Unusable(Exception):
    """Raised if an implementation could not be judged; the text is formatted for users."""


class RuleFile(pytest.File):
    """A file with the rules of one area."""

    def collect(self) -> Iterator[RuleItem]:
        """Yield an item for each rule of this file, implementation and profile.

        In a replay, rules that do not apply to the case get no item.
        """
        session = self.config.stash[SESSION]
        for run in session.runs.values():
            rules = [rule for rule in run.rules if rule.area == self.path.stem.upper()]
            for rule in rules_reached(run, rules) if session.plan.replay else rules:
                name = f"{rule.id}[{run.adapter} {run.profile}]"
                yield RuleItem.from_parent(self, name=name, run=run, rule=rule)


class RuleItem(pytest.Item):
    """One rule applied to one implementation."""

    def __init__(self, *, run: Run, rule: specs.Rule, **given: Any) -> None:
        super().__init__(**given)
        self.run = run
        self.rule = rule
        self.explain: Callable[[], None] | None = None
        allure_results.label_result(self, rule, run.profile)

    def runtest(self) -> None:
        """Judge the rule, add the verdict to the test report, and raise or skip accordingly."""
        session = self.config.stash[SESSION]
        verdict = session.verdict(self.run, self.rule)
        self.user_properties.append((VERDICT, verdict.as_json()))
        self.user_properties.append((IMPLEMENTATION, implementation_entry(self.run)))
        self.user_properties.append((NOTES, self.run.notes))
        self.user_properties.append((UNCHOSEN, self.run.unchosen_faults))
        text = format_failure(self.rule, verdict, self.run.name) if verdict.failure else None
        name, enough = self.run.name, session.plan.draws_enough
        allure_results.attach_verdict(self, session.plan, self.rule, verdict, name, text)
        self.explain = partial(allure_results.set_message, self, verdict, name, text)
        if verdict.verdict == "known_deviation":
            pytest.xfail(f"known deviation: {verdict.why}")
        if verdict.verdict == "not_applicable":
            pytest.skip(f"not applicable: {verdict.why}")
        if verdict.verdict == "unexercised" and not enough:
            pytest.skip(f"unexercised: {verdict.why}")
        if verdict.verdict == "error":
            raise Unusable(printable(verdict.why))
        if verdict.exit_status(enough):
            word = verdict.verdict.replace("_", " ")
            raise Violation(text or f"{self.rule.id} {word}: {printable(verdict.why)}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> str:
        """Return the text of a failure; for an error in the suite itself, its traceback."""
        if isinstance(excinfo.value, Violation | Unusable):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the rule's file and line."""
        return self.path, self.rule.line - 1, f"{self.rule.id} {self.rule.title}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of a run."""
    group = parser.getgroup("conformance", "conformance of load balancers")
    add_options(group.addoption)
    group.addoption(
        CAMPAIGN_FILE_OPTION,
        dest=option_attribute(CAMPAIGN_FILE_OPTION),
        help="results of a campaign",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the plan; mistakes in it are reported as usage errors."""
    try:
        plan = plan_of(config.option)
    except BadPlan as error:
        raise pytest.UsageError(str(error)) from None
    worker = hasattr(config, "workerinput")
    alone = not worker and not getattr(config.option, "numprocesses", None)
    progress = Progress(alone and sys.stderr.isatty())
    session = config.stash[SESSION] = Session(plan, progress.notify, alone)
    if plan.fail_fast:
        config.option.maxfail = 1
    if not worker:
        config.pluginmanager.register(Reporter(config, session), "conformance-reporter")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close all connections."""
    if SESSION in config.stash:
        config.stash[SESSION].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RuleFile | None:
    """Collect the suite's own rule files."""
    if file_path.suffix == ".yaml" and file_path.parent == rules_folder():
        # Allure identifies tests by this name, so it must not depend on where the suite is
        # installed.
        return RuleFile.from_parent(parent, path=file_path, nodeid=f"rules/{file_path.name}")
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort items by implementation, then in rule order."""
    runs, rules = list(config.stash[SESSION].runs.values()), list(specs.load().rules)

    def sort_key(item: pytest.Item) -> tuple[int, int]:
        if not isinstance(item, RuleItem):
            return -1, 0
        return runs.index(item.run), rules.index(item.rule.id)

    items.sort(key=sort_key)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """If no implementation can be started and loaded, print why and judge nothing."""
    config = session.config
    if config.option.collectonly or not session.items:
        return None
    load_errors = config.stash[SESSION].load_errors()
    for why in load_errors:
        print_note(why)
    if not load_errors:
        if config.stash[SESSION].plan.fail_fast:
            _keep_only_broken(session)
        return None
    config.stash[ENDED_EARLY] = True
    config.option.verbose = NOTHING_MORE
    return True


def _keep_only_broken(session: pytest.Session) -> None:
    """Keep only the item of a rule that few cases show to be broken, if there is one."""
    items = [item for item in session.items if isinstance(item, RuleItem)]
    broken = session.config.stash[SESSION].first_broken()
    if broken is not None:
        run, rule = broken
        [item] = [
            one
            for one in items
            if (one.run.adapter, one.run.profile, one.rule) == (run.adapter, run.profile, rule)
        ]
        item.run, session.items[:] = run, [item]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Set the exit status of a session that ended early because nothing could be loaded."""
    if ENDED_EARLY in session.config.stash:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Distribute whole runs over the workers, not single rules."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it has none

    class WholeRunScheduling(LoadScopeScheduling):  # type: ignore[misc]
        """Assigns all rules of a run to one worker, because they share cases."""

        def _split_scope(self, nodeid: str) -> str:
            return nodeid.rpartition("[")[2]

    return WholeRunScheduling(config, log)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, None, None]:
    """Add the verdict to the Allure result as soon as it exists."""
    yield
    if call.when == "call" and isinstance(item, RuleItem) and item.explain:
        item.explain()


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Return the letter and the word for a verdict in pytest's output."""
    found: Any = dict(getattr(report, "user_properties", ())).get(VERDICT)
    if report.when != "call" or found is None:
        return None
    verdict = Verdict.from_json(found)
    letter, word = ("w", "WARNING") if verdict.warns else LETTERS[verdict.verdict]
    if verdict.verdict in ("pass", "fail"):
        return report.outcome, letter, word
    return verdict.verdict.replace("_", " "), letter, word
