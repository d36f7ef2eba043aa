"""Campaigns: many more cases than a run asks, including whole bounded worlds."""
