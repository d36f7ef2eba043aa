"""What is done wrong in a fleet on purpose, so that an audit has something to find."""
