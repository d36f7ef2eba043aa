"""Verdicts of the rules on the unloads of each cycle, and on splits."""
