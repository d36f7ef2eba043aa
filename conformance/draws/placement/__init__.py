"""Clusters in outline, and bundles to assign in them, all things considered."""
