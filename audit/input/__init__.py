"""Input of recorded lines: each one is parsed, checked, and then used or quarantined."""
