"""Bundles: creating them, locating topics in them, and splitting them."""
