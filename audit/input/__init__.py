"""Reads recorded lines: each one is parsed, checked, and used or quarantined."""
