"""Checks of one shedding cycle."""
