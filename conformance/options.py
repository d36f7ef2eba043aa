"""The options of a run, defined once for the command line and for pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pulsar_conformance import specs
from pulsar_conformance.adapters.arguments import (
    ADAPTER,
    DEFAULT_PROFILE,
    TIME_LIMIT,
    limits_of,
    seconds,
)
from pulsar_conformance.conformance.engine.plan import BadPlan, Plan

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
        "help": f"the documents or release to judge by ({DEFAULT_PROFILE}); repeatable",
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
        "help": "follow this alternative of a reading; repeatable",
    },
    "--rules": {
        "action": "append",
        "metavar": "PATTERN",
        "help": "judge only rules whose ID matches, as in 'OVERLOAD-*'; repeatable",
    },
    "--known-deviations": {
        "metavar": "FILE",
        "help": "rules that are known to fail, with reasons; the run fails if one of them passes",
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
    "--characterize": {
        "action": "store_true",
        "help": "find out which readings an implementation follows, and judge nothing",
    },
    "--out": {"default": OUT, "metavar": "DIR", "help": f"the folder for the results ({OUT})"},
}


ALIASES: Mapping[str, Sequence[str]] = {"--judge-by": ("--profile",)}
"""Other names of options on our own command line; under pytest they might clash with plug-ins."""


def add_options(
    add: Callable[..., object], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Add every option to a parser, by its `add_argument` or `addoption`."""
    for flag, given in OPTIONS.items():
        add(flag, *aliases.get(flag, ()), dest=destination(flag), **given)


def destination(flag: str) -> str:
    """Return the attribute in which a parser stores an option; no other plug-in uses it."""
    return "conformance_" + flag.strip("-").replace("-", "_")


def set_up(adapters: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Return the adapters' names, with the settings for those that take any. Errors: `BadPlan`."""
    bad = [text for text in settings if not all(text.partition("="))]
    if bad:
        raise BadPlan(f"--setting {bad[0]}: write NAME=VALUE, as in minUnloadMessage=1000")
    if settings and not any(name.startswith(CONFIGURABLE) for name in adapters):
        raise BadPlan(f"--setting {settings[0]}: only {CONFIGURABLE}VERSION takes settings")
    more = "".join(f",set={text}" for text in settings)
    return [name + more if name.startswith(CONFIGURABLE) else name for name in adapters]


def plan_of(options: Any) -> Plan:
    """Return the plan that parsed options ask for. Errors: `BadPlan`."""

    def given(flag: str) -> Any:
        return getattr(options, destination(flag))

    return Plan.make(
        adapters=set_up(given("--adapter") or [], given("--setting") or []),
        profiles=given("--judge-by") or [DEFAULT_PROFILE],
        readings=given("--reading") or [],
        rules=given("--rules") or [],
        deviations=given("--known-deviations"),
        replay=given("--replay"),
        examples=given("--examples"),
        seed=given("--seed"),
        limits=limits_of(given("--time-limit")),
    )


def rules_folder() -> Path:
    """Return the folder of the rules in force."""
    return Path(specs.__file__).parent / "rules"
