"""Judgment of implementations: draw cases, ask, judge, reduce."""
