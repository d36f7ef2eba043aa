"""Measures how much the suite detects: each mutant, the model with one change, is judged."""
