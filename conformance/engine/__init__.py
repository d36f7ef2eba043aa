"""Judging an implementation: draw, ask, determine its readings, judge, reduce failures."""
