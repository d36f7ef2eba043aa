"""Reports of runs: creating, verifying, comparing and formatting them."""
