"""Placements in operators' files: python -m release_cases.operators_places VERSION COUNT SEED.

Each placement is drawn as files: load reports, broker.conf, isolation policies with regular expressions, failure
domains, and groups. `explain --place` reads the files; the release's own classes get the same reports, and the
policies as they are written. It prints the share of equal decisions, then each different decision on a line.
"""

import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path

from pulsar_conformance.conformance.commands.main import main as command
from pulsar_conformance.conformance.common.trial import Trial
from pulsar_conformance.conformance.compare.changes_text import profile_of
from pulsar_conformance.conformance.explain.paper import FIRST_IN_TURN
from pulsar_conformance.conformance.explain.running import with_release_defaults
from pulsar_conformance.reference import Model

from release_cases.agreement import release
from release_cases.common import IMPL, at_least, names, resource

PORT = ":8080"
SPACES = ("acme/orders", "acme/bills", "bank/core", "pulsar/system")
HOSTS = tuple(f"broker-{number}.{zone}.example.com" for number in range(4) for zone in ("eu", "us"))
BROKERS = (
    r"broker-[01]\..*",
    r".*\.eu\.example\.com",
    r"broker-2\.us\.example\.com",
    r"broker-\d",
    ".*",
) + (
    r"\Qbroker-3.eu.example.com\E",
    r"broker-(?:0|3)\.(eu|us)\.example\.com",
    r"(?i)BROKER-1.*",
    r".*:8080",
)
NAMESPACES = ("acme/.*", "acme/orders", "bank/core", r"[a-z]+/(orders|core)", "acme", ".*")

POLICIES = ("eu", "us-prod", "policy-1", "acme isolation", "Z")


def policy(rng):
    chosen = {
        "namespaces": rng.sample(NAMESPACES, rng.choice([1, 1, 2])),
        "primary": rng.sample(BROKERS, rng.choice([0, 1, 1, 2])),
        "secondary": rng.sample(BROKERS, rng.choice([0, 0, 1, 2])),
    }
    least = {
        "min_limit": str(rng.choice([0, 1, 1, 2, 5])),
        "usage_threshold": str(rng.choice([1, 80, 100])),
    }
    return {**chosen, "auto_failover_policy": {"policy_type": "min_available", "parameters": least}}


def conf(rng, version):
    """Return settings with values as strings, as in a broker.conf."""
    strategies = ["LeastLongTermMessageRate"]
    if at_least(version, "3.0.7"):
        strategies += ["LeastResourceUsageWithWeight", "RoundRobinBrokerSelector"]
    possible = {
        "loadBalancerBrokerMaxTopics": rng.choice(["100", "50000"]),
        "loadBalancerDistributeBundlesEvenlyEnabled": rng.choice(["true", "false"]),
        "preferLaterVersions": rng.choice(["true", "false"]),
        "failureDomainsEnabled": rng.choice(["true", "false"]),
        "loadBalancerBrokerOverloadedThresholdPercentage": rng.choice(["60", "85", "95"]),
        "loadBalancerLoadPlacementStrategy": IMPL + rng.choice(strategies),
        "loadBalancerAverageResourceUsageDifferenceThresholdPercentage": rng.choice(
            ["0", "5", "20"]
        ),
        "loadBalancerCPUResourceWeight": rng.choice(["0.5", "1.0"]),
    }
    return {name: possible[name] for name in possible if rng.random() < 0.4}


