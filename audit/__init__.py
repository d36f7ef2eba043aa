"""Recorded history of clusters: the audit of it, and fleets that never were."""
