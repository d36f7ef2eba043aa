"""Reports of runs for others: made, verified, compared, and formatted."""
