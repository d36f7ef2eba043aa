"""An audit, from input to report."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.protocol import text_of
from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.adapters.spark.session import last_cause, separate_session
from pulsar_conformance.audit.input import files
from pulsar_conformance.audit.input.by_cluster import NEVER
from pulsar_conformance.audit.input.paths import AuditError, as_given, literal, storage_problem
from pulsar_conformance.audit.input.versions import profile_of_history
from pulsar_conformance.audit.page import making
from pulsar_conformance.audit.pipeline import report_text, spark_tuning, summary
from pulsar_conformance.audit.pipeline.inquiry import Inquiry, answer_inquiry
from pulsar_conformance.audit.pipeline.lock import locked
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.reading import source
from pulsar_conformance.audit.pipeline.running import BEGUN, build_tables, stale_tables
from pulsar_conformance.audit.pipeline.steps import TableStep, build_steps
from pulsar_conformance.audit.pipeline.tables import SESSION
from pulsar_conformance.audit.pipeline.workers import workers
from pulsar_conformance.audit.pipeline.writing import SHARDS, Store, base_name
from pulsar_conformance.audit.verdicts import casefiles
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pulsar_conformance.specs.text import counted
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

SHOWN = 3
"""Number of faults for each rule that are shown with evidence."""


@dataclass(frozen=True)
class ReportOptions:
    """Options of an audit's report: case files per rule, and whether to show progress.

    Unless `refresh` is 0, browsers reload the page every `refresh` seconds.
    """

    cases: int = 10
    quiet: bool = False
    refresh: int = 0

    wait: bool = False
    """True to wait for any other audit that is writing into the same output."""

    writable: bool = True
    """False if the output cannot be written, so that only a complete audit can be shown."""


@dataclass(frozen=True)
class Counterfactual:
    """Settings and a strategy to compare with the recorded ones."""

    settings: dict[str, Any]
    strategy: str | None

    def over(self, plan: AuditPlan) -> AuditPlan | None:
        """Return the plan with these settings, or None if there are none."""
        if not self.settings and not self.strategy:
            return None
        return replace(
            plan,
            settings={
                name: value if isinstance(value, str) else text_of(value)
                for name, value in self.settings.items()
            },
            strategy=self.strategy,
            beside=False,
        )


def check_profile_has_rules(plan: AuditPlan) -> None:
    """Check that the profile has rules about unloads. Errors: `AuditError`."""
    if rules_of(plan):
        return
    every = [name for name in specs.load().profiles if rules_of(AuditPlan.of(name))]
    problem = (
        f"it has no rule about unloads that an audit can check; choose from {', '.join(every)}"
    )
    raise AuditError(f"--judge-by {plan.profile}: {problem}")


def judging_plan(
    spark: Any, path: str, profile: str | None, readings: Mapping[str, str], **more: Any
) -> AuditPlan:
    """Return a plan for a profile or, by default, for the reported release and its documents.

    Errors: `AuditError` for a profile without rules about unloads.
    """
    ran = None if profile else profile_of_history(spark, path)
    if ran is not None and not rules_of(AuditPlan.of(ran)):
        ran = None
    plan = AuditPlan.of(profile or ran or DEFAULT_PROFILE, readings, beside=ran is not None, **more)
    check_profile_has_rules(plan)
    return plan


def documents_beside(plan: AuditPlan) -> AuditPlan | None:
    """Return the plan for a release's documents, if wanted and if they have rules."""
    documents = plan.documents
    return documents if documents is not None and rules_of(documents) else None


