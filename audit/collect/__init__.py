"""Recording of a running cluster's history for an audit, over the admin API, read-only."""
