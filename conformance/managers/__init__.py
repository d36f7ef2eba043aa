"""Load managers: which one runs."""
