"""Planted violations and damaged lines, for an audit to find."""
