"""Simulated histories of fleets, generated from a seed, in the audit's input format.

Time passes in periods; every broker reports once per period. In each period:

    +0 s     the shedding cycle, if one is due, or the election of a leader without a cycle
    +1 s     the cycle's unloads, 10 ms apart in the order of decision; each bundle has a new
             owner half a second later
    +20 s    a broker goes down; from +25 s on its bundles have other owners
    +30 s    bundles with too many topics are split; the parts stay where they are
    30 to 90 %   the brokers report, each at its own time of the period

Therefore, at each cycle, every running broker has reported since the previous cycle, and the last
report of every broker that is down is more than a period old. A new leader knows the last reports,
but starts without averages, usage history or memory of unloads; it then runs a cycle at every
interval.

The state of the cluster and the leader's memory are those of `audit.simulation.cluster`. Unlike in
`simulate`, averages are sliding, events and splits are random, and each bundle goes to the broker
with the least traffic.
"""
