"""The commands that judge and compare."""
