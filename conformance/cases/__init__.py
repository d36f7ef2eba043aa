"""Cases in files, written by hand or made from a real cluster."""
