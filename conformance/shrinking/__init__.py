"""Reduction of a failing trial to the smallest one that still fails."""
