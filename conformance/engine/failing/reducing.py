"""The smallest trial on which an implementation breaks the same rule."""

from __future__ import annotations

from collections.abc import Sequence

from pulsar_conformance.adapters import AdapterError
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.engine.events import CaseReduced, Tell, nobody
from pulsar_conformance.conformance.engine.hearing import Hearing
from pulsar_conformance.conformance.engine.reduction import bounded, reduce, sparing

MOST_ASKED = 6
"""The most candidates to ask one by one: a cluster takes seconds for each."""

MOST_CANDIDATES = 6000
"""The most smaller cases that are asked to reduce one."""


def smallest(hearing: Hearing, trial: Trial, tell: Tell = nobody) -> Trial:
    """The smallest legal trial on which the implementation breaks the same rule.

    This is the original trial if it does not fail again, or if the implementation breaks down
    during the reduction. Where a case takes seconds, it is known to fail again.
    """
    subject, told = hearing.subject, hearing.tells_why(trial)

    def failing(candidates: Sequence[Trial]) -> list[bool]:
        legal = list(filter(subject.court.legal, candidates))
        tell(CaseReduced(subject.implementation.name, hearing.rule.id, len(legal)))
        broken = dict(zip(map(id, legal), hearing.own_faults(legal), strict=True))
        return [
            broken.get(id(one)) is not None and (not told or hearing.tells_why(one))
            for one in candidates
        ]

    few = hearing.costly or subject.implementation.hello.batch == 1
    asked = sparing(failing, MOST_ASKED) if few else failing
    try:
        again = hearing.costly or all(failing([trial]))
        return reduce(trial, bounded(asked, MOST_CANDIDATES)) if again else trial
    except AdapterError:
        return trial
