"""Verdicts on the unloads and splits of each cycle, by the rules."""
