"""Bundles: creating them, locating topics in them, splitting them."""
