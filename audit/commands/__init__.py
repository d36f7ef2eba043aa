"""The audit's commands."""
