"""A running cluster of released Pulsar on loopback: brokers, ZooKeeper and a bookie in one JVM.

Stories really take place: brokers start and crash, an administrator uses the admin API, clients
look topics up, and the answer is what is observed. `standins.py` lists everything that is replaced
by a stub.
"""
