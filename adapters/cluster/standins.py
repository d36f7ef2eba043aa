"""Stubs for everything outside a cluster, each with its justification."""

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
        "times of the wall clock; they are moved back by the time that passes in the story"
    ),
    "A crash": "listening sockets, web server and metadata session of the broker are closed at "
    "once, in the JVM that it shares with the others; it releases nothing in order",
    "The session's timeout": "the session of a crashed broker ends at once, not after 30 seconds",
    "ServletContainer.init, ServletContainer.destroy": "Jersey takes six times as long for the "
    "admin API as a broker for everything else; an application of a stopped broker serves the next "
    "one, which it finds by the servlet's context",
    "/conformance, a node of the metadata, and a key in system topics": "it is written after each "
    "change; a broker that has seen it has seen the change",
    "A broker that is killed": "where the adapter's name says crash=kill, each broker that a story "
    "lets crash has a JVM of its own, with the same two sensors and timers",
    "All brokers but one, where a decision alone is asked for": "the leader decides; the "
    "others are registered in the metadata, each at a loopback address where nothing listens",
    "LoadData, where a decision alone is asked for": (
        "data that a leader collects from reports over hours is set as the question gives it"
    ),
    "ModularLoadManagerStrategy, where the question is what is shed": (
        "the destination of a "
        "bundle is decided by place.select; here it is any broker that does not own the bundle"
    ),
    "The choice among brokers that the leader leaves": (
        "if the choice is random, it is "
        "repeated until each possible broker has appeared, and the answers take turns"
    ),
    "PulsarAdmin of the leader, where a decision alone is asked for": (
        "its requests to unload and to split are recorded and granted; stories show their effects"
    ),
    "Clients": "each topic in use is looked up after each event, over HTTP; a client that lost "
    "its broker does so by itself",
}
"""Stubs by type or part, each with the reason why it is allowed."""

NEUTRAL: Mapping[str, tuple[float, str]] = {
    "loadBalancerMemoryResourceWeight": (0, "the heap is that of the JVM in which all brokers run"),
    "loadBalancerDirectMemoryResourceWeight": (
        0,
        "direct memory is that of the JVM in which all brokers run",
    ),
}
"""Settings that neutralize sensors which a story cannot control, each with value and reason. They
keep their values if only a decision is asked for.
"""