def build_audit_tables(
    spark: Any,
    path: str,
    output: str,
    plan: AuditPlan,
    other: AuditPlan | None,
    *,
    quiet: bool = False,
    writable: bool = True,
) -> dict[str, DataFrame]:
    """Build an audit's missing tables; return all tables. Errors: `AuditError`."""
    _silence_accumulators(spark)
    path = as_given(path)
    found = _found(spark, path)
    store = Store(spark, output.rstrip("/"), spark_tuning.in_one(found.length))
    store = replace(store, shards=_shards(store, found.length))
    every = list(build_steps(source(store, path, found), plan, other, documents_beside(plan)))

    with spark_tuning.tasks_at_once(spark) as tasks:

        def set_up(of: Store, table: str, in_part: bool) -> None:
            length = min(found.length, spark_tuning.DAILY) if in_part else found.length
            usual = spark_tuning.of_table(base_name(table), length, tasks)
            configure(of.spark, {**SESSION, **usual})

        def beside() -> Store | None:
            session = separate_session(spark)
            return None if session is None else replace(store, spark=session, _known={})

        at_once, alike = spark_tuning.parallel_tables(found.length)
        if not writable:
            _check_complete(store, every)
        tell = _no_progress if quiet else _report_progress
        build_tables(
            store,
            every,
            tell,
            set_up,
            at_once,
            beside,
            _report_damage,
            configured_alike=alike,
        )
    return {step.table: store.read(step.table) for step in every}


def _check_complete(store: Store, every: Sequence[TableStep]) -> None:
    """Check that all tables are complete. Errors: `AuditError`."""
    stale = stale_tables(store, every, _report_damage)
    if stale:
        problem = f"it is not writable, but {stale[0]} has to be built"
        raise AuditError(f"--output {store.path}: {problem}; name a writable folder")


def _report_damage(table: str, why: str) -> None:
    """Print that a table is rebuilt because its files were changed."""
    print(f"{table}: {why}; the table is rebuilt", file=sys.stderr, flush=True)


def _found(spark: Any, path: str) -> files.InputFiles:
    try:
        found = files.current_files(spark, path)
    except AnalysisException:
        problem = "there is no such file or folder; give the file or folder of a history"
        raise AuditError(f"--input {path}: {problem}") from None
    _refuse_tables(spark, path)
    if not found.count:
        problem = "there are no files, or only empty ones; give the folder of a history"
        raise AuditError(f"--input {path}: {problem}")
    return found


def _refuse_tables(spark: Any, path: str) -> None:
    """Reject tables that cannot be read without their transaction log. Errors: `AuditError`."""
    if files.has_transaction_log(spark, path):
        problem = "it is a table of Delta Lake or Iceberg, whose files include removed rows"
        raise AuditError(f"--input {path}: {problem}; export its current rows as Parquet or JSON")


def _shards(store: Store, length: int) -> int:
    """Return the number of partitions per day in an output, after checking that it is an audit's.

    Errors: `AuditError` if it contains unrelated files.
    """
    begun = store.marks.read().get(BEGUN)
    if begun is not None:
        return max(1, begun.rows)
    _check_unused(store)
    return SHARDS if length >= spark_tuning.SHARDED else 1


def _check_unused(store: Store) -> None:
    """Check that the output contains no unrelated files. Errors: `AuditError`."""
    try:
        there = files.current_files(store.spark, literal(store.path)).count
    except AnalysisException:
        return
    if there:
        problem = "it contains files that are not from an audit"
        raise AuditError(f"--output {store.path}: {problem}; name a new folder")


