"""The pipeline of an audit, from recorded history to verdicts and the report."""
