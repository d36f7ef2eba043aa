"""Decisions of releases that differ from the documents, in each release's own arithmetic."""
