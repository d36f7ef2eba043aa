"""Decisions of releases that differ from their documents, in their own arithmetic."""
