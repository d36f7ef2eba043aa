"""A running cluster of released Pulsar on loopback: brokers, ZooKeeper and a bookie in one JVM.

The events of a story really happen: brokers start and crash, an administrator uses the admin API,
clients look topics up, and the observed result is the answer. `standins.py` lists everything that
is stubbed.
"""
