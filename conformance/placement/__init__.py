"""Placement: brokers for bundles, and anti-affinity groups."""
