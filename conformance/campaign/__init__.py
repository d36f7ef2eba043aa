"""Campaigns: many more cases than a usual run asks, such as all cases of a bounded world."""
