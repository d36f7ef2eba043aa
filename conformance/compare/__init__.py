"""Compares implementations with each other and with the model."""
