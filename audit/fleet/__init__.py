"""Histories of fleets that never were, drawn from a seed in the audit's input format.

Time runs in periods, one report of every broker in each. At the beginning of a period:

    +0 s     the shedding cycle, where it is time for one; or a new leader, and then no cycle
    +1 s     what the cycle unloads, 10 ms apart in the order of decision, and half a second after
             each its new owner
    +20 s    a broker goes down; from +25 s on its bundles have other owners
    +30 s    bundles with too many topics are split; the parts stay where they are
    30 to 90 %   the brokers report, each at its own time of the period

So every broker that is up has reported all that happened before the next cycle, and one that is
down has not reported for more than a period. A new leader knows the last reports, and begins its
averages, its memory of usages and of what was unloaded anew; its cycles follow at every interval.
"""
