"""Cases from files: written by hand, saved by a run, or built from a real cluster's data."""
