"""A session: judges every implementation by every profile, several at the same time."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import itemgetter

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common import GC_THRESHOLDS
from pulsar_conformance.conformance.common.events import Listener, Verdict
from pulsar_conformance.conformance.engine.ask import run_immediately
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run
from pulsar_conformance.specs.text import paragraph

UNLOADABLE = "import"
"""Error code of an adapter that cannot load the class or module that its name refers to."""

FIRST_ROUNDS = (0, 3, 30)
"""Numbers of cases to draw for each rule before as many are drawn as the options say, if the run
ends at the first broken rule. Saved cases and worked examples are asked in each round.
"""

MAX_BACKGROUND_THREADS = 3
"""Maximum number of implementations asked in the background while others are judged."""


class Session:
    """The runs of a plan, one for each pair of implementation and profile.

    `alone` is false if pytest-xdist distributes the runs over processes. If it is true,
    implementations in child processes are asked in the background, while cases for other
    implementations are drawn and judged.
    """

    def __init__(self, plan: Plan, notify: Listener, alone: bool) -> None:
        self.plan = plan
        self._alone = alone
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*GC_THRESHOLDS)
        self._prepared = False
        self._background = ThreadPoolExecutor(MAX_BACKGROUND_THREADS, "asking")
        submit = self._background.submit if alone else run_immediately
        self.runs = {
            (adapter, profile): Run(plan, adapter, profile, notify, submit)
            for adapter in plan.adapters
            for profile in plan.profiles
        }

    def verdict(self, run: Run, rule: specs.Rule) -> Verdict:
        """Return a run's verdict on a rule."""
        if self._alone and not self._prepared:
            self._prepare()
        return run.verdict(rule)

    def load_errors(self) -> list[str]:
        """Return all errors if no implementation can be started and loaded; else an empty list."""
        if not self._alone:
            return []
        found = []
        for run in self.runs.values():
            try:
                _ = run.implementation
            except AdapterError as error:
                if error.phase == "start":
                    found.append(str(error))
                elif error.code == UNLOADABLE:
                    why = error.problem.partition(f", {UNLOADABLE}: ")[2]
                    found.append(
                        str(AdapterError("start", why, "", error.stderr_tail, run.adapter))
                    )
        return list(dict.fromkeys(found)) if len(found) == len(self.runs) else []

    def first_broken(self) -> tuple[Run, specs.Rule] | None:
        """Return the first rule that few cases show to be broken, with a run of these cases alone.

        None if no rule is, or if cases are not to be drawn.
        """
        if not self._alone or self.plan.replay is not None or self.plan.campaign is not None:
            return None
        for examples in filter(self.plan.examples.__gt__, FIRST_ROUNDS):
            for run in self.runs.values():
                with suppress(AdapterError):  # The verdict on each rule reports the error.
                    early = run.drawing(examples)
                    if (rule := early.first_failure()) is not None:
                        self._prepared = True  # No other rule is judged.
                        return early, rule
        return None

    def _prepare(self) -> None:
        """Draw the cases of all runs, and ask them in the background.

        Implementations that take large batches are asked first, because they need the most time. Of
        an implementation's profiles, the one with the fewest rules comes first, so that the
        implementation can start early. Implementations in this process come last, because they are
        asked immediately.
        """
        self._prepared = True
        reached = []
        for run in self.runs.values():
            with suppress(AdapterError):  # The verdict on each rule reports the error.
                one = run.implementation
                reached.append((one.in_process, -one.hello.batch, len(run.rules), run))
        for *_, run in sorted(reached, key=itemgetter(0, 1, 2)):
            with suppress(AdapterError):
                run.prepare()

    def close(self) -> None:
        """Close all connections."""
        gc.set_threshold(*self._thresholds)
        self._background.shutdown(wait=False, cancel_futures=True)
        for run in self.runs.values():
            run.close()


NOT_JUDGING = ("unexercised", "not_applicable")


def rules_reached(run: Run, rules: Sequence[specs.Rule]) -> tuple[specs.Rule, ...]:
    """Return the rules that apply to a replayed case, given the implementation's answers.

    If the implementation cannot be asked, all rules are returned; their verdicts give the reason.
    """
    return tuple(rule for rule in rules if run.verdict(rule).verdict not in NOT_JUDGING)


