"""Plan: the validated options of a run."""

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
    ADAPTER_HELP,
    DEFAULT_PROFILE,
    TIME_LIMIT_HELP,
    limits_within,
    parse_seconds,
    profile_of_version,
)
from pulsar_conformance.adapters.names import check_name
from pulsar_conformance.conformance.cases import saved
from pulsar_conformance.conformance.cases.saved import (
    NOT_SEARCHED,
    Campaign,
    SavedTrial,
    SearchResult,
)
from pulsar_conformance.conformance.common.trial import KnownAnswers, Trial
from pulsar_conformance.specs.errors import UserError

if TYPE_CHECKING:
    from pulsar_conformance.conformance.cases.deviations import Deviation
    from pulsar_conformance.conformance.engine.evaluate import Outcome

ENOUGH_EXAMPLES = 100
"""Number of examples per rule from which a rule that no case reaches fails the run."""


class BadPlan(UserError):
    """Raised for invalid options; the message says what is wrong, and which values are valid."""


class UnusableCase(BadPlan):
    """Raised for a case file that cannot be replayed."""


class NothingToJudge(BadPlan):
    """Raised for a replay if no selected rule judges the case."""


@dataclass(frozen=True)
class Plan:
    """The options of a run: implementations, profiles, readings, rules, number of cases."""

    adapters: tuple[str, ...]
    profiles: tuple[str, ...]
    readings: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    """Patterns of the IDs of selected rules; empty selects all rules."""
    deviations: tuple[Deviation, ...] = ()
    replay: Trial | None = None
    """The only trial to ask, from a case file; None to draw trials."""
    replay_file: str = ""
    saved: tuple[SavedTrial, ...] = ()
    """The cases that earlier runs saved."""
    examples: int = 100
    """Number of trials to draw for each rule."""
    seed: int = 0
    root: Path = Path()
    """The folder in which failing cases are saved."""
    limits: Limits = field(default_factory=Limits)
    """The time limits of an implementation."""
    campaign: Campaign | None = None
    """Results of a campaign that ended before the run; its cases replace drawn cases."""
    excluded: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By adapter: the alternatives that its answers had excluded when the replayed case was
    saved.
    """
    fail_fast: bool = False
    """True if the run ends at the first broken rule."""
    replay_readings: Mapping[str, str] = field(default_factory=dict)
    """The readings by which the replayed case was judged when it was saved."""
    known: KnownAnswers[Outcome] = field(default_factory=KnownAnswers, compare=False, repr=False)
    """The answers that implementations of this run have given."""

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
        fail_fast: bool = False,
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
            chosen = chosen_readings(readings, *profiles)
            listed = _load_deviations(deviations) if deviations else ()
            earlier = () if replay else tuple(saved.load_earlier_cases(root))
            replayed = _load_replayed(replay, profiles) if replay else None
        except saved.BadCase as error:
            raise UnusableCase(str(error)) from None
        except (AdapterError, specs.UnknownName, specs.SpecError) as error:
            raise BadPlan(str(error)) from None
        if examples < 1:
            raise BadPlan(f"--examples {examples}: at least one case must be drawn")
        plan = cls(
            tuple(dict.fromkeys(adapters)), tuple(dict.fromkeys(profiles)), chosen, tuple(rules),
            listed, replayed and replayed.trial, replay or "", earlier,
            examples, seed, root, limits or Limits(),
            saved.load_campaign(Path(campaign)) if campaign else None,
            (replayed and replayed.excluded) or {}, fail_fast,
            (replayed and replayed.readings) or {},
        )  # fmt: skip
        plan._check_rules()
        return plan

    def _check_rules(self) -> None:
        for pattern in self.rules:
            try:
                specs.load().rules_matching(pattern)
            except specs.UnknownName as error:
                raise BadPlan(str(error)) from None
        if not any(self.rules_of(profile) for profile in self.profiles):
            chosen = f" that matches {', '.join(self.rules)}" if self.rules else ""
            raise BadPlan(f"{', '.join(self.profiles)} has no rule{chosen}")
        if self.replay is not None and not any(map(self.replayable, self.profiles)):
            asks = ", ".join(sorted(self.replay.operations))
            raise NothingToJudge(
                f"--replay: the case is about {asks}, which no selected rule judges"
            )

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

    def campaign_results(self, adapter: str, profile: str, rule: str) -> SearchResult:
        """Return the campaign's results for a rule; `NOT_SEARCHED` if it has none."""
        found = self.campaign.found if self.campaign else {}
        return found.get((adapter, profile, rule), NOT_SEARCHED)

    @property
    def draws_enough(self) -> bool:
        """True if so many cases are drawn that a rule reached by none of them fails the run."""
        drawn = self.campaign is None or "campaign" in self.campaign.about
        return self.replay is None and drawn and self.examples >= ENOUGH_EXAMPLES

    def chooses(self, rule: str) -> bool:
        """True if a rule is selected by the patterns and, in a campaign, also by the campaign."""
        if self.campaign is not None and all(rule != one for _, _, one in self.campaign.found):
            return False
        return not self.rules or any(fnmatchcase(rule, pattern) for pattern in self.rules)

    def deviation(self, rule: str, *names: str) -> Deviation | None:
        """Return the known deviation from a rule by an implementation with one of these names.

        An entry for the implementation is preferred to an entry that names no implementation. None
        if there is no such entry.
        """
        found = [one for one in self.deviations if one.concerns(rule, *names)]
        return min(found, key=lambda one: one.implementation is None, default=None)

    def deviations_of_other_versions(self, rule: str, *names: str) -> Sequence[Deviation]:
        """Return the known deviations from a rule that are listed for other versions."""
        return [one for one in self._deviations_of_other_versions(*names) if one.rule == rule]

    def _deviations_of_other_versions(self, *names: str) -> Sequence[Deviation]:
        """Return the known deviations that are listed for other versions, closest first."""
        if not self.deviations:
            return ()
        from pulsar_conformance.conformance.cases.deviations import deviations_of_other_versions

        return deviations_of_other_versions(self.deviations, *names)

    def listed_readings(self, profile: str, *names: str) -> dict[str, str]:
        """Return the readings pinned by the run and by the list of known deviations.

        A version without entries of its own gets the readings listed for the closest version. The
        run's readings take precedence; readings that the profile does not leave open are dropped.
        """
        own = [one for one in self.deviations if one.concerns(one.rule, *names)]
        listed = {
            name: value
            for one in reversed([*own, *self._deviations_of_other_versions(*names)])
            for name, value in one.readings.items()
            if value in specs.load().open_values(profile, name)
        }
        return {**listed, **self.readings}


