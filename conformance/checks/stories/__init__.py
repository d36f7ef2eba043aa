"""Checks of what only the course of time shows."""
