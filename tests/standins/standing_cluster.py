"""A cluster on loopback that runs like an operator's cluster until its standard input ends.

python standing_cluster.py VERSION JARS TEMPORARY BROKERS

It prints the admin URL of a broker.
"""

import json
import sys

from pulsar_conformance.adapters.admin_api import requests
from pulsar_conformance.adapters.cluster.host import ClusterHost

SPACE = "shop/eu"
SETTINGS = {"loadBalancerHostUsageCheckIntervalMinutes": 1000}
"""Settings with which brokers ignore the load of this machine, since other tests run on it."""


def main(version: str, jars: str, temporary: str, brokers: str) -> None:
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    sys.argv[1] = json.dumps({**told, "manager": "modular", "brokers": 4, "crash": "close"})
    host = ClusterHost("documented-3.0", {})
    cluster = host._cluster
    cluster.begin()
    for number in range(int(brokers)):
        cluster.start(f"broker-{number + 1}", 1e8, host._defaults, SETTINGS, {})
    cluster.ask_accepted(*requests.create_tenant(SPACE.partition("/")[0]))
    cluster.ask_accepted(*requests.create_namespace(SPACE, 4))
    for number in range(6):
        cluster.ask_accepted(*requests.create_topic(f"persistent://{SPACE}/topic-{number}"))
    first = next(iter(cluster.brokers.values()))
    print(f"http://{first.ports.broker}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    from script import run_script

    run_script(main)