def chosen_readings(readings: Sequence[str], *profiles: str) -> dict[str, str]:
    """Parse readings given as `NAME=VALUE`; the profiles must permit them.

    Errors: `BadPlan`, `specs.UnknownName`.
    """
    chosen: dict[str, str] = {}
    for text in readings:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadPlan(f"--reading {text}: write NAME=VALUE, as in overload-amount=margin")
        if chosen.get(name, value) != value:
            raise BadPlan(f"--reading {text}: {name} is already given as {chosen[name]}")
        chosen[name] = value
    specs.load().check_readings(chosen)
    for profile in profiles:
        specs.load().check_open(profile, chosen)
    return chosen


def _load_deviations(file: str) -> tuple[Deviation, ...]:
    from pulsar_conformance.conformance.cases.deviations import load_deviations

    return load_deviations(fixtures.bundled_path(file))


def _load_replayed(file: str, profiles: Sequence[str]) -> SavedTrial:
    return saved.load_saved(fixtures.bundled_path(file), specs.load().defaults(profiles[0]))


OUT = "reports/out"
CONFIGURABLE = "pulsar:"
"""Prefix of the names of adapters that take settings."""

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--adapter": {
        "action": "append",
        "metavar": "ADAPTER",
        "help": f"{ADAPTER_HELP}; repeatable; without it, every bundled implementation that this "
        "machine can run",
    },
    "--judge-by": {
        "action": "append",
        "metavar": "PROFILE",
        "help": "the documents or release to judge by; the command `profiles` lists them; "
        f"repeatable (for a Pulsar release, those of its line; otherwise {DEFAULT_PROFILE})",
    },
    "--setting": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "a broker.conf setting of released Pulsar for all cases, even one that the "
        "suite switches off by default; repeatable",
    },
    "--reading": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "follow this alternative of a reading; the command `readings` lists them; "
        "repeatable",
    },
    "--rules": {
        "action": "append",
        "metavar": "PATTERN",
        "help": "judge only rules whose ID matches, as in 'OVERLOAD-*'; repeatable",
    },
    "--known-deviations": {
        "metavar": "FILE",
        "help": "a file that lists rules known to fail, with reasons, or a folder of such files; "
        "the run fails if one of these rules passes",
    },
    "--replay": {
        "metavar": "FILE",
        "help": "judge only this saved case, by the rules that apply to it; for a folder, run "
        "every saved case again and list those that are FIXED",
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
    "--fail-fast": {
        "action": "store_true",
        "help": "end at the first broken rule; saved cases and worked examples are asked first",
    },
    "--time-limit": {"type": parse_seconds, "metavar": "SECONDS", "help": TIME_LIMIT_HELP},
    "--exhaustive": {
        "action": "append",
        "nargs": "?",
        "const": "*",
        "metavar": "WORLD",
        "help": "instead of drawing cases, run every case of the bounded worlds whose name "
        "matches, such as 'shed.select*' (all worlds); repeatable",
    },
    "--campaign": {
        "type": int,
        "metavar": "N",
        "help": "draw N cases for each rule, in parts of 1000 that can be resumed",
    },
    "--spark": {
        "metavar": "TARGET",
        "help": "run the parts of --campaign or --exhaustive as tasks of the Spark at TARGET: "
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

CAMPAIGN_FILE_OPTION = "--campaign-file"
"""Name of the pytest option for the file with the results of a campaign."""

ALIASES: Mapping[str, Sequence[str]] = {"--judge-by": ("--profile",)}
"""Aliases of options of `pulsar-conformance run`; under pytest they could clash with plug-ins."""


def add_options(
    add: Callable[..., object], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Add every option to a parser; `add` is its method `add_argument` or `addoption`."""
    for flag, given in OPTIONS.items():
        add(flag, *aliases.get(flag, ()), dest=option_attribute(flag), **given)


def option_attribute(flag: str) -> str:
    """Return the attribute in which parsers store an option; a prefix avoids name clashes."""
    return "conformance_" + flag.strip("-").replace("-", "_")


def with_settings_added(adapters: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Return the adapters' names, with settings appended for the adapters that take them.

    Errors: `BadPlan` for a malformed setting, or if no adapter takes settings.
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
        return getattr(options, option_attribute(flag))

    return Plan.make(
        adapters=with_settings_added(given("--adapter") or [], given("--setting") or []),
        profiles=given("--judge-by") or [profile_of_version(given("--adapter") or [])],
        readings=given("--reading") or [],
        rules=given("--rules") or [],
        deviations=given("--known-deviations"),
        replay=given("--replay"),
        examples=given("--examples"),
        seed=given("--seed"),
        limits=limits_within(given("--time-limit")),
        campaign=getattr(options, option_attribute(CAMPAIGN_FILE_OPTION), None),
        fail_fast=given("--fail-fast"),
    )


def rules_folder() -> Path:
    """Return the folder of the bundled rules."""
    return Path(specs.__file__).parent / "rules"
