"""How fast it is, as ratios out of one run."""
