"""The input: each recorded line is parsed, checked, and then used or quarantined."""
