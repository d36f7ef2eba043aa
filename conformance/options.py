"""The options of a run, once, for the command line and for pytest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pulsar_conformance.adapters.arguments import (
    ADAPTER,
    DEFAULT_PROFILE,
    TIME_LIMIT,
    limits_of,
    seconds,
)
from pulsar_conformance.conformance.plan import Plan

OUT = "reports/out"

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--adapter": {
        "action": "append",
        "metavar": "ADAPTER",
        "help": f"{ADAPTER}; may be given again; without it, every bundled one that this machine "
        "can run",
    },
    "--judge-by": {
        "action": "append",
        "metavar": "PROFILE",
        "help": f"the documents or release to judge by ({DEFAULT_PROFILE}); may be given again",
    },
    "--reading": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "take a place that the documents leave open this way; may be given again",
    },
    "--rules": {
        "action": "append",
        "metavar": "PATTERN",
        "help": "only rules whose ID is like this, as in 'OVERLOAD-*'; may be given again",
    },
    "--known-deviations": {
        "metavar": "FILE",
        "help": "rules that are known to fail, with reasons; strict: one that passes fails the run",
    },
    "--replay": {
        "metavar": "FILE",
        "help": "judge this saved case alone, by the rules that it reaches",
    },
    "--examples": {
        "type": int,
        "default": 100,
        "metavar": "N",
        "help": "how many cases to draw for a rule (100)",
    },
    "--seed": {"type": int, "default": 0, "metavar": "N", "help": "draw other cases (0)"},
    "--time-limit": {"type": seconds, "metavar": "SECONDS", "help": TIME_LIMIT},
    "--characterize": {
        "action": "store_true",
        "help": "find out which readings an implementation follows, and judge nothing",
    },
    "--out": {"default": OUT, "metavar": "DIR", "help": f"where the products go ({OUT})"},
}


ALIASES: Mapping[str, Sequence[str]] = {"--judge-by": ("--profile",)}
"""Other names of options, on our own command line alone: pytest has plug-ins of its own."""


def add_options(
    add: Callable[..., object], aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Adds every option to a parser, by its `add_argument` or `addoption`."""
    for flag, given in OPTIONS.items():
        add(flag, *aliases.get(flag, ()), dest=destination(flag), **given)


def destination(flag: str) -> str:
    """The attribute in which a parser keeps an option; none that another plug-in uses."""
    return "conformance_" + flag.strip("-").replace("-", "_")


def plan_of(options: Any) -> Plan:
    """The plan that parsed options ask for. Errors: `BadPlan`."""

    def given(flag: str) -> Any:
        return getattr(options, destination(flag))

    return Plan.make(
        adapters=given("--adapter") or [],
        profiles=given("--judge-by") or [DEFAULT_PROFILE],
        readings=given("--reading") or [],
        rules=given("--rules") or [],
        deviations=given("--known-deviations"),
        replay=given("--replay"),
        examples=given("--examples"),
        seed=given("--seed"),
        limits=limits_of(given("--time-limit")),
    )
