"""Judging an implementation: draw, ask, find its readings, judge, reduce failures."""
