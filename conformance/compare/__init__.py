"""Implementations compared with each other, and with the model."""
