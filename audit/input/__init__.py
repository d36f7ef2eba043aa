"""What was recorded, line by line: read, checked, used or quarantined."""
