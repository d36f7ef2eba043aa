"""Shedding in operators' files: python -m release_cases.operators_sheds VERSION COUNT SEED FOLDER.

Each cluster is drawn as files in FOLDER: load reports and settings in one of several formats. `explain` reads
the files, and `ask pulsar:VERSION` answers the case that `case` makes of them. It prints the share of equal
decisions, then each different decision on a line.
"""

import json
import random
import re
import sys
from pathlib import Path

import yaml

from release_cases.common import IMPL, at_least, names, resource
from release_cases.operators_places import PORT, said

STRATEGIES = ("ThresholdShedder", "ThresholdShedder", "OverloadShedder", "UniformLoadShedder") + (
    "AvgShedder",
)
PLACEMENTS = ("loadBalancerLoadPlacementStrategy", "loadBalancerPlacementStrategy")
"""Settings that must also name AvgShedder if it sheds; 3.0 compares the second, later releases the
first.
"""


def settings(rng, version):
    """Return settings with values as strings, including settings that only the release has."""
    strategy = rng.choice(STRATEGIES)
    spelt = "Bandwidth" if at_least(version, "4.0.7") and rng.random() < 0.7 else "Bandwith"
    possible = {
        "loadBalancerLoadSheddingStrategy": IMPL + strategy,
        "loadBalancerBrokerThresholdShedderPercentage": rng.choice(["0", "5", "10", "25"]),
        "loadBalancerBrokerOverloadedThresholdPercentage": rng.choice(["50", "70", "85"]),
        "loadBalancerHistoryResourcePercentage": rng.choice(["0.0", "0.5", "0.9", "1.0"]),
        "lowerBoundarySheddingEnabled": rng.choice(["true", "false"]),
        "loadBalancerBundleUnloadMinThroughputThreshold": rng.choice(["0", "1", "10.0", "30"]),
        "loadBalancerMsgRateDifferenceShedderThreshold": rng.choice(["10", "50", "120.5"]),
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold": rng.choice(["1.2", "4"]),
        "maxUnloadPercentage": rng.choice(["0.1", "0.2", "0.5", "1.0"]),
        "minUnloadMessage": rng.choice(["1", "1000", "5000"]),
        "minUnloadMessageThroughput": rng.choice(["1", "1048576", "20000000"]),
        "maxUnloadBundleNumPerShedding": rng.choice(["-1", "1", "2"]),
        "loadBalancerCPUResourceWeight": rng.choice(["0.0", "0.5", "1.0"]),
        f"loadBalancer{spelt}InResourceWeight": rng.choice(["0.1", "0.5", "1.0"]),
        f"loadBalancer{spelt}OutResourceWeight": rng.choice(["0.1", "0.5", "1.0"]),
        "loadBalancerDirectMemoryResourceWeight": rng.choice(["0.0", "0.5", "1.0"]),
        "loadBalancerSheddingEnabled": rng.choice(["true", "true", "true", "false"]),
        "loadBalancerEnabled": rng.choice(["true", "true", "true", "false"]),
        "loadBalancerSheddingGracePeriodMinutes": rng.choice(["0", "30"]),
        "loadBalancerDistributeBundlesEvenlyEnabled": rng.choice(["true", "false"]),
        "loadBalancerBrokerMaxTopics": "50000",
        "loadBalancerAvgShedderHitCountHighThreshold": rng.choice(["1", "2"]),
        "loadBalancerAvgShedderHitCountLowThreshold": rng.choice(["1", "8"]),
        "loadBalancerAvgShedderLowThreshold": rng.choice(["5", "15"]),
        "loadBalancerAvgShedderHighThreshold": rng.choice(["20", "40"]),
    }
    both = dict.fromkeys(PLACEMENTS, IMPL + strategy) if strategy == "AvgShedder" else {}
    kept = {name: possible[name] for name in possible if rng.random() < 0.35}
    return kept | both | {name: possible[name] for name in list(possible)[:1]}


FORMS = {
    "broker.conf": lambda texts: "".join(f"{name} = {text}\n" for name, text in texts.items()),
    "runtime.json": json.dumps,
    "broker.env": lambda texts: "".join(
        f"PULSAR_PREFIX_{name}={one}\n" for name, one in texts.items()
    ),
    "values.yaml": lambda texts: yaml.safe_dump(
        {"broker": {"configData": {f"PULSAR_PREFIX_{name}": one for name, one in texts.items()}}}
    ),
}


def report(rng, usage, bundles, version):
    stats = {
        bundle: {
            "msgRateIn": rng.uniform(0, 6000),
            "msgRateOut": rng.uniform(0, 6000),
            "msgThroughputIn": rng.uniform(0, 2e7),
            "msgThroughputOut": rng.uniform(0, 2e7),
            "topics": 5,
        }
        for bundle in bundles
    }
    rates = ("msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut")
    totals = {name: sum(one[name] for one in stats.values()) for name in rates}
    kinds = ("cpu", "memory", "directMemory", "bandwidthIn", "bandwidthOut")
    used = {name: resource(rng, rng.uniform(1, 40)) for name in kinds}
    used[rng.choice(kinds)] = resource(rng, usage)
    return {
        **used,
        "bundles": list(stats),
        "lastStats": stats,
        **totals,
        "brokerVersionString": version,
    }


def cluster(rng, folder, version):
    """Write the files of a cluster; return the arguments that name them."""
    hosts = [
        f"broker-{number}.eu.example.com{PORT}" for number in range(rng.choice([1, 2, 3, 4, 6]))
    ]
    free = names("acme/orders", 64) + names("pulsar/system", 4)
    rng.shuffle(free)
    reports = folder / "reports"
    reports.mkdir(parents=True)
    for host in hosts:
        bundles = [free.pop() for _ in range(rng.choice([0, 1, 2, 4, 8]))]
        one = report(rng, rng.choice([10, 30, 60, 84, 91, 99]) + rng.random(), bundles, version)
        (reports / f"{host}.json").write_text(json.dumps(one))
    form = rng.choice(list(FORMS))
    (folder / form).write_text(FORMS[form](settings(rng, version)))
    return [str(reports), "--conf", str(folder / form)]


UNLOAD = re.compile(r"(\S+/0x\w+) of ([^\s,]+)")


def unloads(text):
    """Return the unloads in an explanation's answer, or the answer's text if it names none."""
    answer = text.partition("\nanswer\n")[2].partition("\n\n")[0]
    found = sorted((broker, bundle) for bundle, broker in UNLOAD.findall(answer))
    return found or ([] if "nothing" in answer else answer)


def main(version, count, seed, where):
    rng = random.Random(int(seed))
    explained, cases = [], []
    for number in range(int(count)):
        words = cluster(rng, Path(where) / str(number), version)
        explained.append(unloads(said("explain", *words)))
        cases.append(json.dumps(json.loads(said("case", *words))))
    questions = Path(where) / "cases.jsonl"
    questions.write_text("\n".join(cases) + "\n")
    answers = map(json.loads, said("ask", f"pulsar:{version}", str(questions)).splitlines())
    same = 0
    for number, (mine, answer) in enumerate(zip(explained, answers, strict=True)):
        theirs = answer.get("answer", answer).get("unload", answer)
        if isinstance(theirs, list):
            theirs = sorted((one["broker"], one["bundle"]) for one in theirs)
        same += mine == theirs
        if mine != theirs:
            print(
                json.dumps({"number": number, "explained": mine, "release": theirs}),
                file=sys.stderr,
            )
    some = sum(bool(mine) for mine in explained)
    print(f"{version}: {same} of {count} the same, {some} with unloads")


if __name__ == "__main__":
    main(*sys.argv[1:])
