"""Load reports of three brokers, saved as files at one time, or before and after a bundle moved."""

import json
from pathlib import Path

REPORTS = Path(__file__).parents[2] / "fixtures/reports/three-brokers/modular"
MOVED = "shop/eu/0x00000000_0x40000000"
RATES = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
MINUTES = 5


def save_snapshots(folder, count):
    """Save the reports; at the second time, a bundle has moved from broker-1 to broker-3."""
    reports = {one.stem: json.loads(one.read_text("utf-8")) for one in REPORTS.glob("*.json")}
    for number in range(count):
        if number:
            _move(reports["broker-1"], reports["broker-3"])
        (folder / f"time-{number}").mkdir(parents=True)
        for name, said in reports.items():
            at = said["lastUpdate"] + number * MINUTES * 60_000
            content = json.dumps({**said, "lastUpdate": at})
            (folder / f"time-{number}" / f"{name}.json").write_text(content, "utf-8")


def _move(source, target):
    source["bundles"].remove(MOVED)
    target["bundles"].append(MOVED)
    rates = target["lastStats"][MOVED] = source["lastStats"].pop(MOVED)
    for name in RATES:
        source[name] -= rates[name]
        target[name] += rates[name]
    source["cpu"]["usage"] /= 2
