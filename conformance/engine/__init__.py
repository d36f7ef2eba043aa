"""Judges an implementation: draws cases, asks, finds its readings, judges, reduces failures."""
