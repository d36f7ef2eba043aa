"""Decisions of releases where they differ from the documents, in the releases' own arithmetic."""
