"""The size of a fleet, the length of its history, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pulsar_conformance.specs.errors import UserError

MINUTE = 60
START = 1_795_132_800
"""Time at which every history starts, in seconds since 1970: 2026-11-20T00:00:00Z."""

SHEDDING_ENABLED = "loadBalancerSheddingEnabled"
STRATEGY = "loadBalancerLoadSheddingStrategy"
SHEDDING_INTERVAL = "loadBalancerSheddingIntervalMinutes"
REPORT_INTERVAL = "loadBalancerReportUpdateMaxIntervalMinutes"
GRACE = "loadBalancerSheddingGracePeriodMinutes"
AUTO_UNLOAD = "loadBalancerAutoUnloadSplitBundlesEnabled"
HISTORY_SHARE = "loadBalancerHistoryResourcePercentage"

FLEET_DEFAULTS: Mapping[str, Any] = {
    SHEDDING_ENABLED: True,
    GRACE: 30,
    HISTORY_SHARE: 0,
    "loadBalancerBrokerOverloadedThresholdPercentage": 75,
    "loadBalancerBrokerThresholdShedderPercentage": 10,
    "loadBalancerMsgRateDifferenceShedderThreshold": 50,
    "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": 1.8,
    "lowerBoundarySheddingEnabled": False,
    "loadBalancerAutoBundleSplitEnabled": True,
    AUTO_UNLOAD: True,
}
"""Default settings of fleets. Some of them have no documented default."""

LATER_GRACE = 20
"""Grace period in the second half of a history, in minutes, unless the user gives one."""

DELAY_DIVISOR = 12
"""The maximum delay of a report is the length of a period divided by this number."""

ENDS, THRESHOLD = "ends", "threshold"
"""Names of the two troubles that decide which events or reports occur at all."""

REPORT_ON_CHANGE = 3
"""Number of periods after which a broker reports even if its load has not changed."""

MINIMUMS = {"clusters": 1, "brokers": 1, "bundles": 1, "hours": 1, "report": 1, "interval": 1}
OPTION_NAMES = {"report": "--report-minutes"}


NO_ADAPTER = "none"
"""Name that stands for no adapter, so that no bundle is unloaded."""

SLIDING = "sliding"
"""Alternative of the reading `window` by which simulated leaders compute averages."""

MAX_DAMAGE = 0.5


class BadFleet(UserError):
    """An error: the fleet cannot be simulated. The message is one sentence."""


@dataclass(frozen=True)
class Fleet:
    """Properties of the fleet to simulate.

    `bundles` is the initial number of bundles of each broker. `report` is the number of minutes
    between two reports of a broker, and `interval` is the number of minutes between two shedding
    cycles.
    """

    clusters: int
    brokers: int
    bundles: int
    hours: int
    seed: int = 0
    report: int = 5
    interval: int = 5
    cycles: bool = True
    strategy: str = "ThresholdShedder"
    given: Mapping[str, Any] = field(default_factory=dict)
    """Settings that override `FLEET_DEFAULTS`; None removes a setting."""

    readings: Mapping[str, str] = field(default_factory=dict)
    """Readings of the deciding implementation that differ from the default ones."""

    jitter: int = 0
    """Maximum delay of each report, in seconds."""

    troubles: tuple[str, ...] = ()
    """Names of the fleet's troubles, as in `troubles.TROUBLES`."""

    def __post_init__(self) -> None:
        if self.readings.get("window", SLIDING) != SLIDING:
            problem = "the averages of a fleet always cover the newest samples; omit this reading"
            raise BadFleet(f"--reading window={self.readings['window']}: {problem}")
        for name, least in MINIMUMS.items():
            if getattr(self, name) < least:
                option = OPTION_NAMES.get(name, f"--{name}")
                raise BadFleet(f"{option} {getattr(self, name)}: give {least} or more")
        if self.interval % self.report:
            problem = f"it is not a multiple of --report-minutes {self.report}"
            raise BadFleet(f"--interval {self.interval}: {problem}, so cycles would lack reports")
        if not 0 <= self.jitter <= self.period_seconds // DELAY_DIVISOR:
            most = self.period_seconds // DELAY_DIVISOR
            problem = f"give at most {most}, so that reports precede the cycle"
            raise BadFleet(f"--jitter {self.jitter}: {problem}")
        if self.hours * MINUTE % self.interval:
            problem = f"{self.hours} hours are not a whole number of such intervals"
            raise BadFleet(f"--interval {self.interval}: {problem}")

    @property
    def periods(self) -> int:
        """Number of periods of the history, in each of which a broker reports once."""
        return self.hours * MINUTE // self.report

    @property
    def cycle_periods(self) -> int:
        """Number of periods from one cycle to the next."""
        return self.interval // self.report

    @property
    def period_seconds(self) -> int:
        """Length of a period in seconds."""
        return self.report * MINUTE

    @property
    def initial_bundles(self) -> int:
        """Initial number of bundles in a cluster."""
        return self.brokers * self.bundles

    @property
    def settings(self) -> dict[int, dict[str, Any]]:
        """The settings, by the first period in which they apply.

        Half-way through the history, the grace period becomes shorter, unless the user gives one.
        """
        reports = self.report * (REPORT_ON_CHANGE if THRESHOLD in self.troubles else 1)
        own = {
            STRATEGY: self.strategy,
            SHEDDING_INTERVAL: self.interval,
            REPORT_INTERVAL: reports,
        }
        both = {**FLEET_DEFAULTS, **own, **self.given}
        first = {name: value for name, value in both.items() if value is not None}
        half = self.periods // 2 // self.cycle_periods * self.cycle_periods
        if GRACE in self.given or not half:
            return {0: first}
        return {0: first, half: {**first, GRACE: LATER_GRACE}}

    def period_start(self, period: int) -> int:
        """Return the start of a period in seconds since 1970."""
        return START + period * self.period_seconds

    def cluster(self, number: int) -> str:
        """Return the name of a cluster, given its number from 0."""
        return f"fleet-{number + 1:0{len(str(self.clusters))}}"

    def broker(self, number: int) -> str:
        """Return the name of a broker, given its number from 0."""
        return f"broker-{number + 1:0{len(str(self.brokers))}}:8080"

    def is_cycle_due(self, period: int) -> bool:
        """True if a cycle is due at the start of a period."""
        return period > 0 and period % self.cycle_periods == 0


@dataclass(frozen=True)
class HistoryOptions:
    """Properties of a history other than its size.

    `damaged` is the share of lines that are damaged copies.
    """

    decided_by: str = NO_ADAPTER
    planted: tuple[str, ...] = ()
    damaged: float = 0.0
    format: str = "json"

    def __post_init__(self) -> None:
        if not 0 <= self.damaged <= MAX_DAMAGE:
            problem = f"give a share from 0 to {MAX_DAMAGE:g}"
            raise BadFleet(f"--damage {self.damaged:g}: {problem}")
        if self.planted and self.decided_by == NO_ADAPTER:
            problem = (
                "it needs an implementation that decides; give one, such as --decided-by reference"
            )
            raise BadFleet(f"--plant {self.planted[0]}: {problem}")
