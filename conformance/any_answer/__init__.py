"""Rules that hold for the answers to every question."""
