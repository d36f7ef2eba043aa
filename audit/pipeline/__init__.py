"""The audit's pipeline: the steps from a recorded history to verdicts and a report."""
