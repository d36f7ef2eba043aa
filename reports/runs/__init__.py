"""Reports of runs, for others to read and to check: made, verified, compared, told."""
