"""Placement: the broker for a bundle, and anti-affinity groups."""
