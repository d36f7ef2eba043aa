"""Measures how many mutants of the model, each with one change, the suite detects."""
