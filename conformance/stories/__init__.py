"""Stories: a cluster over time, event by event."""
