"""Judging of an implementation: draw, ask, judge, reduce."""
