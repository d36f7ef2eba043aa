"""Measures how much the suite detects: the model with one change is judged as an implementation."""
