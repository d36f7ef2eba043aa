"""Judging of implementations: draw, ask, judge, reduce."""
