"""A running cluster of released Pulsar on loopback: brokers, ZooKeeper and a bookie in one JVM.

Stories are really done: brokers start and crash, an administrator asks by the admin API, clients
look topics up, and what is observed is the answer. `standins.py` lists what stands in for the
world.
"""
