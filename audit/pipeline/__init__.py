"""The audit's pipeline, from recorded history to verdicts and report."""
