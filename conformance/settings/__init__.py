"""Settings and their defaults."""
