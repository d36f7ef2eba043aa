"""The audit: recorded histories of clusters, their verdicts, and simulated fleets."""
