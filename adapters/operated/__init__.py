"""A user's own cluster, accessed by its admin URL: read, and changed only if that is allowed.

No JVM is needed. `looking.py` reads what `collect` records, too.
"""
