"""Starts three clusters in turn, and asks the admin API of each broker for the broker's port.

python brokers_asked.py VERSION JARS TEMPORARY
"""

import json
import sys

from pulsar_conformance.adapters.cluster.host import ClusterHost

ASKED = "/admin/v2/brokers/configuration/runtime"


def main(version: str, jars: str, temporary: str) -> None:
    told = {"version": version, "folders": [jars], "folder": temporary, "settings": {}}
    told |= {"manager": "modular", "brokers": 4, "crash": "close"}
    sys.argv[1] = json.dumps(told)
    cluster = ClusterHost("documented-3.0", {})._cluster
    from pulsar_conformance.adapters.cluster import loopback

    for names in (["b1", "b2"], ["b1", "b2", "b3"], ["b3"]):
        cluster.begin()
        for name in names:
            cluster.start(name, 1e8, {}, {}, {})
        if len(names) == 3:
            cluster.crash("b2")
            cluster.start("b2", 1e8, {}, {}, {})
        for broker in cluster.brokers.values():
            said = loopback.ask("GET", broker.ports.web, ASKED).read
            told = [said["webServicePort"], said["brokerServicePort"]]
            print(json.dumps([[broker.ports.web, broker.ports.binary], told]), flush=True)


if __name__ == "__main__":
    from script import run_script

    run_script(main)
