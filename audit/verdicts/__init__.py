"""What was done at each cycle, held against the rules."""
