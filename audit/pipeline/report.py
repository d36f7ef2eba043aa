"""An audit from its input to what is told of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.protocol import text_of
from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.adapters.spark.session import apart, last_cause
from pulsar_conformance.audit.input import files
from pulsar_conformance.audit.input.errors import AuditError
from pulsar_conformance.audit.input.paths import as_given, literal
from pulsar_conformance.audit.input.sources import NEVER
from pulsar_conformance.audit.page import making
from pulsar_conformance.audit.pipeline import asked, sizes, summary, telling
from pulsar_conformance.audit.pipeline.inquiry import Inquiry, answer
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.reading import source
from pulsar_conformance.audit.pipeline.running import BEGUN, make
from pulsar_conformance.audit.pipeline.steps import steps
from pulsar_conformance.audit.pipeline.workers import workers
from pulsar_conformance.audit.pipeline.writing import ASKED, Store
from pulsar_conformance.audit.tables.gold import SESSION
from pulsar_conformance.audit.verdicts import casefiles
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

SHOWN = 3
"""Faults of a rule that are told with their evidence."""


@dataclass(frozen=True)
class ReportOptions:
    """How an audit is told: so many case files of a rule, and each table as it is there or not.

    The page is read again by its browser every `refresh` seconds, if that is not 0.
    """

    cases: int = 10
    quiet: bool = False
    refresh: int = 0


@dataclass(frozen=True)
class Counterfactual:
    """What settings, and which strategy, are asked about in place of those that were recorded."""

    settings: dict[str, Any]
    strategy: str | None

    def over(self, plan: AuditPlan) -> AuditPlan | None:
        """A plan with these; None where nothing is asked."""
        if not self.settings and not self.strategy:
            return None
        return replace(
            plan,
            settings={
                name: value if isinstance(value, str) else text_of(value)
                for name, value in self.settings.items()
            },
            strategy=self.strategy,
        )


def check_rules(plan: AuditPlan) -> None:
    """Errors: `AuditError` where no rule of the profile is about what was unloaded."""
    if rules_of(plan):
        return
    every = [name for name in specs.load().profiles if rules_of(AuditPlan.of(name))]
    problem = f"no rule of it is about what was unloaded; there are {', '.join(every)}"
    raise AuditError(f"--judge-by {plan.profile}: {problem}")


def tables(
    spark: Any,
    path: str,
    output: str,
    plan: AuditPlan,
    other: AuditPlan | None,
    *,
    quiet: bool = False,
) -> dict[str, DataFrame]:
    """Every table of the audit of a history, made where it is not there. Errors: `AuditError`."""
    path = as_given(path)
    found = _found(spark, path)
    store = Store(spark, output.rstrip("/"), sizes.in_one(found.length))
    _usable(store)
    every = list(steps(source(store, path, found), plan, other))

    with sizes.tasks_at_once(spark) as tasks:

        def set_up(of: Store, table: str, in_part: bool) -> None:
            length = min(found.length, sizes.DAILY) if in_part else found.length
            usual = sizes.of_table(table.removeprefix(ASKED), length, tasks)
            configure(of.spark, {**SESSION, **usual})

        def beside() -> Store | None:
            session = apart(spark)
            return None if session is None else Store(session, store.path, store.in_one)

        at_once = sizes.at_once(found.length)
        make(store, every, _say_nothing if quiet else _tell, set_up, at_once, beside)
    return {step.table: store.read(step.table) for step in every}


def _found(spark: Any, path: str) -> files.InputFiles:
    try:
        found = files.found(spark, path)
    except AnalysisException:
        problem = "there is no such file or folder; give that of a history"
        raise AuditError(f"--input {path}: {problem}") from None
    if not found.count:
        problem = "there is no file with anything in it; give the folder of a history"
        raise AuditError(f"--input {path}: {problem}")
    return found


def _usable(store: Store) -> None:
    """Nothing is written into a folder of somebody else's."""
    if BEGUN in store.marks.read():
        return
    try:
        there = files.found(store.spark, literal(store.path)).count
    except AnalysisException:
        return
    if there:
        problem = "there are files in it, and they are no audit's"
        raise AuditError(f"--output {store.path}: {problem}; name a folder that is not there yet")


def reported(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    """The summary and its lines, after everything is written. Errors: `AuditError`."""
    with told_by_spark(path, output):
        return _reported(spark, path, output, plan, other, how)


def answered(spark: Any, path: str, output: str, plan: AuditPlan, asked: Inquiry) -> list[str]:
    """What is asked about a bundle or a broker. Errors: `AuditError`."""
    with told_by_spark(path, output):
        return list(answer(tables(spark, path, output, plan, None), plan, asked))


@contextmanager
def told_by_spark(path: str, output: str) -> Iterator[None]:
    """What Spark raises, in a sentence."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in SPARK:
            raise
        if _interrupted(error):
            raise KeyboardInterrupt from None
        problem = f"Spark stopped: {last_cause(error)}"
        raise AuditError(f"--input {path} --output {output}: {problem}; {AGAIN}") from None


def _interrupted(error: BaseException) -> bool:
    """Whether it was raised while things were tidied up after an interrupt."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _interrupted(before))


SPARK = ("pyspark", "py4j", "grpc")
"""Where errors of Spark come from."""

AGAIN = "what is done is kept, so put that right and start it again"


def _reported(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    asked_plan = other.over(plan)
    made = tables(spark, path, output, plan, asked_plan, quiet=how.quiet)
    with workers(1) as beside:
        shown = beside.submit(_shown, made, plan, output, how.cases)
        found = summary.summary(made, plan)
        faults, content = shown.result()
    if asked_plan is not None:
        found["asked"] = {**asdict(other), **asked.compared(made)}
    found["wrong"] = summary.wrong(found)
    lines = list(telling.lines(found, faults, f"{output}/{casefiles.FOLDER}"))
    if content is not None:
        lines.append(f"drawn in {making.write(content, output, lines, how.refresh)}")
    return found, iter(lines)


def _shown(
    made: dict[str, DataFrame], plan: AuditPlan, output: str, cases: int
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The first faults of each rule, whose cases are written; and what the page shows."""
    casefiles.write(made["verdicts"], output, cases)
    return summary.faults(made["verdicts"], SHOWN), making.content(made, plan, output)


def _say_nothing(_table: str, _mark: Mark | None) -> None:
    """Nothing a table."""


def _tell(table: str, mark: Mark | None) -> None:
    """One line a table, when it is there."""
    if mark is not None:
        took = f"{mark.rows:>12,} rows {mark.seconds:8.1f} s"
        print(f"{table:<24}{took}{_since(mark)}", file=sys.stderr, flush=True)


def _since(mark: Mark) -> str:
    """From which day on a table was made anew, if not all of it was."""
    if not mark.before:
        return ""
    return "  as it was" if mark.since == NEVER else f"  from {mark.since:%Y-%m-%d} on"