def write_audit(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    """Write all files; return the summary and the report's lines. Errors: `AuditError`."""
    with spark_errors_as_audit_errors(path, output), _lock(spark, output, how.wait) as writable:
        return _reported(spark, path, output, plan, other, replace(how, writable=writable))


def answered(
    spark: Any, path: str, output: str, plan: AuditPlan, asked: Inquiry, how: ReportOptions
) -> list[str]:
    """Return the answer to a question about a bundle or broker. Errors: `AuditError`."""
    with spark_errors_as_audit_errors(path, output), _lock(spark, output, how.wait) as writable:
        made = build_audit_tables(spark, path, output, plan, None, writable=writable)
        return list(answer_inquiry(made, plan, asked))


def _silence_accumulators(spark: Any) -> None:
    """Suppress the traceback of PySpark's accumulator server when Java exits."""
    server = getattr(getattr(spark, "_sc", None), "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def _lock(spark: Any, output: str, wait: bool) -> AbstractContextManager[bool]:
    """Lock the output, creating its folder if Spark runs on this machine."""
    elsewhere = "://" in output or ".connect." in type(spark).__module__
    return locked(output, wait=wait, create=not elsewhere)


@contextmanager
def spark_errors_as_audit_errors(path: str, output: str) -> Iterator[None]:
    """Convert Spark's errors to `AuditError`, and interrupts to `KeyboardInterrupt`."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ConnectionError | EOFError):
            problem = f"{JAVA_ENDED}; {RESTART_HINT}"
            raise AuditError(f"--input {path} --output {output}: {problem}") from None
        if type(error).__module__.partition(".")[0] not in SPARK:
            raise
        if _interrupted(error):
            raise KeyboardInterrupt from None
        for option, given in (("--input", path), ("--output", output)):
            lacking = storage_problem(given, str(error))
            if lacking is not None:
                raise AuditError(f"{option} {given}: {lacking}") from None
        ended = type(error).__name__ == "Py4JNetworkError"
        problem = JAVA_ENDED if ended else f"Spark stopped: {last_cause(error)}"
        raise AuditError(f"--input {path} --output {output}: {problem}; {RESTART_HINT}") from None


def _interrupted(error: BaseException) -> bool:
    """True if the error was raised while cleaning up after an interrupt."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _interrupted(before))


SPARK = ("pyspark", "py4j", "grpc")
"""Packages that raise Spark's errors."""

JAVA_ENDED = "Spark's Java process has ended: it was killed, or its memory was exhausted"
RESTART_HINT = "finished tables are kept, so correct the cause and start again"


def _reported(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    asked_plan = other.over(plan)
    made = build_audit_tables(
        spark, path, output, plan, asked_plan, quiet=how.quiet, writable=how.writable
    )
    with workers(1) as beside:
        shown = beside.submit(_shown, made, plan, output, how)
        found = summary.audit_summary(made, plan)
        faults, content = shown.result()
    documents = documents_beside(plan)
    if documents is not None:
        found["documents"] = summary.compared_findings(made, documents)
    if asked_plan is not None:
        found["asked"] = {**asdict(other), **summary.compared_settings(made)}
    found["wrong"] = summary.fault_count(found)
    lines = list(report_text.report_lines(found, faults, f"{output}/{casefiles.FOLDER}"))
    if content is not None:
        lines.append(f"drawn in {making.write_page(content, output, lines, how.refresh)}")
    return found, iter(lines)


def _shown(
    made: dict[str, DataFrame], plan: AuditPlan, output: str, how: ReportOptions
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Write case files; return each rule's first faults, and the page's data."""
    faults = summary.faults(made["verdicts"], SHOWN)
    if not how.writable:
        return faults, None
    casefiles.write_faults(made["verdicts"], made["findings"], output, how.cases)
    return faults, making.page_content(made, plan, output)


def _no_progress(_table: str, _mark: Mark | None) -> None:
    """Report nothing."""


def _report_progress(table: str, mark: Mark | None) -> None:
    """Report a completed table on standard error."""
    if mark is not None:
        took = f"{mark.rows:>12,} rows {mark.seconds:8.1f} s"
        print(f"{table:<27}{took}{_since(mark)}", file=sys.stderr, flush=True)


def _since(mark: Mark) -> str:
    """Format from which day on, and in how many clusters, a table was rebuilt; empty if
    entirely.
    """
    if not mark.before:
        return ""
    if not mark.change:
        return "  as it was"
    told, clusters = f"  from {mark.since:%Y-%m-%d} on", counted(len(mark.change.named), "cluster")
    return told if mark.change.others != NEVER else f"{told} in {clusters}"
