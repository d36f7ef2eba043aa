"""Plan: the options of a run, checked for all mistakes that users can make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pulsar_conformance import fixtures, specs
from pulsar_conformance.adapters import AdapterError, Limits
from pulsar_conformance.adapters.arguments import (
    ADAPTER,
    DEFAULT_PROFILE,
    TIME_LIMIT,
    limits_of,
    seconds,
    usual_profile,
)
from pulsar_conformance.adapters.names import check_name
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.saved import NOT_SEARCHED, Campaign, Saved, Searched
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.specs.errors import UserError

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.deviations import Deviation

ENOUGH_EXAMPLES = 100
"""Minimum number of examples for the run to fail if no case reaches a rule."""


class BadPlan(UserError):
    """Invalid options; the message says what is wrong and what would be valid."""


class UnusableCase(BadPlan):
    """A case file that cannot be used."""


class NothingToJudge(BadPlan):
    """None of the selected rules judges the replayed case."""


@dataclass(frozen=True)
class Plan:
    """A run: its implementations, profiles, readings and number of cases."""

    adapters: tuple[str, ...]
    profiles: tuple[str, ...]
    readings: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    """Patterns of rule IDs; empty means all."""
    deviations: tuple[Deviation, ...] = ()
    replay: Trial | None = None
    replay_file: str = ""
    saved: tuple[Saved, ...] = ()
    examples: int = 100
    seed: int = 0
    root: Path = Path()
    """The folder for failing cases."""
    limits: Limits = field(default_factory=Limits)
    """The time limits of an implementation."""
    campaign: Campaign | None = None
    """The campaign that was asked before; its cases replace drawn ones."""

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
        campaign: str | None = None,
    ) -> Plan:
        """Build a plan from command-line values.

        Errors: `BadPlan` for the first mistake.
        """
        root = root or Path()
        try:
            for profile in profiles:
                specs.load().profile(profile)
            for adapter in adapters:
                check_name(adapter)
            chosen = chosen_readings(readings)
            for profile in profiles:
                specs.load().check_open(profile, chosen)
            listed = _load_deviations(deviations) if deviations else ()
            earlier = () if replay else tuple(saved.saved_before(root))
            trial = _load_replayed(replay, profiles) if replay else None
        except saved.BadCase as wrong:
            raise UnusableCase(str(wrong)) from None
        except (AdapterError, specs.UnknownName, specs.SpecError) as wrong:
            raise BadPlan(str(wrong)) from None
        if examples < 1:
            raise BadPlan(f"--examples {examples}: at least one case must be drawn")
        plan = cls(
            tuple(dict.fromkeys(adapters)), tuple(dict.fromkeys(profiles)), chosen, tuple(rules),
            listed, trial, replay or "", earlier, examples, seed, root, limits or Limits(),
            saved.load_campaign(Path(campaign)) if campaign else None,
        )  # fmt: skip
        plan._check_rules()
        return plan

    def _check_rules(self) -> None:
        for pattern in self.rules:
            try:
                specs.load().rules_matching(pattern)
            except specs.UnknownName as wrong:
                raise BadPlan(str(wrong)) from None
        if not any(self.rules_of(profile) for profile in self.profiles):
            chosen = f" that {', '.join(self.rules)} names" if self.rules else ""
            raise BadPlan(f"{', '.join(self.profiles)} has no rule{chosen}")
        if self.replay is not None and not any(map(self.replayable, self.profiles)):
            asks = ", ".join(sorted(self.replay.operations))
            raise NothingToJudge(f"--replay: the case asks {asks}; no chosen rule judges that")

    def rules_of(self, profile: str) -> tuple[specs.Rule, ...]:
        """Return the selected, testable rules of a profile, in order."""
        return tuple(
            rule
            for rule in specs.load().rules_of(profile)
            if rule.untestable is None and self.chooses(rule.id)
        )

    def replayable(self, profile: str) -> tuple[specs.Rule, ...]:
        """Return the rules of a profile that judge the replayed case."""
        asked = self.replay.operations if self.replay else frozenset()
        return tuple(rule for rule in self.rules_of(profile) if asked & set(rule.operations))

    def searched(self, adapter: str, profile: str, rule: str) -> Searched:
        """Return the results of a campaign for a rule."""
        found = self.campaign.found if self.campaign else {}
        return found.get((adapter, profile, rule), NOT_SEARCHED)

    @property
    def enough(self) -> bool:
        """True if enough cases are drawn for the run to fail when none exercises a rule."""
        drawn = self.campaign is None or "campaign" in self.campaign.about
        return self.replay is None and drawn and self.examples >= ENOUGH_EXAMPLES

    def chooses(self, rule: str) -> bool:
        """True if a rule is selected."""
        if self.campaign is not None and all(rule != one for _, _, one in self.campaign.found):
            return False
        return not self.rules or any(fnmatchcase(rule, pattern) for pattern in self.rules)

    def deviation(self, rule: str, *names: str) -> Deviation | None:
        """Return the known deviation from a rule, preferably the implementation's own entry."""
        found = [one for one in self.deviations if one.concerns(rule, *names)]
        return min(found, key=lambda one: one.implementation is None, default=None)

    def of_other_versions(self, rule: str, *names: str) -> Sequence[Deviation]:
        """Return known deviations from a rule that are listed for other versions."""
        return [one for one in self._of_kindred(*names) if one.rule == rule]

    def _of_kindred(self, *names: str) -> Sequence[Deviation]:
        """Return the known deviations that are listed for other versions, closest first."""
        if not self.deviations:
            return ()
        from pulsar_conformance.conformance.cases.deviations import of_other_versions

        return of_other_versions(self.deviations, *names)

    def listed_readings(self, profile: str, *names: str) -> dict[str, str]:
        """Return the readings pinned by an implementation's list of known deviations.

        For a version without a list, those are the readings of the closest version. Readings that
        the run pins take precedence; readings that the profile does not leave open are dropped.
        """
        own = [one for one in self.deviations if one.concerns(one.rule, *names)]
        listed = {
            name: value
            for one in reversed([*own, *self._of_kindred(*names)])
            for name, value in one.readings.items()
            if value in specs.load().open_values(profile, name)
        }
        return {**listed, **self.readings}


