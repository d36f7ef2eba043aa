"""Campaigns: many more cases than one run asks, whole bounded worlds among them."""
