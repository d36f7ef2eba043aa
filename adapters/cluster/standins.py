"""The stubs in place of parts of a cluster, each with the reason why that is allowed."""

from __future__ import annotations

from collections.abc import Mapping

STANDINS: Mapping[str, str] = {
    "BrokerHostUsage, the probe of the host": (
        "all brokers share one machine; CPU usage "
        "follows from the story's topics and capacity, and the network is idle; a broker "
        "that has reported the machine's load at its start reports again at once"
    ),
    "PulsarStats.bundleStats and brokerStats, the table of traffic": (
        "no client sends 100 "
        "MB/s over loopback; each bundle has the traffic that the story gives its topics"
    ),
    "The timers of the load manager": "a story lasts hours; each task that a broker has scheduled "
    "runs when the story's clock reaches its time, in the broker's own thread",
    "LocalBrokerData.lastUpdate, LoadData.recentlyUnloadedBundles, and what the other managers "
    "remember in their place": (
        "wall-clock times, which are shifted into the past by the time that passes in the story"
    ),
    "A crash": "listening sockets, web server and metadata session of the broker are closed at "
    "once, in the JVM that it shares with the others; nothing is released in an orderly way",
    "The session's timeout": "the session of a crashed broker ends at once, not after 30 seconds",
    "ServletContainer.init, ServletContainer.destroy": "setting up the admin API in Jersey takes "
    "six times as long as the rest of a broker's start; the application of a stopped broker serves "
    "the next one, which it finds by the servlet's context",
    "/conformance, a node of the metadata, and a key in system topics": "it is written after each "
    "change; a broker that has seen it has seen the change",
    "A broker that is killed": "if the adapter's name has crash=kill, each broker that crashes in "
    "a story runs in a separate JVM, with the same two sensors and timers",
    "All brokers but one, in questions about a single decision": "the leader decides; the "
    "others are registered in the metadata, each at a loopback address where nothing listens",
    "LoadData, in questions about a single decision": (
        "data that a leader would collect from reports over hours are taken from the question"
    ),
    "ModularLoadManagerStrategy, in questions about shedding": (
        "the destination of a "
        "bundle is decided by place.select; here it is any broker that does not own the bundle"
    ),
    "The choice among the brokers that remain after the leader's filters": (
        "if the choice is random, it is "
        "repeated until each possible broker has appeared, and each of them is the answer in turn"
    ),
    "PulsarAdmin of the leader, in questions about a single decision": (
        "its requests to unload and to split are recorded and granted; stories show their effects"
    ),
    "Clients": "each topic in use is looked up after each event, over HTTP; a client that "
    "lost its broker also looks it up by itself",
}
"""For each stub, by the class or part that it replaces: why it is allowed."""

NEUTRAL: Mapping[str, tuple[float, str]] = {
    "loadBalancerMemoryResourceWeight": (0, "the heap is that of the JVM in which all brokers run"),
    "loadBalancerDirectMemoryResourceWeight": (
        0,
        "direct memory is that of the JVM in which all brokers run",
    ),
}
"""Settings that switch off sensors that a story cannot control, each with value and reason.

Questions about a single decision do not use these settings.
"""
