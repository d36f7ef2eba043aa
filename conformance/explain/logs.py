"""Unloads in a broker's log: the figures of each line, recomputed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pulsar_conformance.conformance.cases.saved import BadCase
from pulsar_conformance.specs.text import counted, paragraph

MARGIN = 5
"""Percentage points that a broker sheds beyond its excess."""

SAME = 1e-4
"""Relative difference up to which a figure of a line counts as the recomputed one."""

NUMBER = r"([-\d.E]+)"
LARGEST_FRACTION = 2
"""Usage up to this is a fraction: a broker at 2 % plans no unload."""

MEBIBYTE = 1024 * 1024
MEGABYTE = 1_000_000

Figures = tuple[str, ...]


def log_lines(file: Path) -> Iterator[str]:
    """Yield each unload that a log plans, with its arithmetic and whether its figures agree.

    Errors: `BadCase` for a file without any such line.
    """
    try:
        text = file.read_text("utf-8", errors="replace")
    except OSError as wrong:
        raise BadCase(f"{file}: {wrong.strerror or wrong}") from None
    found = others = 0
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, explain in PATTERNS.items():
            if matched := pattern.search(line):
                found += 1
                yield f"{file}:{number}"
                for part in explain(matched.groups()):
                    yield from paragraph(part, 4, "  ")
                break
        else:
            others += "Shedder" in line
    if not found:
        raise BadCase(f"{file}: no line plans an unload by ThresholdShedder or OverloadShedder")
    yield f"{counted(found, 'line')} explained"
    if others:
        yield f"{counted(others, 'other line')} of shedders without figures to check"


def _over_average(figures: Figures) -> Iterator[str]:
    """Explain a line of ThresholdShedder: usage, average, threshold, to shed, left."""
    broker, *texts = figures
    usage, average, threshold, planned, left = map(float, texts)
    usage, average, threshold = _percent(usage, average, threshold)
    yield f"ThresholdShedder, {broker}: {usage:.2f} % is over {average:.2f} + {threshold:g} %"
    share = usage - average - threshold + MARGIN
    total = planned + left
    arithmetic = f"{usage:.2f} - ({average:.2f} + {threshold:g}) + {MARGIN}"
    yield f"to shed: {arithmetic} = {share:.2f} % of {_rate(total)} = {_rate(share / 100 * total)}"
    yield _verdict(planned, share / 100 * total)


def _over_threshold(figures: Figures) -> Iterator[str]:
    """Explain a line of OverloadShedder: usage, threshold, to shed, and resources if listed."""
    broker, *texts, resources = figures
    usage, threshold, planned = map(float, texts)
    usage, threshold = _percent(usage, threshold)
    yield f"OverloadShedder, {broker}: {usage:.2f} % is over {threshold:g} %"
    share = usage - threshold + MARGIN
    yield (
        f"to shed: {usage:.2f} - {threshold:g} + {MARGIN} = {share:.2f} % of its traffic, so "
        f"that {_rate(planned)} mean that it carried {_rate(100 * planned / share)}"
    )
    listed = {name: float(value) for name, value in re.findall(r"(\w+): ([\d.]+)%", resources)}
    if listed:
        busiest = max(listed, key=lambda name: listed[name])
        same = abs(listed[busiest] - usage) < 0.01
        yield f"its busiest resource is {busiest}, {listed[busiest]:g} %" + (
            "" if same else f", which is not {usage:.2f} %: heap memory or weights decide"
        )


def _below_floor(figures: Figures) -> Iterator[str]:
    """Explain a log line about an unload that is too small: the planned amount and the floor."""
    broker, planned, floor = figures
    yield f"ThresholdShedder, {broker}: it keeps all"
    name = "loadBalancerBundleUnloadMinThroughputThreshold"
    yield f"{_rate(float(planned))} to shed are below {float(floor):g} MiB/s, {name}"


def _sole_bundle(figures: Figures) -> Iterator[str]:
    bundle, broker = figures
    yield f"{broker}: {bundle} is its only bundle, which a release never unloads"


def _percent(*values: float) -> tuple[float, ...]:
    """Return values in percent; old releases print fractions of 1."""
    return tuple(100 * value for value in values) if max(values) <= LARGEST_FRACTION else values


def _rate(mebibytes: float) -> str:
    """Return a throughput in the unit of the log, with its decimal one."""
    return f"{mebibytes:.4g} MiB/s ({mebibytes * MEBIBYTE / MEGABYTE:.4g} MB/s)"


def _verdict(logged: float, computed: float) -> str:
    if abs(logged - computed) <= SAME * max(abs(computed), 1e-9):
        return "the line agrees"
    return f"the line differs: it says {logged:.6g} MiB/s"


PATTERNS: Mapping[re.Pattern[str], Callable[[Figures], Iterator[str]]] = {
    re.compile(
        r"shed load on (\S+), which has max resource usage above avgUsage\s+and threshold "
        rf"{NUMBER}% > {NUMBER}% \+ {NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic, "
        rf"left throughput {NUMBER} MByte/s"
    ): _over_average,
    re.compile(
        rf"shed load on (\S+), which has resource usage {NUMBER}% above threshold "
        rf"{NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic(.*)"
    ): _over_threshold,
    re.compile(
        rf"shed load on (\S+), which has max resource usage above threshold {NUMBER}% > "
        rf"{NUMBER}% -- Offloading at least {NUMBER} MByte/s of traffic(.*)"
    ): _over_threshold,
    re.compile(
        rf"\[(\S+)\] broker is planning to shed throughput {NUMBER} MByte/s less than "
        rf"minimumThroughputThreshold {NUMBER} MByte/s"
    ): _below_floor,
    re.compile(r"Sole namespace bundle (\S+) is overloading broker (\S+?)\. "): _sole_bundle,
}
"""Lines of the load balancer with figures, and how each is explained."""
