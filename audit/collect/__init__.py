"""Recording the history of a running cluster, for an audit: read-only, over the admin API."""
