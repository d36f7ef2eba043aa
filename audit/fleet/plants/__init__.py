"""Planted rule violations and damaged lines, which an audit should find."""
