"""Verdicts by the rules on the unloads of each cycle and on splits."""