def drawn(rng, version):
    """Return an operator's reports by host, settings, policies, domains and groups, and the bundle."""
    hosts = rng.sample(HOSTS, rng.choice([1, 2, 3, 4, 5]))
    reports = {
        host: {
            **{
                name: resource(rng, rng.choice([5, 20, 50, 84, 86, 99]))
                for name in ("cpu", "bandwidthIn")
            },
            "bundles": [],
            "lastStats": {},
            "numTopics": rng.choice([0, 5, 99, 100, 101]),
            "brokerVersionString": rng.choice(["3.0.7", "3.0.7", "3.1.0"]),
        }
        for host in hosts
    }
    for space in SPACES:
        for bundle in names(space, 4):
            if rng.random() < 0.6:
                rates = dict.fromkeys(
                    ("msgRateIn", "msgRateOut"), rng.choice([0.0, 5.0, 50.0, 400.0])
                )
                rates |= dict.fromkeys(
                    ("msgThroughputIn", "msgThroughputOut"), rng.choice([0.0, 1e4, 1e6])
                )
                report = reports[rng.choice(hosts)]
                report["bundles"].append(bundle)
                report["lastStats"][bundle] = {**rates, "topics": 1}
    domains = {
        name: {"brokers": [host + PORT for host in hosts if zone in host]}
        for name, zone in (("d-eu", ".eu."), ("d-us", ".us."))
    }
    return {
        "reports": reports,
        "conf": conf(rng, version),
        "isolation": {
            name: policy(rng) for name in rng.sample(POLICIES, rng.choice([0, 1, 1, 2, 3]))
        },
        "domains": domains if rng.random() < 0.4 else {},
        "groups": {space: rng.choice("ggh") for space in SPACES if rng.random() < 0.4},
        "bundle": rng.choice(names(rng.choice(SPACES), 4)),
    }


def said(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = command(list(words))
    assert status == 0, err.getvalue()
    return out.getvalue()


ANSWER = re.MULTILINE | re.DOTALL


def explained(folder, given, version):
    """Return the case that `case` makes of the files, and the brokers that `explain` allows."""
    reports = folder / "reports"
    reports.mkdir()
    for host, report in given["reports"].items():
        (reports / f"{host}{PORT}.json").write_text(json.dumps(report))
    words = [str(reports), "--release", version, "--place", given["bundle"]]
    for name in ("isolation", "domains", "groups"):
        (folder / name).write_text(json.dumps(given[name]))
        words += [f"--{name}", str(folder / name)]
    if given["conf"]:
        (folder / "broker.conf").write_text("".join(f"{n}={v}\n" for n, v in given["conf"].items()))
        words += ["--conf", str(folder / "broker.conf")]
    case = json.loads(said("case", *words))["case"]
    answer = re.search(r"^answer\n  broker  (.*?)(?:\n\n|\n?\Z)", said("explain", *words), ANSWER)[
        1
    ]
    plain = " ".join(answer.split()).removesuffix(", drawn").removesuffix(FIRST_IN_TURN)
    shown = set(plain.split(" or "))
    model, _ = with_release_defaults(Trial.of("place.broker", case), Model(profile_of(version)))
    may = {model.answer("place.broker", case)["broker"] for _ in range(2 * len(given["reports"]))}
    assert {None if one == "none" else one for one in shown} == may, (shown, may)
    return case, may


def stored(policies):
    """Return the policies as the release reads them."""
    from pulsar_conformance.adapters.pulsar.jvm import class_exists, java_class, json_mapper
    from pulsar_conformance.adapters.pulsar.operations.whole_placement import ISOLATION, POLICY

    types = json_mapper().getTypeFactory()
    one = java_class(next(filter(class_exists, POLICY))).class_
    several = types.constructMapType(
        java_class("java.util.Map").class_, java_class("java.lang.String").class_, one
    )
    return java_class(ISOLATION)(json_mapper().readValue(json.dumps(policies), several))


def decided(released, case, policies):
    """Return the brokers that the release may choose, by the policies as they are written."""
    from pulsar_conformance.adapters.pulsar.operations import whole_placement

    whole_placement._isolation_policies = lambda _case: stored(policies)
    answers = [released.answer("place.broker", case) for _ in range(5 * len(case["brokers"]))]
    refused = next((one for one in answers if "broker" not in one), None)
    return refused or {one["broker"] for one in answers}


def main(version, count, seed):
    rng = random.Random(int(seed))
    released = release(version, profile_of(version))
    same = 0
    for number in range(int(count)):
        given = drawn(rng, version)
        with tempfile.TemporaryDirectory() as folder:
            case, may = explained(Path(folder), given, version)
        found = decided(released, case, given["isolation"])
        same += found == may
        if found != may:
            told = {"number": number, "given": given, "release": str(found), "explained": str(may)}
            print(json.dumps(told), file=sys.stderr)
    print(f"{version}: {same} of {count} the same")
    sys.stdout.flush()
    os._exit(0)  # the threads of Pulsar's own would keep the process


if __name__ == "__main__":
    main(*sys.argv[1:])
