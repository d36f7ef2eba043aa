"""The runs of a session: every implementation by every profile, asked concurrently."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from operator import itemgetter

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common import GC_THRESHOLDS
from pulsar_conformance.conformance.common.verdict import Verdict
from pulsar_conformance.conformance.engine.asking import at_once
from pulsar_conformance.conformance.engine.events import Tell
from pulsar_conformance.conformance.engine.plan import Plan
from pulsar_conformance.conformance.engine.run import Run

ASKED_AT_ONCE = 3
"""The most implementations to ask while others are judged."""


class Session:
    """The runs of a plan.

    If this is the only process, implementations in other processes are asked while cases are drawn
    for others, and while others are judged.
    """

    def __init__(self, plan: Plan, tell: Tell, alone: bool) -> None:
        self.plan = plan
        self._alone = alone
        self._collected = gc.get_threshold()
        gc.set_threshold(*GC_THRESHOLDS)
        self._prepared = False
        self._aside = ThreadPoolExecutor(ASKED_AT_ONCE, "asking")
        asking = self._aside.submit if alone else at_once
        self.runs = {
            (adapter, profile): Run(plan, adapter, profile, tell, asking)
            for adapter in plan.adapters
            for profile in plan.profiles
        }

    def verdict(self, run: Run, rule: specs.Rule) -> Verdict:
        """The verdict on a rule in a run."""
        if self._alone and not self._prepared:
            self._prepare()
        return run.verdict(rule)

    def _prepare(self) -> None:
        """Draws for each run, and has it asked in the background while more is drawn.

        An implementation that takes many cases at a time goes first, since it has most to do, and
        under the profile with the fewest rules, so that it begins early; one in this process goes
        last, as it is asked at once.
        """
        self._prepared = True
        able = []
        for run in self.runs.values():
            with suppress(AdapterError):  # each rule's verdict says so
                batch = run.implementation.hello.batch
                able.append((run.in_process, -batch, len(run.rules), run))
        for *_, run in sorted(able, key=itemgetter(0, 1, 2)):
            with suppress(AdapterError):
                run.prepare()

    def close(self) -> None:
        """Closes every connection."""
        gc.set_threshold(*self._collected)
        self._aside.shutdown(wait=False, cancel_futures=True)
        for run in self.runs.values():
            run.close()