def chosen_readings(readings: Sequence[str]) -> dict[str, str]:
    """Parse readings given as `NAME=VALUE`. Errors: `BadPlan`, `specs.UnknownName`."""
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


def _load_deviations(file: str) -> tuple[Deviation, ...]:
    from pulsar_conformance.conformance.cases.deviations import load_deviations

    return load_deviations(fixtures.shipped(file))


def _load_replayed(file: str, profiles: Sequence[str]) -> Trial:
    return saved.load_saved(fixtures.shipped(file), specs.load().defaults(profiles[0])).trial


OUT = "reports/out"
CONFIGURABLE = "pulsar:"
"""Prefix of the adapters that take settings."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--adapter": {
        "action": "append",
        "metavar": "ADAPTER",
        "help": f"{ADAPTER}; repeatable; without it, every bundled implementation that this "
        "machine can run",
    },
    "--judge-by": {
        "action": "append",
        "metavar": "PROFILE",
        "help": "the documents or release to judge by, as the command profiles lists them; "
        f"repeatable (the documents of a named release's line, else {DEFAULT_PROFILE})",
    },
    "--setting": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "a broker.conf setting of released Pulsar for all cases, even if it is "
        "neutralized by default; repeatable",
    },
    "--reading": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "follow this alternative of a reading, as the command readings lists them; "
        "repeatable",
    },
    "--rules": {
        "action": "append",
        "metavar": "PATTERN",
        "help": "judge only rules whose ID matches, as in 'OVERLOAD-*'; repeatable",
    },
    "--known-deviations": {
        "metavar": "FILE",
        "help": "a file of rules known to fail, with reasons, or a folder of such files; the run "
        "fails if one of them passes",
    },
    "--replay": {
        "metavar": "FILE",
        "help": "judge only this saved case, by the rules that it reaches; for a folder, ask every "
        "saved case again and list those that are FIXED",
    },
    "--examples": {
        "type": int,
        "default": 100,
        "metavar": "N",
        "help": "how many cases to draw for each rule (100)",
    },
    "--seed": {
        "type": int,
        "default": 0,
        "metavar": "N",
        "help": "the seed; the same seed draws the same cases (0)",
    },
    "--time-limit": {"type": seconds, "metavar": "SECONDS", "help": TIME_LIMIT},
    "--exhaustive": {
        "action": "append",
        "nargs": "?",
        "const": "*",
        "metavar": "WORLD",
        "help": "instead of drawing cases, ask every case of the bounded worlds whose name "
        "matches, such as 'shed.select*' (all worlds); repeatable",
    },
    "--campaign": {
        "type": int,
        "metavar": "N",
        "help": "draw N cases for each rule, in parts of 1000 that can be resumed",
    },
    "--spark": {
        "metavar": "TARGET",
        "help": "ask the parts of --campaign or --exhaustive in tasks of the Spark at TARGET: "
        "local[N], spark://HOST:PORT or sc://HOST:PORT",
    },
    "--resume": {
        "action": "store_true",
        "help": "keep the parts that an interrupted --campaign or --exhaustive has completed",
    },
    "--characterize": {
        "action": "store_true",
        "help": "find out which readings an implementation follows, and judge nothing",
    },
    "--out": {"default": OUT, "metavar": "DIR", "help": f"the folder for the results ({OUT})"},
}

CAMPAIGN_FILE = "--campaign-file"
"""Option of pytest by which a run gets the results of its campaign."""

ALIASES: Mapping[str, Sequence[str]] = {"--judge-by": ("--profile",)}
"""Aliases of options on our own command line; under pytest they could clash with plug-ins."""


def add_options(
    add: Callable[..., object], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Add every option to a parser through its `add_argument` or `addoption`."""
    for flag, given in OPTIONS.items():
        add(flag, *aliases.get(flag, ()), dest=destination(flag), **given)


