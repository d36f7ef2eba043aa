"""Cases from files: written by hand, saved by a run, or made from the data of a real cluster."""
