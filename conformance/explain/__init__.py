"""Derivations and failures as text."""
