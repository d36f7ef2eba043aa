"""Judges implementations: draws cases, asks them, judges the answers, reduces failing cases."""
