"""Recorded history of clusters, judged on Spark: what the rules decide, and what was done."""
