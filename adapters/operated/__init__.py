"""A user's own cluster, accessed by its admin URL: read, and changed only if allowed.

No JVM is needed. `looking.py` also reads what `collect` records.
"""
