"""The audit's page: one HTML file that works offline."""
