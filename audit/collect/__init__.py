"""Recording a running cluster's history for an audit, read-only, over the admin API."""
