"""Saved data of a real cluster, and the cases made from it."""
