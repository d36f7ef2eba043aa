"""Stories: what happens to a cluster, event by event."""
