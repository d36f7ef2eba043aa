"""Load data: usage, averages, and load reports."""