def answer_is_all_demanded(run: Run, rules: Sequence[specs.Rule]) -> bool:
    """True if all that rules demand of a replayed case is an answer, and the case now has one.

    A case without an answer would fail. The result is false if only some rules were selected,
    because the case may have broken another rule.
    """
    if run.plan.replay is None or run.plan.rules:
        return False
    trial, judged = run.plan.replay, run.judge()
    missing = [{"failed": "no answer"} for _ in trial.questions]
    return any(
        run.verdict(rule).verdict == "unexercised"
        and judged.implementation.evaluator.judge(rule.id, trial, missing).unanswered
        and not any(
            "failed" in one for _, given in judged.findings[rule.id].answered for one in given
        )
        for rule in rules
    )


ANSWERED = "it is answered now, and no rule of {profile} demands more of this case"
"""Text about a case that had failed because it got no answer, but is answered now."""


def why_no_rule_applies(run: Run, rules: Sequence[specs.Rule]) -> str:
    """Return a message saying that no rule applies to a replayed case, and why.

    If the rules have several reasons, the message gives the most frequent reason and how many rules
    have it. If the case only needs an answer, the message says that it has been answered.
    """
    if not rules:
        return f"{run.name}: no chosen rule of {run.profile} judges this case"
    if answer_is_all_demanded(run, rules):
        return f"{run.name}: {ANSWERED.format(profile=run.profile)}"
    reasons = Counter(run.verdict(rule).why for rule in rules)
    [(why, count)] = reasons.most_common(1)
    if len(reasons) > 1:
        why = f"for {count} of them: {why}"
    if len(rules) == 1:
        judged = f"the only chosen rule of {run.profile} does not apply to this case"
    else:
        judged = f"none of the {len(rules)} chosen rules of {run.profile} applies to this case"
    return f"{run.name}: {judged} ({why})"


BY_ANSWERS = ("found", "undecided", "mixed")
"""Values of `How` for a reading that depends on the answers."""


def why_not_fixed(run: Run) -> str:
    """Return why a replayed case that breaks no rule may still show a fault; otherwise "".

    The reason is a rule that the answers break under the readings with which the case was saved,
    if nothing but the answers decides that other readings are in force. Errors: `AdapterError`.
    """
    judged, trial = run.judge(), run.plan.replay
    given = [answers for one in judged.findings.values() for _, answers in one.answered]
    resolved = judged.implementation.resolved
    saved = {
        name: value
        for name, value in run.plan.replay_readings.items()
        if resolved.how.get(name) in BY_ANSWERS and value != resolved.chosen[name]
        if value in specs.load().open_values(run.profile, name)
    }
    if trial is None or not given or not saved:
        return ""

    def broken(choices: Mapping[str, str]) -> list[str]:
        under = judged.implementation.choosing(choices)
        return [
            rule.id
            for rule in run.rules
            if under.inapplicable(rule) is None
            and run.plan.deviation(rule.id, *run.implementation.names) is None
            and under.evaluator.judge(rule.id, trial, given[0]).word == "violated"
        ]

    if broken({}) or not broken(saved):
        return ""
    for name in [*saved]:
        fewer = {one: value for one, value in saved.items() if one != name}
        saved = fewer if broken(fewer) else saved
    listed = [f"{name}={value}" for name, value in saved.items()]
    now = [f"{name}={resolved.chosen[name]} ({resolved.how[name]})" for name in saved]
    return (
        f"breaks {', '.join(broken(saved))} under {', '.join(listed)}, as when the case was saved; "
        f"this replay judges by {', '.join(now)}; to judge as before, add "
        f"{' '.join(f'--reading {one}' for one in listed)}"
    )


def lines_on_rules_left_out(run: Run, judged: bool) -> Iterator[str]:
    """Yield lines that say which rules do not apply to a replayed case, and why.

    Rules with the same reason are listed together. If no rule applies, so that nothing is `judged`,
    a single line gives the most frequent reason. The last lines name readings that hide a fault.
    """
    if not judged:
        yield why_no_rule_applies(run, run.rules)
        return
    by_reason: dict[str, list[str]] = {}
    for rule in run.rules:
        verdict = run.verdict(rule)
        if verdict.verdict in NOT_JUDGING:
            by_reason.setdefault(verdict.why, []).append(rule.id)
    if by_reason:
        yield f"{run.name}: these rules of {run.profile} do not apply to this case:"
    for why, names in by_reason.items():
        yield from paragraph(f"{', '.join(names)}: {why}", 4, "  ")
    if why := why_not_fixed(run):
        yield from paragraph(f"{run.name} {why}", 2, "")
