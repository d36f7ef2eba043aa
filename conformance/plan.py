"""What a run is asked to do, and every mistake that can be made in asking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from pulsar_conformance import specs
from pulsar_conformance.adapters import AdapterError, Limits, check_name
from pulsar_conformance.conformance import deviations as known
from pulsar_conformance.conformance import saved
from pulsar_conformance.conformance.saved import Saved
from pulsar_conformance.conformance.trial import Trial

ENOUGH_EXAMPLES = 100
"""With so many examples a rule that no case reached fails the run."""


class BadPlan(Exception):
    """A mistake in what was asked for: what is wrong, and what there is."""


@dataclass(frozen=True)
class Plan:
    """A run: which implementations, by which profiles and readings, on how many cases."""

    adapters: tuple[str, ...]
    profiles: tuple[str, ...]
    readings: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    """Patterns of rule IDs; none is all."""
    deviations: tuple[known.Deviation, ...] = ()
    replay: Trial | None = None
    replay_file: str = ""
    saved: tuple[Saved, ...] = ()
    examples: int = 100
    seed: int = 0
    root: Path = Path()
    """Where failing cases are saved."""
    limits: Limits = field(default_factory=Limits)
    """How long an implementation may take."""

    @classmethod
    def make(
        cls,
        adapters: Sequence[str],
        profiles: Sequence[str],
        readings: Sequence[str] = (),
        rules: Sequence[str] = (),
        deviations: str | None = None,
        replay: str | None = None,
        examples: int = 100,
        seed: int = 0,
        root: Path | None = None,
        limits: Limits | None = None,
    ) -> Plan:
        """From what stands on a command line.

        Errors: `BadPlan` with one message for whatever cannot be done.
        """
        root = root or Path()
        try:
            for profile in profiles:
                specs.load().profile(profile)
            for adapter in adapters:
                check_name(adapter)
            chosen = chosen_readings(readings)
            listed = known.load(Path(deviations)) if deviations else ()
            earlier = () if replay else tuple(saved.saved_before(root))
            trial = _replayed(replay, profiles) if replay else None
        except (AdapterError, specs.UnknownName, specs.SpecError, saved.BadCase) as wrong:
            raise BadPlan(str(wrong)) from None
        if examples < 1:
            raise BadPlan(f"--examples {examples}: at least one case must be drawn")
        plan = cls(
            tuple(dict.fromkeys(adapters)), tuple(dict.fromkeys(profiles)), chosen, tuple(rules),
            listed, trial, replay or "", earlier, examples, seed, root, limits or Limits(),
        )  # fmt: skip
        plan._check_rules()
        return plan

    def _check_rules(self) -> None:
        every = specs.load().rules
        for pattern in self.rules:
            if not any(fnmatchcase(rule, pattern) for rule in every):
                raise BadPlan(str(specs.UnknownName(pattern, "rule", every)))
        if not any(self.rules_of(profile) for profile in self.profiles):
            chosen = f" that {', '.join(self.rules)} names" if self.rules else ""
            raise BadPlan(f"{', '.join(self.profiles)} has no rule{chosen}")
        if self.replay is not None and not any(map(self.replayable, self.profiles)):
            asks = ", ".join(sorted(self.replay.operations))
            raise BadPlan(f"--replay: the case asks {asks}; no rule chosen judges that")

    def rules_of(self, profile: str) -> tuple[specs.Rule, ...]:
        """The testable rules of a profile that were chosen, in order."""
        return tuple(
            rule
            for rule in specs.load().rules_of(profile)
            if rule.untestable is None and self.chooses(rule.id)
        )

    def replayable(self, profile: str) -> tuple[specs.Rule, ...]:
        """The rules of a profile that a replayed case concerns."""
        asked = self.replay.operations if self.replay else frozenset()
        return tuple(rule for rule in self.rules_of(profile) if asked & set(rule.operations))

    @property
    def enough(self) -> bool:
        """Whether so many cases are tried that a rule which none reaches fails the run."""
        return self.replay is None and self.examples >= ENOUGH_EXAMPLES

    def chooses(self, rule: str) -> bool:
        """Whether a rule was chosen."""
        return not self.rules or any(fnmatchcase(rule, pattern) for pattern in self.rules)

    def deviation(self, rule: str, *names: str) -> known.Deviation | None:
        """The entry of the known deviations for a rule and an implementation; its own first."""
        found = [one for one in self.deviations if one.concerns(rule, *names)]
        return min(found, key=lambda one: one.implementation is None, default=None)


def chosen_readings(readings: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as readings. Errors: `BadPlan`, `specs.UnknownName`."""
    chosen: dict[str, str] = {}
    for text in readings:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadPlan(f"--reading {text}: write NAME=VALUE, as in overload-amount=margin")
        if chosen.get(name, value) != value:
            raise BadPlan(f"--reading {text}: {name} is {chosen[name]} already")
        chosen[name] = value
    specs.load().check_readings(chosen)
    return chosen


def _replayed(file: str, profiles: Sequence[str]) -> Trial:
    [trial, _] = saved.load(Path(file), specs.load().defaults(profiles[0]))
    return trial
