"""Decisions of releases that differ from the documents, in the releases' own arithmetic."""
