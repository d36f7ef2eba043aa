"""Simulations of a cluster in which an implementation's decisions move bundles and load.

In each cycle, in this order:

    1. brokers go down or come up; bundles without an owner are placed
    2. every bundle carries the traffic of that cycle, and every broker that is up reports it
    3. the leader takes a sample of each bundle
    4. bundles are split, if the world asks for it
    5. the implementation sheds; each unloaded bundle is placed at once, and its load is part of
       its new broker's load from the next cycle on

Traffic that waits while a bundle moves is carried within the same cycle, so that rates do not
depend on moves; the cost of moves is counted as pauses and reconnected clients.
"""
