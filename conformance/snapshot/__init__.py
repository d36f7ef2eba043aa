"""What was saved of a real cluster, and the cases that it makes."""
