"""Verdicts on each cycle's unloads and splits, by the rules."""
