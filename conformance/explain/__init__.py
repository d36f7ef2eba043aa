"""Derivations of answers, and descriptions of failures, as text."""
