"""Rules about the answers to all questions."""
