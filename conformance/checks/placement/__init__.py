"""Checks of one bundle or namespace to place."""