def destination(flag: str) -> str:
    """Return the attribute in which parsers store an option, with a prefix that avoids clashes."""
    return "conformance_" + flag.strip("-").replace("-", "_")


def set_up(adapters: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Return the adapters' names, with settings added to those that take them.

    Errors: `BadPlan`.
    """
    bad = [text for text in settings if not all(text.partition("="))]
    if bad:
        raise BadPlan(f"--setting {bad[0]}: write NAME=VALUE, as in minUnloadMessage=1000")
    if settings and not any(name.startswith(CONFIGURABLE) for name in adapters):
        raise BadPlan(f"--setting {settings[0]}: only {CONFIGURABLE}VERSION takes settings")
    more = "".join(f",set={text}" for text in settings)
    return [name + more if name.startswith(CONFIGURABLE) else name for name in adapters]


def plan_of(options: Any) -> Plan:
    """Build the plan from parsed options. Errors: `BadPlan`."""

    def given(flag: str) -> Any:
        return getattr(options, destination(flag))

    return Plan.make(
        adapters=set_up(given("--adapter") or [], given("--setting") or []),
        profiles=given("--judge-by") or [usual_profile(given("--adapter") or [])],
        readings=given("--reading") or [],
        rules=given("--rules") or [],
        deviations=given("--known-deviations"),
        replay=given("--replay"),
        examples=given("--examples"),
        seed=given("--seed"),
        limits=limits_of(given("--time-limit")),
        campaign=getattr(options, destination(CAMPAIGN_FILE), None),
    )


def rules_folder() -> Path:
    """Return the folder of the bundled rules."""
    return Path(specs.__file__).parent / "rules"
