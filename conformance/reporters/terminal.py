"""Ends a session: prints failures and tables, writes the verdict stream, sets the exit status."""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.events import Failure, Verdict
from pulsar_conformance.conformance.engine.plan import OUT, Plan, option_attribute
from pulsar_conformance.conformance.engine.report import NOX_SESSION, command_of_this_process
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.conformance.session import Session, lines_on_rules_left_out
from pulsar_conformance.reports import table
from pulsar_conformance.specs.errors import print_note
from pulsar_conformance.specs.text import WIDTH, counted, paragraph, printable

FILE = "verdicts.jsonl"
PACKAGES = ("pulsar-conformance", "hypothesis", "pytest")


def describe_run(plan: Plan, implementations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the verdict stream's first line, which describes the run.

    Runs with equal first lines have equal verdicts.
    """
    cases = [saved.trial.fingerprint for saved in plan.saved]
    if plan.replay is not None:
        cases.append(plan.replay.fingerprint)
    return {
        "kind": "run",
        "seed": plan.seed,
        "examples": plan.examples,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
        "profiles": list(plan.profiles),
        "readings": dict(plan.readings),
        "rules": list(plan.rules),
        "known_deviations": [f"{one.rule} {one.implementation or '*'}" for one in plan.deviations],
        "implementations": list(implementations),
        "saved_cases": sorted(set(cases)),
        **({"campaign": dict(plan.campaign.about)} if plan.campaign else {}),
    }


def write_stream(directory: Path, first: Mapping[str, Any], verdicts: Iterable[Verdict]) -> Path:
    """Write the stream atomically; return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / FILE
    lines = [first, *(verdict.as_json() for verdict in verdicts)]
    partial = target.with_suffix(".partial")
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    partial.write_bytes(text.encode("utf-8", "backslashreplace"))
    partial.replace(target)
    return target


VERDICT = "verdict"
IMPLEMENTATION = "implementation"
NOTES = "notes"
UNCHOSEN = "unchosen_faults"
COMPLETED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
"""pytest's exit statuses after which a session counts as completed."""
INTERRUPTED = 130
"""Exit status after Ctrl-C, as in Unix shells."""
ALWAYS_PRINTED = ("found", "mixed", "pinned")
"""Values of `how_known`; a reading with one of these values is always printed."""

MAX_DECLARED = 3
"""Maximum number of declared readings that are printed; a longer list is left out."""


def implementation_entry(run: Run) -> dict[str, Any]:
    """Return the entry for an implementation and profile in the verdict stream's first line."""
    about: dict[str, Any] = {
        "adapter": run.adapter,
        "profile": run.profile,
        "name": run.name,
        "readings": {},
        "known": {},
        "neutral": {},
    }
    try:
        followed, hello = run.readings, run.implementation.hello
    except AdapterError:
        return about
    readings = dict(followed.chosen.choices)
    return {
        **about,
        "readings": readings,
        "known": followed.how_known(),
        "neutral": dict(hello.neutral),
    }


class Reporter:
    """Collects the verdicts of all workers and writes the session's output."""

    def __init__(self, config: pytest.Config, session: Session) -> None:
        self.config = config
        self.session = session
        self.plan = session.plan
        self.found: dict[tuple[str, str, str], Verdict] = {}
        self.crashes: list[str] = []
        """Tracebacks of errors in the suite itself; a rule with such an error has no verdict."""
        self.implementations: dict[tuple[str, str], dict[str, Any]] = {}
        self.notes: dict[tuple[str, str, Any], list[str]] = {}
        """The latest remarks on how the implementation was asked, by adapter, profile and worker.
        """
        self.unchosen: dict[str, str] = {}
        """By rule ID, messages about violated rules that were not selected; they make the run fail.
        """

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the verdict in a test report, or the error that prevented one."""
        properties = dict(report.user_properties)
        if VERDICT not in properties:
            if report.failed:
                self.crashes.append(f"{report.nodeid}: the suite broke\n{report.longreprtext}")
            return
        if report.when != "call":
            return
        verdict = Verdict.from_json(json.loads(json.dumps(properties[VERDICT])))
        self.found[verdict.implementation, verdict.profile, verdict.rule] = verdict
        about: Any = properties[IMPLEMENTATION]
        self.implementations[verdict.implementation, verdict.profile] = about
        notes: Any = properties[NOTES]
        unchosen: Any = properties[UNCHOSEN]
        self.unchosen.update(unchosen)
        worker = getattr(report, "node", None)
        self.notes[verdict.implementation, verdict.profile, worker] = notes

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts, ordered by implementation, profile and rule."""
        rules = list(specs.load().rules)
        plan = self.plan

        def sort_key(verdict: Verdict) -> tuple[int, int, int]:
            return (
                plan.adapters.index(verdict.implementation),
                plan.profiles.index(verdict.profile),
                rules.index(verdict.rule),
            )

        return sorted(self.found.values(), key=sort_key)

    @property
    def first_line(self) -> dict[str, Any]:
        """The first line of the verdict stream."""
        return describe_run(self.plan, list(self._known()))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """On Ctrl-C, end the session without pytest's own message."""
        try:
            return (yield)
        except KeyboardInterrupt:
            pytest.exit("interrupted", INTERRUPTED)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the stream and set the exit status from the verdicts."""
        if self.crashes:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        replayed = self.plan.replay is not None and session.exitstatus in COMPLETED
        if session.exitstatus == INTERRUPTED:
            self._print_interrupted()
        if not self.found and not replayed:
            return
        write_stream(self._directory, self.first_line, self.verdicts)
        if session.exitstatus in COMPLETED:
            statuses = [verdict.exit_status(self.plan.draws_enough) for verdict in self.verdicts]
            session.exitstatus = max([int(bool(self.unchosen or self._judged_nothing)), *statuses])

    @property
    def _judged_nothing(self) -> bool:
        """True if the selected rules apply to no implementation, so no verdict fails the run."""
        words = {verdict.verdict for verdict in self.verdicts}
        return bool(self.plan.rules) and self.plan.replay is None and words == {"not_applicable"}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the failures, the tables of verdicts, and where the results were written."""

        def write(text: str) -> None:
            terminalreporter.write_line(printable(text))

        for text in (*self.crashes, *self._failures()):
            write(f"\n{text}")
        for text in self._unreached():
            write(text)
        if not self.found:
            return
        lines = [self.first_line, *(verdict.as_json() for verdict in self.verdicts)]
        for line in (
            "",
            *table.verdict_tables(lines),
            *self._readings(),
            *self._notes(),
            *self.unchosen,
        ):
            write(line)
        for line in self._deviations_of_others():
            write(line)
        if self._judged_nothing:
            write("nothing was judged: the chosen rules apply to no implementation of this run")
        write(f"verdicts: {self._directory / FILE}")
        write(f"as a page: {self._report_command()}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Print the result in one sentence, below pytest's counts."""
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        if self.found and terminal is not None:
            lines = [self.first_line, *(verdict.as_json() for verdict in self.verdicts)]
            for line in table.result_lines(lines, self.unchosen.values(), self.plan.draws_enough):
                terminal.write_line(printable(line))

    def _report_command(self) -> str:
        """Return the command that makes an Allure report of this run."""
        results = str(self._directory / "allure")
        words = [] if results == str(Path(OUT, "allure")) else [results]
        words += ["--to", str(self._directory / "report")] if words else []
        if NOX_SESSION in os.environ:
            return shlex.join(["nox", "-s", "report", *(["--", *words] if words else [])])
        return shlex.join([*command_of_this_process(), "report", "allure", *words])

    def _print_interrupted(self) -> None:
        """Print to standard error how many verdicts an interrupted run has, and where they are."""
        file = self._directory / FILE
        saved = f"saved in {file}" if self.found else "nothing was saved"
        done = counted(len(self.found), "verdict")
        print_note(f"interrupted after {done}, {saved}", "\npulsar-conformance: ")

    def _known(self) -> Iterator[dict[str, Any]]:
        """Yield the entries of the judged implementations, in command-line order."""
        for pair in product(self.plan.adapters, self.plan.profiles):
            if pair in self.implementations:
                yield self.implementations[pair]

    def _readings(self) -> Iterator[str]:
        """Yield, for each implementation, its found, mixed and pinned readings.

        Declared readings are added if there are few of them.
        """
        for one in self._known():
            known = one["known"]
            few = [*known.values()].count("declared") <= MAX_DECLARED
            words = [
                f"{name} as {one['readings'][name]} ({how})"
                for name, how in known.items()
                if how in ALWAYS_PRINTED or (few and how == "declared")
            ]
            if words:
                text = f"{one['name']}, {one['profile']}, reads {', '.join(words)}"
                yield from paragraph(text, 2, "")

    def _deviations_of_others(self) -> Iterator[str]:
        if self.plan.deviations:
            from pulsar_conformance.conformance.cases.deviations import notes_on_unjudged

            judged: dict[tuple[str, ...], dict[str, bool]] = {}
            for verdict in (one for one in self.verdicts if one.verdict != "error"):
                name = self.implementations[verdict.implementation, verdict.profile]["name"]
                names = name, verdict.implementation, name.rpartition(" ")[0]
                rules = judged.setdefault(names, {})
                if verdict.verdict != "not_applicable":
                    known = verdict.verdict == "known_deviation"
                    rules[verdict.rule] = known or rules.get(verdict.rule, False)
            yield from notes_on_unjudged(self.plan.deviations, judged)

    def _unreached(self) -> Iterator[str]:
        """Yield, for each implementation, which rules do not apply to its replayed case."""
        for pair, run in self.session.runs.items() if self.plan.replay else ():
            yield from lines_on_rules_left_out(run, judged=pair in self.implementations)

    def _notes(self) -> Iterator[str]:
        """Yield the implementations' remarks without duplicates, in command-line order."""
        notes = (
            line
            for pair in product(self.plan.adapters, self.plan.profiles)
            for (adapter, profile, _worker), lines in self.notes.items()
            if (adapter, profile) == pair
            for line in lines
        )
        yield from dict.fromkeys(notes)

    def _failures(self) -> Iterator[str]:
        """Yield the text of each failure that is not a known deviation, and each distinct error."""
        rules, errors = specs.load().rules, set()
        for verdict in self.verdicts:
            run = self.implementations[verdict.implementation, verdict.profile]
            if verdict.failure is not None and verdict.verdict != "known_deviation":
                yield format_failure(rules[verdict.rule], verdict, run["name"])
            if verdict.verdict == "error" and verdict.why not in errors:
                errors.add(verdict.why)
                yield verdict.why

    @property
    def _directory(self) -> Path:
        return Path(getattr(self.config.option, option_attribute("--out")))


LABEL = 15

COUNTED_AGAINST = (
    "Every legal case needs an answer. A case without an answer counts against one rule of its "
    "operation, whatever that rule demands:"
)

DIFFERENT_AS_A_WHOLE = (
    "The answer as a whole differs from the one worked out by hand in an example of this rule. No "
    "rule's check rejects the answer, so it may break another rule instead of this one:"
)

LABELLED_LINE = re.compile(r" *(?:\S+(?: \S+)* {2,})?")
"""Indentation of a line of a derivation, with the label if it has one."""

MAX_LINES = 120
"""Maximum number of lines of a derivation; the command `explain` shows longer ones in full."""


def format_failure(rule: specs.Rule, verdict: Verdict, name: str) -> str:
    """Format a verdict's failure: rule, statement, source, case, derivation and answers.

    `name` is the implementation's own name.
    """
    warning = "; this is only a warning, since the rule is not a must" if verdict.warns else ""
    lines = [f"{verdict.headline(name)}{warning}"]
    lines += _block(COUNTED_AGAINST, 2) if verdict.unanswered else []
    lines += _block(DIFFERENT_AS_A_WHOLE, 2) if verdict.by_example else []
    lines += _block(f"{rule.title}.", 2)
    lines += _block(rule.statement, 2)
    lines += [f"  {line}" for line in specs.load().sources_of(rule, verdict.profile)]
    if verdict.failure is not None:
        lines += _case_text(verdict.failure, verdict)
    return printable("\n".join(lines))


def _case_text(failure: Failure, verdict: Verdict) -> Iterator[str]:
    yield from _entry("smallest case", f"{failure.case_file}   ({failure.size})")
    if words := verdict.explain_words:
        yield f"  {'explained by':<{LABEL}} {shlex.join((*command_of_this_process(), *words))}"
    for line in _without_middle(failure.derivation):
        yield from _wrapped(f"    {line}")
    if settings := failure.settings_about(specs.load().rules[verdict.rule].settings):
        yield from _entry("in force", settings)
    if failure.readings:
        yield from _entry("rests on", ", ".join(failure.readings))
    if failure.passes_under:
        yield from _entry("passes under", " or ".join(failure.passes_under))
    yield from _entry("allowed", failure.allowed)
    yield from _entry("answered", failure.answered)
    for answer in failure.answers:
        yield from _entry("", answer)
    yield f"  {'again':<{LABEL}} {failure.again}"


def _without_middle(lines: Sequence[str]) -> list[str]:
    """Return a derivation's lines; if there are too many, one line replaces the middle ones."""
    if len(lines) <= MAX_LINES:
        return list(lines)
    half = MAX_LINES // 2
    left_out = f"… {len(lines) - 2 * half} more lines, which the command explain shows"
    return [*lines[:half], left_out, *lines[-half:]]


def _wrapped(line: str) -> list[str]:
    """Return a derivation's line, wrapped if it is long; further lines align with its text."""
    if len(line) <= WIDTH:
        return [line]
    found = LABELLED_LINE.match(line)
    start = found[0] if found else ""
    return paragraph(line[len(start) :], len(start), start)


def _entry(label: str, text: str) -> list[str]:
    first, *rest = _block(text, LABEL + 3)
    return [f"  {label:<{LABEL}} {first.strip()}", *rest]


def _block(text: str, indent: int) -> list[str]:
    return paragraph(text, indent, width=WIDTH - 2) or [" " * indent]
