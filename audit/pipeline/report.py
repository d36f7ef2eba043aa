"""An audit from input to report."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import DEFAULT_PROFILE
from pulsar_conformance.adapters.protocol import json_text
from pulsar_conformance.adapters.spark.configuring import configure
from pulsar_conformance.adapters.spark.session import last_cause, separate_session
from pulsar_conformance.audit.input import files
from pulsar_conformance.audit.input.by_cluster import NEVER
from pulsar_conformance.audit.input.paths import (
    AuditError,
    escape_existing_path,
    escape_pattern,
    storage_problem,
)
from pulsar_conformance.audit.input.versions import profile_of_history
from pulsar_conformance.audit.page import making
from pulsar_conformance.audit.pipeline import report_text, spark_tuning, summary
from pulsar_conformance.audit.pipeline.inquiry import Inquiry, inquiry_lines
from pulsar_conformance.audit.pipeline.lock import hold_lock
from pulsar_conformance.audit.pipeline.marks import Mark
from pulsar_conformance.audit.pipeline.plan import AuditPlan
from pulsar_conformance.audit.pipeline.reading import records_step
from pulsar_conformance.audit.pipeline.running import AUDIT_MARK, build_tables, stale_tables
from pulsar_conformance.audit.pipeline.steps import TableStep, build_steps
from pulsar_conformance.audit.pipeline.tables import SESSION
from pulsar_conformance.audit.pipeline.workers import Tell, thread_pool
from pulsar_conformance.audit.pipeline.writing import SHARDS, Store, base_name
from pulsar_conformance.audit.verdicts import casefiles, open_points
from pulsar_conformance.audit.verdicts.checks.registry import UNDECIDED, is_fault
from pulsar_conformance.audit.verdicts.excesses import excess_unloads
from pulsar_conformance.audit.verdicts.omissions import omitted_unloads
from pulsar_conformance.audit.verdicts.verdicts import rules_of
from pulsar_conformance.specs.errors import print_note, similar_file
from pulsar_conformance.specs.text import counted
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

FAULTS_PER_RULE = 3
"""Number of faults that are shown with evidence for each rule."""


@dataclass(frozen=True)
class ReportOptions:
    """Options of an audit's report.

    `cases` is the number of case files per rule. `quiet` suppresses progress. Unless `refresh` is
    0, browsers reload the page every `refresh` seconds.
    """

    cases: int = 10
    quiet: bool = False
    refresh: int = 0

    wait: bool = False
    """True to wait for other audits that are writing to the same output."""

    writable: bool = True
    """False if the output cannot be written; then only a complete audit can be shown."""


@dataclass(frozen=True)
class Counterfactual:
    """Settings and a strategy other than the recorded ones.

    An audit compares the unloads under both.
    """

    settings: dict[str, Any]
    strategy: str | None

    def plan_from(self, plan: AuditPlan) -> AuditPlan | None:
        """Return a copy of a plan with these settings and this strategy; None if neither is
        given.
        """
        if not self.settings and not self.strategy:
            return None
        return replace(
            plan,
            settings={
                name: value if isinstance(value, str) else json_text(value)
                for name, value in self.settings.items()
            },
            strategy=self.strategy,
            by_documents_too=False,
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
    """Return the plan for a profile. Without a profile, return a plan for the release that the load
    reports name, which also judges by its documents, or for `DEFAULT_PROFILE` if they name none.

    Errors: `AuditError` for a profile without rules about unloads, `specs.UnknownName` for a
    reading that the profile does not permit.
    """
    ran = None if profile else profile_of_history(spark, path)
    if ran is not None and not rules_of(AuditPlan.of(ran)):
        ran = None
    judged = profile or ran or DEFAULT_PROFILE
    plan = AuditPlan.of(judged, readings, by_documents_too=ran is not None, **more)
    check_profile_has_rules(plan)
    specs.load().check_open(plan.profile, readings)
    return plan


def documents_to_judge(plan: AuditPlan) -> AuditPlan | None:
    """Return the plan for judging by a release's documents as well.

    None if the audit does not do so, or if the documents have no rules about unloads.
    """
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
    only_built: bool = False,
    writable: bool = True,
) -> dict[str, DataFrame]:
    """Build the missing and stale tables of an audit; return all its tables.

    With `only_built`, no line is printed for tables that were up to date. Errors: `AuditError`.
    """
    _silence_accumulators(spark)
    path = escape_existing_path(path)
    found = _find_files(spark, path)
    store = Store(spark, output.rstrip("/"), spark_tuning.is_single_partition(found.length))
    store = replace(store, shards=_shard_count(store, found.length))
    every = list(
        build_steps(records_step(store, path, found), plan, other, documents_to_judge(plan))
    )

    with spark_tuning.tasks_at_once(spark) as tasks:

        def set_up(owner: Store, table: str, in_part: bool) -> None:
            length = (
                min(found.length, spark_tuning.MAX_INTERPRETED_BYTES) if in_part else found.length
            )
            usual = spark_tuning.table_settings(base_name(table), length, tasks)
            configure(owner.spark, {**SESSION, **usual})

        def beside() -> Store | None:
            session = separate_session(spark)
            return None if session is None else replace(store, spark=session, _known={})

        at_once, alike = spark_tuning.parallel_tables(found.length)
        if not writable:
            _check_complete(store, every)
        tell = _no_progress if quiet else _report_built() if only_built else _report_progress
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
    """Raise `AuditError` unless every table of an output that is not writable is up to date."""
    stale = stale_tables(store, every, _report_damage)
    if stale:
        problem = f"it is not writable, but its table {stale[0]} must be built"
        raise AuditError(f"--output {store.path}: {problem}; give a writable folder")


def _report_damage(table: str, why: str) -> None:
    """Print that a table is rebuilt because its files were changed."""
    print_note(f"{table}: {why}; the table is rebuilt", "")


def _find_files(spark: Any, path: str) -> files.InputFiles:
    try:
        found = files.current_files(spark, path)
    except AnalysisException:
        hint = similar_file(path) or "; give the file or folder of a history"
        raise AuditError(f"--input {path}: there is no such file or folder{hint}") from None
    _refuse_tables(spark, path)
    if not found.count:
        problem = "there are no files, or only empty ones; give the folder of a history"
        raise AuditError(f"--input {path}: {problem}")
    return found


def _refuse_tables(spark: Any, path: str) -> None:
    """Reject an input whose current rows are known only from a transaction log. Errors:
    `AuditError`.
    """
    if files.has_transaction_log(spark, path):
        problem = "it is a Delta Lake or Iceberg table, whose files include removed rows"
        raise AuditError(f"--input {path}: {problem}; export its current rows as Parquet or JSON")


def _shard_count(store: Store, length: int) -> int:
    """Return the number of partitions per day in an output.

    Errors: `AuditError` if the output contains files that are not an audit's.
    """
    begun = store.marks.read().get(AUDIT_MARK)
    if begun is not None:
        return max(1, begun.rows)
    _check_unused(store)
    return SHARDS if length >= spark_tuning.MIN_SHARDED_BYTES else 1


def _check_unused(store: Store) -> None:
    """Check that an output without an audit contains no files. Errors: `AuditError`."""
    try:
        there = files.current_files(store.spark, escape_pattern(store.path)).count
    except AnalysisException:
        return
    if there:
        problem = "it contains files that no audit wrote"
        raise AuditError(f"--output {store.path}: {problem}; give a new folder")


def write_audit(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    """Write the tables, cases and page of an audit; return the summary and the report's lines.

    Errors: `AuditError`.
    """
    with spark_errors_as_audit_errors(path, output), _lock(spark, output, how.wait) as writable:
        return _build_report(spark, path, output, plan, other, replace(how, writable=writable))


def answer_inquiry(
    spark: Any, path: str, output: str, plan: AuditPlan, asked: Inquiry, how: ReportOptions
) -> list[str]:
    """Return the lines that answer an inquiry about a bundle or broker. Errors: `AuditError`."""
    with spark_errors_as_audit_errors(path, output), _lock(spark, output, how.wait) as writable:
        made = build_audit_tables(
            spark, path, output, plan, None, only_built=True, writable=writable
        )
        return list(inquiry_lines(made, plan, asked))


def _silence_accumulators(spark: Any) -> None:
    """Suppress the traceback that PySpark's server of accumulators prints when Java exits."""
    server = getattr(getattr(spark, "_sc", None), "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def _lock(spark: Any, output: str, wait: bool) -> AbstractContextManager[bool]:
    """Hold the lock of an output. Create the output's folder if Spark runs on this machine."""
    elsewhere = "://" in output or ".connect." in type(spark).__module__
    return hold_lock(output, wait=wait, create=not elsewhere)


@contextmanager
def spark_errors_as_audit_errors(path: str, output: str) -> Iterator[None]:
    """Turn Spark's errors within the block into `AuditError`, or after an interrupt into
    `KeyboardInterrupt`.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, ConnectionError | EOFError):
            problem = f"{JAVA_ENDED}; {RESTART_HINT}"
            raise AuditError(f"--input {path} --output {output}: {problem}") from None
        if type(error).__module__.partition(".")[0] not in SPARK:
            raise
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        for option, given in (("--input", path), ("--output", output)):
            lacking = storage_problem(given, str(error))
            if lacking is not None:
                raise AuditError(f"{option} {given}: {lacking}") from None
        ended = type(error).__name__ == "Py4JNetworkError"
        problem = JAVA_ENDED if ended else f"Spark stopped: {last_cause(error)}"
        raise AuditError(f"--input {path} --output {output}: {problem}; {RESTART_HINT}") from None


def _is_interrupt(error: BaseException) -> bool:
    """True if the error was raised while an interrupt closed the session."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _is_interrupt(before))


SPARK = ("pyspark", "py4j", "grpc")
"""Packages whose errors are errors of Spark."""

JAVA_ENDED = "Spark's Java process has ended: it was killed, or its memory was exhausted"
RESTART_HINT = "finished tables are kept, so correct the cause and start again"


def _build_report(
    spark: Any, path: str, output: str, plan: AuditPlan, other: Counterfactual, how: ReportOptions
) -> tuple[dict[str, Any], Iterator[str]]:
    asked_plan = other.plan_from(plan)
    made = build_audit_tables(
        spark, path, output, plan, asked_plan, quiet=how.quiet, writable=how.writable
    )
    with thread_pool(1) as beside:
        written = beside.submit(_write_cases, made, plan, output, how)
        found = summary.audit_summary(made, plan)
        faults, content = written.result()
    found["undecided"] = _undecided(made, found)
    found["faults"] = summary.listed_faults(faults)
    found["omitted"] = omitted_unloads(made, plan)
    found["excess"] = excess_unloads(made, plan)
    if documents := documents_to_judge(plan):
        found["documents"] = summary.compare_findings(made, documents)
    if asked_plan is not None:
        found["asked"] = {**asdict(other), **summary.compare_settings(made)}
    found["wrong"] = summary.fault_count(found)
    shown = [one for one in faults if one["nth"] <= FAULTS_PER_RULE and one["follows"] is None]
    lines = list(report_text.report_lines(found, shown, f"{output}/{casefiles.FOLDER}"))
    if content is not None:
        page = making.write_page(content, output, lines, how.refresh)
        lines.append(f"page with charts: {page}")
    return found, iter(lines)


def _undecided(made: dict[str, DataFrame], found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the first undecided cycle of each rule; start no Spark job if there is none."""
    some = any(counts[UNDECIDED] for counts in found["rules"].values())
    return open_points.first_undecided(made, found["clusters"] > 1) if some else []


def _write_cases(
    made: dict[str, DataFrame], plan: AuditPlan, output: str, how: ReportOptions
) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Write the case files; return the first faults of each rule, and the data for the page."""
    some = not made["verdicts"].where(is_fault()).isEmpty()
    faults = summary.first_faults(made["verdicts"]) if some else []
    if not how.writable:
        return faults, None
    if some or not casefiles.empty_case_folder(output):
        casefiles.write_case_files(made["verdicts"], made["findings"], output, how.cases)
    return faults, making.page_content(made, plan, output)


def _no_progress(_table: str, _mark: Mark | None) -> None:
    """Report nothing."""


def _report_progress(table: str, mark: Mark | None) -> None:
    """Print on standard error that a table is complete."""
    if mark is not None:
        took = f"{mark.rows:>12,} rows {mark.seconds:8.1f} s"
        print(f"{table:<27}{took}{_rebuilt_part(mark)}", file=sys.stderr, flush=True)


def _report_built() -> Tell:
    """Return a function that reports complete tables, except those that were up to date."""
    begun = set[str]()

    def tell(table: str, mark: Mark | None) -> None:
        if mark is None:
            begun.add(table)
        elif table in begun:
            _report_progress(table, mark)

    return tell


def _rebuilt_part(mark: Mark) -> str:
    """Return a text with the first day and the number of clusters that were rebuilt; empty if the
    whole table was built.
    """
    if not mark.before:
        return ""
    if not mark.change:
        return "  unchanged"
    told, clusters = f"  from {mark.since:%Y-%m-%d} on", counted(len(mark.change.named), "cluster")
    return told if mark.change.others != NEVER else f"{told} in {clusters}"
