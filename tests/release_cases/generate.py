"""Prints cases for the branches of a release's code: python -m release_cases.generate VERSION COUNT
SEED [--branches].

Each case is a line {"ask": operation, "case": ...}, as `pulsar-conformance ask` accepts it. With
--branches, the line also has the name of the branch, for agreement.py.
"""

import json
import random
import sys
from importlib import import_module

from release_cases.common import BRANCHES, VERSIONS

MODULES = (
    "average",
    "bundles",
    "cycles",
    "load",
    "place",
    "place_whole",
    "shed",
    "shed_by_strategy",
    "split_candidates",
    "transfer",
    "transfer_bundles",
    "transfer_cycles",
)
"""Modules that register the branches of their operations when they are imported."""

for module in MODULES:
    import_module(f"release_cases.{module}")

# Settings that the adapter neutralizes if a case leaves them out (adapters/pulsar/neutral.yaml); the model does not.
HIDDEN = {
    "loadBalancerBundleUnloadMinThroughputThreshold": [10, 10, 0],
    "minUnloadMessage": [1000, 1000, 0],
    "minUnloadMessageThroughput": [1048576, 1048576, 0],
}
SHARE = {
    "settings.defaults": 0.01,
    "usage.nic": 0.5,
    "bundles.create": 0.5,
}
"""Factor for the weights of an operation's branches."""

EXTENSIBLE = 0.25
"""Factor for the weights of TransferShedder's branches, since there are many."""


def share(function):
    return SHARE.get(function.ask, 1) * (EXTENSIBLE if "transfer" in function.__module__ else 1)


def draw(version, count, seed, subject=""):
    """Yield each branch with a case, then further branches by weight; branches of weight 0, which
    would end a run, are left out.
    """
    rng = random.Random(f"{version} {seed}")
    known = [
        function
        for function in BRANCHES
        if version in function.versions and function.weight and subject in function.__module__
    ]
    weights = [function.weight * share(function) for function in known]
    order = list(known) + rng.choices(known, weights, k=max(count - len(known), 0))
    for function in order[:count]:
        yield function, complete(rng, version, function, function(rng, version))


def complete(rng, version, function, case):
    """Return the case with the hidden settings added, unless the branch is about missing ones."""
    if function.__name__ == "hidden_settings_left_out" or version == "2.4.2":
        return case
    if function.ask.startswith("shed."):
        for name, values in HIDDEN.items():
            if version != "2.10.5" or not name.startswith("minUnload"):
                case["settings"].setdefault(name, rng.choice(values))
    if function.ask in ("place.anti_affinity", "place.broker"):
        case["settings"].setdefault("failureDomainsEnabled", rng.random() < 0.5)
    return case


def main(arguments):
    named = "--branches" in arguments
    version, count, seed = [argument for argument in arguments if argument != "--branches"]
    if version not in VERSIONS:
        sys.exit(f"{version} is none of {', '.join(VERSIONS)}")
    for function, case in draw(version, int(count), seed):
        line = {"ask": function.ask, "case": case}
        if named:
            line["branch"] = f"{function.__module__}.{function.__name__}"
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
